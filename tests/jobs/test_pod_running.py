"""A whole manager leads pods, groups and StatefulSets through their lives on an API server in memory."""

from jobs.job_houses import conditions
from jobs.webhook_caller import delete_object, make_sent_member, make_sent_pod, pods_by_name, running_pod_harness, set_pod, set_pod_phase, stateful_set, ungated_pods


async def test_a_pod_waits_at_its_gate_until_there_is_quota() -> None:
    async with running_pod_harness("1") as (house, door):
        await door.send(make_sent_pod("a"))
        await house.calm()
        await door.send(make_sent_pod("b"))
        await house.calm()
        assert await ungated_pods(house) == ["a"]
        assert (await pods_by_name(house))["a"]["spec"]["nodeSelector"] == {"tier": "a"}
        await set_pod_phase(house, "a", "Succeeded")
        await house.calm()
        assert await ungated_pods(house) == ["a", "b"]
        assert "finalizers" not in (await pods_by_name(house))["a"]["metadata"]


async def test_a_pod_that_a_user_deletes_frees_its_quota_at_once() -> None:
    async with running_pod_harness("1") as (house, door):
        await door.send(make_sent_pod("a"))
        await house.calm()
        await door.send(make_sent_pod("b"))
        await house.calm()
        await delete_object(house, "Pod", "a")
        await house.calm()
        assert await ungated_pods(house) == ["b"]


async def test_a_group_waits_for_all_its_pods_and_starts_as_one() -> None:
    async with running_pod_harness("2") as (house, door):
        await door.send(make_sent_member("a", 2))
        await house.calm()
        assert await house.workloads() == []
        await door.send(make_sent_member("b", 2))
        await house.calm()
        assert await ungated_pods(house) == ["a", "b"]
        (workload,) = await house.workloads()
        assert workload["metadata"]["name"] == "g"


async def test_every_pod_too_many_is_deleted_one_after_the_other() -> None:
    async with running_pod_harness() as (house, door):
        for name in ("a", "b"):
            await door.send(make_sent_member(name, 2))
        await house.calm()
        for name in ("c", "d"):
            await door.send(make_sent_member(name, 2))
            await house.calm()
            assert sorted(await pods_by_name(house)) == ["a", "b"]


async def test_a_failed_pod_is_replaced_and_its_successor_starts() -> None:
    async with running_pod_harness("2") as (house, door):
        for name in ("a", "b"):
            await door.send(make_sent_member(name, 2))
        await house.calm()
        await set_pod_phase(house, "a", "Failed")
        await house.calm()
        (workload,) = await house.workloads()
        assert conditions(workload)["WaitingForReplacementPods"] == ("True", "PodsFailed")
        await door.send(make_sent_member("c", 2))
        await house.calm()
        assert await ungated_pods(house) == ["a", "b", "c"]
        assert "finalizers" not in (await pods_by_name(house))["a"]["metadata"]
        (workload,) = await house.workloads()
        assert conditions(workload)["WaitingForReplacementPods"] == ("False", "PodsReady")


async def test_a_group_whose_workload_is_deleted_goes_with_it() -> None:
    async with running_pod_harness() as (house, door):
        for name in ("a", "b"):
            await door.send(make_sent_member(name, 2))
        await house.calm()
        await set_pod_phase(house, "a", "Succeeded")
        await house.delete("Workload", "g")
        await house.calm()
        assert await pods_by_name(house) == {}
        assert await house.workloads() == []


async def test_a_group_that_has_succeeded_is_finished_and_let_go() -> None:
    async with running_pod_harness() as (house, door):
        for name in ("a", "b"):
            await door.send(make_sent_member(name, 2))
        await house.calm()
        for name in ("a", "b"):
            await set_pod_phase(house, name, "Succeeded")
        await house.calm()
        (workload,) = await house.workloads()
        assert conditions(workload)["Finished"] == ("True", "Succeeded")
        assert all("finalizers" not in pod["metadata"] for pod in (await pods_by_name(house)).values())


async def test_a_group_costs_no_write_once_all_is_said() -> None:
    async with running_pod_harness("0") as (house, door):
        for name in ("a", "b"):
            await door.send(make_sent_member(name, 2))
        await house.calm()
        before = len(house.manager.wire.writes)
        await house.later(120)
        assert len(house.manager.wire.writes) == before


