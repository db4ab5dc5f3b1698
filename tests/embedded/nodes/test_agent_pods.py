"""Pods on a simulated node: from their coming to their end, as the API sees them."""

from ipaddress import ip_address, ip_network

from embedded.nodes.harness import NODES, PODS, NodeAgentHarness, container, pod


async def test_a_pod_runs_for_its_time_and_succeeds(harness: NodeAgentHarness) -> None:
    await harness.run(pod(annotations={"run_seconds": 20}))
    assert await harness.phase("a") == "Running"
    await harness.advance(19)
    assert await harness.phase("a") == "Running"
    await harness.advance(1)
    assert await harness.phase("a") == "Succeeded"


async def test_the_status_of_a_running_pod_reports_what_a_kubelet_reports(harness: NodeAgentHarness) -> None:
    await harness.run(pod())
    status = await harness.status("a")
    assert {each["type"]: each["status"] for each in status["conditions"]} == {
        "PodReadyToStartContainers": "True",
        "Initialized": "True",
        "Ready": "True",
        "ContainersReady": "True",
        "PodScheduled": "True",
    }
    assert status["startTime"] == "2026-01-01T00:00:00Z"
    assert status["hostIP"] == "127.0.0.1"
    block = (await harness.cluster.get(f"{NODES}/one"))["spec"]["podCIDR"]
    assert ip_address(status["podIP"]) in ip_network(block)
    assert status["podIPs"] == [{"ip": status["podIP"]}]
    assert status["qosClass"] == "Burstable"
    (main,) = status["containerStatuses"]
    assert main["state"] == {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
    assert (main["ready"], main["started"], main["restartCount"]) == (True, True, 0)


async def test_a_pod_that_succeeded_is_completed_and_not_ready(harness: NodeAgentHarness) -> None:
    await harness.run(pod(annotations={"run_seconds": 5}))
    await harness.advance(5)
    assert await harness.condition("a", "Ready") == ("False", "PodCompleted", "")
    assert await harness.condition("a", "ContainersReady") == ("False", "PodCompleted", "")
    assert await harness.condition("a", "Initialized") == ("True", "PodCompleted", "")
    (main,) = (await harness.status("a"))["containerStatuses"]
    ended = main["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (0, "Completed")
    assert (ended["startedAt"], ended["finishedAt"]) == ("2026-01-01T00:00:00Z", "2026-01-01T00:00:05Z")


async def test_a_pod_can_be_configured_to_fail(harness: NodeAgentHarness) -> None:
    await harness.run(pod(annotations={"run_seconds": 1, "exit_code": 3}))
    await harness.advance(1)
    assert await harness.phase("a") == "Failed"
    (main,) = (await harness.status("a"))["containerStatuses"]
    assert main["state"]["terminated"]["exitCode"] == 3
    assert await harness.condition("a", "Ready") == ("False", "PodFailed", "")


async def test_a_pod_is_ready_after_its_configured_time(harness: NodeAgentHarness) -> None:
    await harness.run(pod(annotations={"ready_seconds": 5, "run_seconds": 20}))
    assert await harness.condition("a", "Ready") == (
        "False",
        "ContainersNotReady",
        "containers with unready status: [main]",
    )
    await harness.advance(5)
    assert await harness.condition("a", "Ready") == ("True", "", "")
    await harness.advance(15)
    assert await harness.phase("a") == "Succeeded"


async def test_a_pod_may_never_be_ready(harness: NodeAgentHarness) -> None:
    await harness.run(pod(annotations={"ready_seconds": "never", "run_seconds": 20}))
    await harness.advance(19)
    assert (await harness.condition("a", "Ready"))[0] == "False"
    await harness.advance(1)
    assert await harness.phase("a") == "Succeeded"


async def test_a_pod_that_is_always_restarted_runs_until_it_is_deleted(harness: NodeAgentHarness) -> None:
    await harness.run(pod(restart="Always"))
    await harness.advance(3600)
    assert await harness.phase("a") == "Running"
    await harness.delete("a")
    assert not await harness.exists(f"{PODS}/a")


async def test_a_deleted_pod_keeps_its_grace_while_it_takes_its_time_to_stop(harness: NodeAgentHarness) -> None:
    await harness.run(pod(restart="Always", annotations={"stop_seconds": 20}))
    await harness.delete("a")
    await harness.advance(19)
    assert await harness.phase("a") == "Running"
    await harness.advance(1)
    assert not await harness.exists(f"{PODS}/a")


async def test_a_second_delete_with_less_grace_hurries_the_end(harness: NodeAgentHarness) -> None:
    await harness.run(pod(restart="Always", annotations={"stop_seconds": 1000}, terminationGracePeriodSeconds=600))
    await harness.delete("a")
    await harness.advance(10)
    await harness.delete("a", grace=5)
    await harness.advance(5)
    assert not await harness.exists(f"{PODS}/a")


async def test_a_finalizer_keeps_a_stopped_pod_which_reports_how_it_ended(harness: NodeAgentHarness) -> None:
    held = pod(restart="Never", annotations={"run_seconds": "forever"})
    held["metadata"]["finalizers"] = ["example.com/look"]
    await harness.run(held)
    await harness.delete("a")
    found = await harness.pod("a")
    assert found["status"]["phase"] == "Failed"
    assert found["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 143
    assert found["metadata"]["deletionGracePeriodSeconds"] == 0
    await harness.cluster.merge(f"{PODS}/a", {"metadata": {"finalizers": None}})
    await harness.advance(0)
    assert len(harness.agent) == 0


async def test_a_pod_waits_for_its_start(harness: NodeAgentHarness) -> None:
    await harness.run(pod(annotations={"start_seconds": 30}))
    assert await harness.phase("a") == "Pending"
    reason = "containers with unready status: [main]"
    assert await harness.condition("a", "Ready") == ("False", "ContainersNotReady", reason)
    sandbox = ("False", "PodSandboxNotReady", "no pod sandbox exists")
    assert await harness.condition("a", "PodReadyToStartContainers") == sandbox
    (main,) = (await harness.status("a"))["containerStatuses"]
    assert main["state"] == {"waiting": {"reason": "ContainerCreating"}}
    await harness.advance(30)
    assert await harness.phase("a") == "Running"


async def test_init_containers_run_in_their_order_and_sidecars_stay(harness: NodeAgentHarness) -> None:
    inits = [container("first"), container("beside", restartPolicy="Always"), container("second")]
    await harness.run(pod(annotations={"init_seconds": 10, "run_seconds": 10}, initContainers=inits))
    status = await harness.status("a")
    assert [next(iter(each["state"])) for each in status["initContainerStatuses"]] == ["running", "waiting", "waiting"]
    incomplete = "containers with incomplete status: [first beside second]"
    assert await harness.condition("a", "Initialized") == ("False", "ContainersNotInitialized", incomplete)
    await harness.advance(10)
    status = await harness.status("a")
    assert [next(iter(each["state"])) for each in status["initContainerStatuses"]] == [
        "terminated",
        "running",
        "running",
    ]
    await harness.advance(10)
    status = await harness.status("a")
    assert (status["phase"], status["containerStatuses"][0]["ready"]) == ("Running", True)
    await harness.advance(10)
    status = await harness.status("a")
    assert status["phase"] == "Succeeded"
    assert all("terminated" in each["state"] for each in status["initContainerStatuses"])


async def test_a_failing_container_is_restarted_later_and_later(harness: NodeAgentHarness) -> None:
    await harness.run(pod(restart="OnFailure", annotations={"run_seconds": 1, "fail_times": 3}))
    await harness.advance(1)
    (main,) = (await harness.status("a"))["containerStatuses"]
    assert (main["restartCount"], main["lastState"]["terminated"]["exitCode"]) == (1, 1)
    await harness.advance(1)
    (main,) = (await harness.status("a"))["containerStatuses"]
    assert main["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    uid = (await harness.pod("a"))["metadata"]["uid"]
    message = f"back-off 10s restarting failed container=main pod=a_default({uid})"
    assert main["state"]["waiting"]["message"] == message
    assert await harness.phase("a") == "Running"
    await harness.advance(10 + 1 + 20 + 1)
    assert await harness.phase("a") == "Succeeded"
    (main,) = (await harness.status("a"))["containerStatuses"]
    assert main["restartCount"] == 3


async def test_a_pod_beyond_its_deadline_fails(harness: NodeAgentHarness) -> None:
    await harness.run(pod(annotations={"run_seconds": 100}, activeDeadlineSeconds=30))
    await harness.advance(30)
    status = await harness.status("a")
    assert (status["phase"], status["reason"]) == ("Failed", "DeadlineExceeded")
    assert status["message"] == "Pod was active on the node longer than the specified deadline"
    await harness.advance(1)
    assert ("DeadlineExceeded", status["message"]) in await harness.events("a")


async def test_a_pod_with_excessive_requests_is_rejected(harness: NodeAgentHarness) -> None:
    await harness.run(pod("a", restart="Always"))
    big = pod("b", containers=[container("main", resources={"requests": {"cpu": "3500m"}})])
    await harness.run(big)
    status = await harness.status("b")
    short = "Node didn't have enough resource: cpu, requested: 3500, used: 1000, capacity: 4000"
    assert (status["phase"], status["reason"]) == ("Failed", "OutOfcpu")
    assert status["message"] == f"Pod was rejected: {short}"
    await harness.advance(1)
    assert ("OutOfcpu", short) in await harness.events("b")


async def test_what_ended_frees_space(harness: NodeAgentHarness) -> None:
    await harness.run(pod("a", annotations={"run_seconds": 1}))
    await harness.advance(1)
    await harness.run(pod("b", containers=[container("main", resources={"requests": {"cpu": "4"}})]))
    assert await harness.phase("b") == "Running"


async def test_a_pod_for_other_nodes_is_refused(harness: NodeAgentHarness) -> None:
    await harness.run(pod(nodeSelector={"speed": "high"}))
    status = await harness.status("a")
    why = "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"
    assert (status["reason"], status["message"]) == ("NodeAffinity", f"Pod was rejected: {why}")


async def test_nonsense_in_an_annotation_is_reported_and_left_out_of_account(harness: NodeAgentHarness) -> None:
    await harness.run(pod(annotations={"run_seconds": "soon"}))
    assert await harness.phase("a") == "Running"
    await harness.advance(10)
    assert await harness.phase("a") == "Succeeded"
    (reported,) = [text for reason, text in await harness.events("a") if reason == "InvalidAnnotation"]
    assert reported.startswith('kohort.dev/run-seconds: "soon" is not a number of seconds')


async def test_a_pod_with_a_reason_to_wait_never_starts_and_can_be_deleted(harness: NodeAgentHarness) -> None:
    await harness.run(pod(annotations={"fail_waiting": "ImagePullBackOff"}))
    (main,) = (await harness.status("a"))["containerStatuses"]
    assert main["state"] == {"waiting": {"reason": "ImagePullBackOff"}}
    await harness.delete("a")
    assert not await harness.exists(f"{PODS}/a")
