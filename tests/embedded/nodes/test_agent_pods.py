"""Pods on a simulated node: from their coming to their end, as the API sees them."""

from ipaddress import ip_address, ip_network

from embedded.nodes.harness import NODES, PODS, NodeAgentHarness, container, pod


async def test_a_pod_runs_for_its_time_and_succeeds(world: NodeAgentHarness) -> None:
    await world.run(pod(annotations={"run_seconds": 20}))
    assert await world.phase("a") == "Running"
    await world.advance(19)
    assert await world.phase("a") == "Running"
    await world.advance(1)
    assert await world.phase("a") == "Succeeded"


async def test_the_status_of_a_running_pod_reports_what_a_kubelet_reports(world: NodeAgentHarness) -> None:
    await world.run(pod())
    status = await world.status("a")
    assert {each["type"]: each["status"] for each in status["conditions"]} == {
        "PodReadyToStartContainers": "True",
        "Initialized": "True",
        "Ready": "True",
        "ContainersReady": "True",
        "PodScheduled": "True",
    }
    assert status["startTime"] == "2026-01-01T00:00:00Z"
    assert status["hostIP"] == "127.0.0.1"
    block = (await world.cluster.get(f"{NODES}/one"))["spec"]["podCIDR"]
    assert ip_address(status["podIP"]) in ip_network(block)
    assert status["podIPs"] == [{"ip": status["podIP"]}]
    assert status["qosClass"] == "Burstable"
    (main,) = status["containerStatuses"]
    assert main["state"] == {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
    assert (main["ready"], main["started"], main["restartCount"]) == (True, True, 0)


async def test_a_pod_that_succeeded_is_completed_and_not_ready(world: NodeAgentHarness) -> None:
    await world.run(pod(annotations={"run_seconds": 5}))
    await world.advance(5)
    assert await world.condition("a", "Ready") == ("False", "PodCompleted", "")
    assert await world.condition("a", "ContainersReady") == ("False", "PodCompleted", "")
    assert await world.condition("a", "Initialized") == ("True", "PodCompleted", "")
    (main,) = (await world.status("a"))["containerStatuses"]
    ended = main["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (0, "Completed")
    assert (ended["startedAt"], ended["finishedAt"]) == ("2026-01-01T00:00:00Z", "2026-01-01T00:00:05Z")


async def test_a_pod_can_be_configured_to_fail(world: NodeAgentHarness) -> None:
    await world.run(pod(annotations={"run_seconds": 1, "exit_code": 3}))
    await world.advance(1)
    assert await world.phase("a") == "Failed"
    (main,) = (await world.status("a"))["containerStatuses"]
    assert main["state"]["terminated"]["exitCode"] == 3
    assert await world.condition("a", "Ready") == ("False", "PodFailed", "")


async def test_a_pod_is_ready_after_its_configured_time(world: NodeAgentHarness) -> None:
    await world.run(pod(annotations={"ready_seconds": 5, "run_seconds": 20}))
    assert await world.condition("a", "Ready") == (
        "False",
        "ContainersNotReady",
        "containers with unready status: [main]",
    )
    await world.advance(5)
    assert await world.condition("a", "Ready") == ("True", "", "")
    await world.advance(15)
    assert await world.phase("a") == "Succeeded"


async def test_a_pod_may_never_be_ready(world: NodeAgentHarness) -> None:
    await world.run(pod(annotations={"ready_seconds": "never", "run_seconds": 20}))
    await world.advance(19)
    assert (await world.condition("a", "Ready"))[0] == "False"
    await world.advance(1)
    assert await world.phase("a") == "Succeeded"


async def test_a_pod_that_is_always_restarted_runs_until_it_is_deleted(world: NodeAgentHarness) -> None:
    await world.run(pod(restart="Always"))
    await world.advance(3600)
    assert await world.phase("a") == "Running"
    await world.delete("a")
    assert not await world.exists(f"{PODS}/a")


async def test_a_deleted_pod_keeps_its_grace_while_it_takes_its_time_to_stop(world: NodeAgentHarness) -> None:
    await world.run(pod(restart="Always", annotations={"stop_seconds": 20}))
    await world.delete("a")
    await world.advance(19)
    assert await world.phase("a") == "Running"
    await world.advance(1)
    assert not await world.exists(f"{PODS}/a")


async def test_a_second_delete_with_less_grace_hurries_the_end(world: NodeAgentHarness) -> None:
    await world.run(pod(restart="Always", annotations={"stop_seconds": 1000}, terminationGracePeriodSeconds=600))
    await world.delete("a")
    await world.advance(10)
    await world.delete("a", grace=5)
    await world.advance(5)
    assert not await world.exists(f"{PODS}/a")


async def test_a_finalizer_keeps_a_stopped_pod_which_reports_how_it_ended(world: NodeAgentHarness) -> None:
    held = pod(restart="Never", annotations={"run_seconds": "forever"})
    held["metadata"]["finalizers"] = ["example.com/look"]
    await world.run(held)
    await world.delete("a")
    found = await world.pod("a")
    assert found["status"]["phase"] == "Failed"
    assert found["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 143
    assert found["metadata"]["deletionGracePeriodSeconds"] == 0
    await world.cluster.merge(f"{PODS}/a", {"metadata": {"finalizers": None}})
    await world.advance(0)
    assert len(world.agent) == 0


async def test_a_pod_waits_for_its_start(world: NodeAgentHarness) -> None:
    await world.run(pod(annotations={"start_seconds": 30}))
    assert await world.phase("a") == "Pending"
    reason = "containers with unready status: [main]"
    assert await world.condition("a", "Ready") == ("False", "ContainersNotReady", reason)
    sandbox = ("False", "PodSandboxNotReady", "no pod sandbox exists")
    assert await world.condition("a", "PodReadyToStartContainers") == sandbox
    (main,) = (await world.status("a"))["containerStatuses"]
    assert main["state"] == {"waiting": {"reason": "ContainerCreating"}}
    await world.advance(30)
    assert await world.phase("a") == "Running"


async def test_init_containers_run_in_their_order_and_sidecars_stay(world: NodeAgentHarness) -> None:
    inits = [container("first"), container("beside", restartPolicy="Always"), container("second")]
    await world.run(pod(annotations={"init_seconds": 10, "run_seconds": 10}, initContainers=inits))
    status = await world.status("a")
    assert [next(iter(each["state"])) for each in status["initContainerStatuses"]] == ["running", "waiting", "waiting"]
    incomplete = "containers with incomplete status: [first beside second]"
    assert await world.condition("a", "Initialized") == ("False", "ContainersNotInitialized", incomplete)
    await world.advance(10)
    status = await world.status("a")
    assert [next(iter(each["state"])) for each in status["initContainerStatuses"]] == [
        "terminated",
        "running",
        "running",
    ]
    await world.advance(10)
    status = await world.status("a")
    assert (status["phase"], status["containerStatuses"][0]["ready"]) == ("Running", True)
    await world.advance(10)
    status = await world.status("a")
    assert status["phase"] == "Succeeded"
    assert all("terminated" in each["state"] for each in status["initContainerStatuses"])


async def test_a_failing_container_is_restarted_later_and_later(world: NodeAgentHarness) -> None:
    await world.run(pod(restart="OnFailure", annotations={"run_seconds": 1, "fail_times": 3}))
    await world.advance(1)
    (main,) = (await world.status("a"))["containerStatuses"]
    assert (main["restartCount"], main["lastState"]["terminated"]["exitCode"]) == (1, 1)
    await world.advance(1)
    (main,) = (await world.status("a"))["containerStatuses"]
    assert main["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    uid = (await world.pod("a"))["metadata"]["uid"]
    message = f"back-off 10s restarting failed container=main pod=a_default({uid})"
    assert main["state"]["waiting"]["message"] == message
    assert await world.phase("a") == "Running"
    await world.advance(10 + 1 + 20 + 1)
    assert await world.phase("a") == "Succeeded"
    (main,) = (await world.status("a"))["containerStatuses"]
    assert main["restartCount"] == 3


async def test_a_pod_beyond_its_deadline_fails(world: NodeAgentHarness) -> None:
    await world.run(pod(annotations={"run_seconds": 100}, activeDeadlineSeconds=30))
    await world.advance(30)
    status = await world.status("a")
    assert (status["phase"], status["reason"]) == ("Failed", "DeadlineExceeded")
    assert status["message"] == "Pod was active on the node longer than the specified deadline"
    await world.advance(1)
    assert ("DeadlineExceeded", status["message"]) in await world.events("a")


async def test_a_pod_with_excessive_requests_is_rejected(world: NodeAgentHarness) -> None:
    await world.run(pod("a", restart="Always"))
    big = pod("b", containers=[container("main", resources={"requests": {"cpu": "3500m"}})])
    await world.run(big)
    status = await world.status("b")
    short = "Node didn't have enough resource: cpu, requested: 3500, used: 1000, capacity: 4000"
    assert (status["phase"], status["reason"]) == ("Failed", "OutOfcpu")
    assert status["message"] == f"Pod was rejected: {short}"
    await world.advance(1)
    assert ("OutOfcpu", short) in await world.events("b")


async def test_what_ended_frees_space(world: NodeAgentHarness) -> None:
    await world.run(pod("a", annotations={"run_seconds": 1}))
    await world.advance(1)
    await world.run(pod("b", containers=[container("main", resources={"requests": {"cpu": "4"}})]))
    assert await world.phase("b") == "Running"


async def test_a_pod_for_other_nodes_is_refused(world: NodeAgentHarness) -> None:
    await world.run(pod(nodeSelector={"speed": "high"}))
    status = await world.status("a")
    why = "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"
    assert (status["reason"], status["message"]) == ("NodeAffinity", f"Pod was rejected: {why}")


async def test_nonsense_in_an_annotation_is_reported_and_left_out_of_account(world: NodeAgentHarness) -> None:
    await world.run(pod(annotations={"run_seconds": "soon"}))
    assert await world.phase("a") == "Running"
    await world.advance(10)
    assert await world.phase("a") == "Succeeded"
    (reported,) = [text for reason, text in await world.events("a") if reason == "InvalidAnnotation"]
    assert reported.startswith('kohort.dev/run-seconds: "soon" is not a number of seconds')


async def test_a_pod_with_a_reason_to_wait_never_starts_and_can_be_deleted(world: NodeAgentHarness) -> None:
    await world.run(pod(annotations={"fail_waiting": "ImagePullBackOff"}))
    (main,) = (await world.status("a"))["containerStatuses"]
    assert main["state"] == {"waiting": {"reason": "ImagePullBackOff"}}
    await world.delete("a")
    assert not await world.exists(f"{PODS}/a")