# StatefulSets


async def test_the_pods_of_a_stateful_set_start_with_one_workload_as_they_come() -> None:
    async with running_pod_harness("2") as (house, door):
        await door.send(stateful_set())
        await house.calm()
        (workload,) = await house.workloads()
        assert workload["spec"]["podSets"][0]["count"] == 2
        assert conditions(workload)["Admitted"] == ("True", "Admitted")
        found = await house.cluster.get("/apis/apps/v1/namespaces/default/statefulsets/db")
        for index in range(2):
            await door.send(set_pod(index, found["metadata"]["uid"]))
            await house.calm()
            assert await ungated_pods(house) == [f"db-{each}" for each in range(index + 1)]
        assert len(await house.workloads()) == 1


async def test_a_stateful_set_without_replicas_gives_its_quota_back_and_returns_with_another_size() -> None:
    async with running_pod_harness("3") as (house, door):
        await door.send(stateful_set())
        await house.calm()
        assert await door.change("StatefulSet", "db", {"spec": {"replicas": 3}})
        assert not await door.change("StatefulSet", "db", {"spec": {"replicas": 0}})
        await house.calm()
        (workload,) = await house.workloads()
        assert conditions(workload)["QuotaReserved"] == ("False", "OnHold")
        assert not await door.change("StatefulSet", "db", {"spec": {"replicas": 3}})
        await house.calm()
        (workload,) = await house.workloads()
        assert workload["spec"]["podSets"][0]["count"] == 3
        assert conditions(workload)["Admitted"] == ("True", "Admitted")


async def test_a_stateful_set_that_is_empty_when_its_turn_comes_gives_the_quota_back() -> None:
    async with running_pod_harness("2") as (house, door):
        await door.send(make_sent_pod("first", "2"))
        await house.calm()
        await door.send(stateful_set())
        await house.calm()
        assert not await door.change("StatefulSet", "db", {"spec": {"replicas": 0}})
        await delete_object(house, "Pod", "first")
        await house.calm()
        (workload,) = [each for each in await house.workloads() if each["metadata"]["name"].startswith("statefulset")]
        assert conditions(workload)["QuotaReserved"] == ("False", "OnHold")


# Killed after every write


async def test_whatever_write_a_manager_dies_after_a_group_is_replaced_finished_and_let_go() -> None:
    async with running_pod_harness("2") as (house, door):
        house.fragile = True
        for name in ("a", "b", "extra"):
            await door.send(make_sent_member(name, 2))
        await house.calm()
        assert sorted(await ungated_pods(house)) == ["a", "b"]
        await set_pod_phase(house, "a", "Failed")
        await door.send(make_sent_member("c", 2))
        await house.calm()
        assert sorted(await ungated_pods(house)) == ["a", "b", "c"]
        for name in ("b", "c"):
            await set_pod_phase(house, name, "Succeeded")
        await house.calm()
        (workload,) = await house.workloads()
        assert conditions(workload)["Finished"] == ("True", "Succeeded")
        assert all("finalizers" not in pod["metadata"] for pod in (await pods_by_name(house)).values())
        assert len(house.lives) > 10


async def test_whatever_write_a_manager_dies_after_a_stateful_set_goes_to_zero_and_returns() -> None:
    async with running_pod_harness("3") as (house, door):
        house.fragile = True
        await door.send(stateful_set())
        await house.calm()
        found = await house.cluster.get("/apis/apps/v1/namespaces/default/statefulsets/db")
        await door.send(set_pod(0, found["metadata"]["uid"]))
        await house.calm()
        assert await ungated_pods(house) == ["db-0"]
        assert not await door.change("StatefulSet", "db", {"spec": {"replicas": 0}})
        await delete_object(house, "Pod", "db-0")
        await house.calm()
        assert not await door.change("StatefulSet", "db", {"spec": {"replicas": 3}})
        await house.calm()
        (workload,) = await house.workloads()
        assert workload["spec"]["podSets"][0]["count"] == 3
        assert conditions(workload)["Admitted"] == ("True", "Admitted")
