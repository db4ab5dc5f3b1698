"""A whole manager runs the lifecycles of pods, groups and StatefulSets on an API server in memory."""

from jobs.job_manager_harness import JobManagerHarness, conditions_of
from jobs.webhook_caller import (
    delete_object,
    make_sent_member,
    make_sent_pod,
    pods_by_name,
    running_pod_harness,
    set_pod,
    set_pod_phase,
    stateful_set,
    ungated_pods,
)
from kohort.api.merge import merge


async def test_a_pod_waits_at_its_gate_until_there_is_quota() -> None:
    async with running_pod_harness("1") as (harness, webhook):
        await webhook.send(make_sent_pod("a"))
        await harness.settle()
        await webhook.send(make_sent_pod("b"))
        await harness.settle()
        assert await ungated_pods(harness) == ["a"]
        assert (await pods_by_name(harness))["a"]["spec"]["nodeSelector"] == {"tier": "a"}
        await set_pod_phase(harness, "a", "Succeeded")
        await harness.settle()
        assert await ungated_pods(harness) == ["a", "b"]
        assert "finalizers" not in (await pods_by_name(harness))["a"]["metadata"]


async def test_a_pod_that_a_user_deletes_frees_its_quota_at_once() -> None:
    async with running_pod_harness("1") as (harness, webhook):
        await webhook.send(make_sent_pod("a"))
        await harness.settle()
        await webhook.send(make_sent_pod("b"))
        await harness.settle()
        await delete_object(harness, "Pod", "a")
        await harness.settle()
        assert await ungated_pods(harness) == ["b"]


async def test_a_group_waits_for_all_its_pods_and_starts_as_one() -> None:
    async with running_pod_harness("2") as (harness, webhook):
        await webhook.send(make_sent_member("a", 2))
        await harness.settle()
        assert await harness.workloads() == []
        await webhook.send(make_sent_member("b", 2))
        await harness.settle()
        assert await ungated_pods(harness) == ["a", "b"]
        (workload,) = await harness.workloads()
        assert workload["metadata"]["name"] == "g"


async def test_every_pod_too_many_is_deleted_one_after_the_other() -> None:
    async with running_pod_harness() as (harness, webhook):
        for name in ("a", "b"):
            await webhook.send(make_sent_member(name, 2))
        await harness.settle()
        for name in ("c", "d"):
            await webhook.send(make_sent_member(name, 2))
            await harness.settle()
            assert sorted(await pods_by_name(harness)) == ["a", "b"]


async def test_a_failed_pod_is_replaced_and_its_successor_starts() -> None:
    async with running_pod_harness("2") as (harness, webhook):
        for name in ("a", "b"):
            await webhook.send(make_sent_member(name, 2))
        await harness.settle()
        await set_pod_phase(harness, "a", "Failed")
        await harness.settle()
        (workload,) = await harness.workloads()
        assert conditions_of(workload)["WaitingForReplacementPods"] == ("True", "PodsFailed")
        await webhook.send(make_sent_member("c", 2))
        await harness.settle()
        assert await ungated_pods(harness) == ["a", "b", "c"]
        assert "finalizers" not in (await pods_by_name(harness))["a"]["metadata"]
        (workload,) = await harness.workloads()
        assert conditions_of(workload)["WaitingForReplacementPods"] == ("False", "PodsReady")


async def test_a_group_whose_workload_is_deleted_is_deleted_with_it() -> None:
    async with running_pod_harness() as (harness, webhook):
        for name in ("a", "b"):
            await webhook.send(make_sent_member(name, 2))
        await harness.settle()
        await set_pod_phase(harness, "a", "Succeeded")
        await harness.delete("Workload", "g")
        await harness.settle()
        assert await pods_by_name(harness) == {}
        assert await harness.workloads() == []


async def test_a_group_that_has_succeeded_is_finished_and_released() -> None:
    async with running_pod_harness() as (harness, webhook):
        for name in ("a", "b"):
            await webhook.send(make_sent_member(name, 2))
        await harness.settle()
        for name in ("a", "b"):
            await set_pod_phase(harness, name, "Succeeded")
        await harness.settle()
        (workload,) = await harness.workloads()
        assert conditions_of(workload)["Finished"] == ("True", "Succeeded")
        assert all("finalizers" not in pod["metadata"] for pod in (await pods_by_name(harness)).values())


async def test_a_group_costs_no_write_once_its_status_is_written() -> None:
    async with running_pod_harness("0") as (harness, webhook):
        for name in ("a", "b"):
            await webhook.send(make_sent_member(name, 2))
        await harness.settle()
        before = len(harness.manager.transport.writes)
        await harness.advance(120)
        assert len(harness.manager.transport.writes) == before


# StatefulSets


async def test_the_pods_of_a_stateful_set_start_with_one_workload_as_they_come() -> None:
    async with running_pod_harness("2") as (harness, webhook):
        await webhook.send(stateful_set())
        await harness.settle()
        (workload,) = await harness.workloads()
        assert workload["spec"]["podSets"][0]["count"] == 2
        assert conditions_of(workload)["Admitted"] == ("True", "Admitted")
        found = await harness.server.get("/apis/apps/v1/namespaces/default/statefulsets/db")
        for index in range(2):
            await webhook.send(set_pod(index, found["metadata"]["uid"]))
            await harness.settle()
            assert await ungated_pods(harness) == [f"db-{each}" for each in range(index + 1)]
        assert len(await harness.workloads()) == 1


async def test_a_stateful_set_without_replicas_returns_its_quota_and_gets_it_again_with_another_size() -> None:
    async with running_pod_harness("3") as (harness, webhook):
        await webhook.send(stateful_set())
        await harness.settle()
        assert await webhook.change("StatefulSet", "db", {"spec": {"replicas": 3}})
        assert not await webhook.change("StatefulSet", "db", {"spec": {"replicas": 0}})
        await harness.settle()
        (workload,) = await harness.workloads()
        assert conditions_of(workload)["QuotaReserved"] == ("False", "OnHold")
        assert not await webhook.change("StatefulSet", "db", {"spec": {"replicas": 3}})
        await harness.settle()
        (workload,) = await harness.workloads()
        assert workload["spec"]["podSets"][0]["count"] == 3
        assert conditions_of(workload)["Admitted"] == ("True", "Admitted")


async def test_a_stateful_set_that_is_empty_when_it_is_admitted_returns_the_quota() -> None:
    async with running_pod_harness("2") as (harness, webhook):
        await webhook.send(make_sent_pod("first", "2"))
        await harness.settle()
        await webhook.send(stateful_set())
        await harness.settle()
        assert not await webhook.change("StatefulSet", "db", {"spec": {"replicas": 0}})
        await delete_object(harness, "Pod", "first")
        await harness.settle()
        (workload,) = [each for each in await harness.workloads() if each["metadata"]["name"].startswith("statefulset")]
        assert conditions_of(workload)["QuotaReserved"] == ("False", "OnHold")


# Killed after every write


async def test_whichever_write_a_manager_crashes_after_a_group_is_replaced_finished_and_released() -> None:
    async with running_pod_harness("2") as (harness, webhook):
        harness.crashes_at_every_write = True
        for name in ("a", "b", "extra"):
            await webhook.send(make_sent_member(name, 2))
        await harness.settle()
        assert sorted(await ungated_pods(harness)) == ["a", "b"]
        await set_pod_phase(harness, "a", "Failed")
        await webhook.send(make_sent_member("c", 2))
        await harness.settle()
        assert sorted(await ungated_pods(harness)) == ["a", "b", "c"]
        for name in ("b", "c"):
            await set_pod_phase(harness, name, "Succeeded")
        await harness.settle()
        (workload,) = await harness.workloads()
        assert conditions_of(workload)["Finished"] == ("True", "Succeeded")
        assert all("finalizers" not in pod["metadata"] for pod in (await pods_by_name(harness)).values())
        assert len(harness.processes) > 10


async def test_whichever_write_a_manager_crashes_after_a_stateful_set_scales_to_zero_and_back() -> None:
    async with running_pod_harness("3") as (harness, webhook):
        harness.crashes_at_every_write = True
        await webhook.send(stateful_set())
        await harness.settle()
        found = await harness.server.get("/apis/apps/v1/namespaces/default/statefulsets/db")
        await webhook.send(set_pod(0, found["metadata"]["uid"]))
        await harness.settle()
        assert await ungated_pods(harness) == ["db-0"]
        assert not await webhook.change("StatefulSet", "db", {"spec": {"replicas": 0}})
        await delete_object(harness, "Pod", "db-0")
        await harness.settle()
        assert not await webhook.change("StatefulSet", "db", {"spec": {"replicas": 3}})
        await harness.settle()
        (workload,) = await harness.workloads()
        assert workload["spec"]["podSets"][0]["count"] == 3
        assert conditions_of(workload)["Admitted"] == ("True", "Admitted")


REQUIRED = "kueue.x-k8s.io/podset-required-topology"


async def disagreements(harness: JobManagerHarness) -> set[str]:
    events = await harness.events()
    return {note for reason, note in events if reason == "ErrWorkloadCompose" and "different" in note}


async def test_pods_of_one_role_with_different_topology_requests_are_reported_until_they_agree() -> None:
    """TAS-11: they are one pod set."""
    async with running_pod_harness() as (harness, webhook):
        for name, level in (("a", "rack"), ("b", "block")):
            await webhook.send(merge(make_sent_member(name, 2), {"metadata": {"annotations": {REQUIRED: level}}}))
        await harness.settle()
        assert await harness.workloads() == []
        (note,) = await disagreements(harness)
        assert note.endswith(f"different values of annotation {REQUIRED}: rack and block: write the same in both")
        assert await webhook.change("Pod", "b", {"metadata": {"annotations": {REQUIRED: "rack"}}}) == []
        await harness.settle()
        (workload,) = await harness.workloads()
        assert [each["topologyRequest"]["required"] for each in workload["spec"]["podSets"]] == ["rack"]


async def test_a_group_of_pods_of_several_queues_is_reported() -> None:
    async with running_pod_harness() as (harness, webhook):
        for name, queue in (("a", "q"), ("b", "other")):
            labels = {"kueue.x-k8s.io/queue-name": queue}
            await webhook.send(merge(make_sent_member(name, 2), {"metadata": {"labels": labels}}))
        await harness.settle()
        assert await harness.workloads() == []
        (note,) = await disagreements(harness)
        assert note == "pods 'a' and 'b' has different queue names: q!=other"
