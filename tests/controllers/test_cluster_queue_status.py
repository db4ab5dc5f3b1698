"""The status of a ClusterQueue: whether it is active, why not, and its usage (API-78, API-107 to API-111)."""

import pytest

from kit.builders.kueue import (
    admission_checks,
    make_admission_check,
    make_cluster_queue,
    make_local_queue,
    make_resource_flavor,
    make_topology,
    make_workload,
)
from kit.manager import (
    ACTIVE_CONDITION,
    FINISHED_CONDITION,
    ManagerHarness,
    active_condition,
    is_active,
    running_manager_harness,
    workload_counts,
)
from kohort.controllers.startup import running_queue_gauges

STATUS = "clusterqueues/q/status"


async def queue_with(harness: ManagerHarness, *names: str, cpu: str = "2") -> None:
    """A queue `q` that is open, and Workloads in it."""
    await harness.create(make_resource_flavor(), make_cluster_queue("q", cpu), make_local_queue("l", "q"))
    await harness.wait_for(is_active("True", "Ready"), "ClusterQueue", "q")
    await harness.create(*(make_workload(name, "l") for name in names))


async def test_a_queue_with_a_missing_flavor_is_inactive_until_the_flavor_exists() -> None:
    async with running_manager_harness() as harness:
        await harness.create(make_cluster_queue("q"))
        found = await harness.wait_for(is_active("False", "FlavorNotFound"), "ClusterQueue", "q")
        assert "ResourceFlavor(s): f" in found["status"]["conditions"][0]["message"]
        await harness.create(make_resource_flavor("f"))
        await harness.wait_for(is_active("True", "Ready"), "ClusterQueue", "q")


async def test_a_queue_waits_for_its_checks_to_come_and_to_be_active() -> None:
    async with running_manager_harness() as harness:
        await harness.create(make_resource_flavor(), make_cluster_queue("q", **admission_checks("c")))
        await harness.wait_for(is_active("False", "AdmissionCheckNotFound"), "ClusterQueue", "q")
        await harness.create(make_admission_check("c"))
        await harness.wait_for(is_active("False", "AdmissionCheckInactive"), "ClusterQueue", "q")
        await harness.merge("AdmissionCheck", "c", {"status": {"conditions": [ACTIVE_CONDITION]}}, "status")
        await harness.wait_for(is_active("True", "Ready"), "ClusterQueue", "q")


async def test_a_queue_waits_for_the_topology_of_its_flavors() -> None:
    async with running_manager_harness() as harness:
        await harness.create(
            make_resource_flavor("f", nodeLabels={"a": "b"}, topologyName="t"), make_cluster_queue("q")
        )
        await harness.wait_for(is_active("False", "TopologyNotFound"), "ClusterQueue", "q")
        await harness.create(make_topology("t"))
        await harness.wait_for(is_active("True", "Ready"), "ClusterQueue", "q")


async def test_figures_follow_the_workloads() -> None:
    async with running_manager_harness() as harness:
        await queue_with(harness, "a", "b", "c")
        found = await harness.wait_for(lambda q: workload_counts(q) == (1, 2, 2), "ClusterQueue", "q")
        assert found["status"]["flavorsUsage"][0]["resources"] == [{"name": "cpu", "total": "2", "borrowed": "0"}]
        await harness.finish("a")
        await harness.finish("b")
        await harness.wait_for(lambda q: workload_counts(q) == (0, 1, 1), "ClusterQueue", "q")


async def test_workloads_that_lose_their_local_queue_are_not_pending() -> None:
    async with running_manager_harness(controllers=running_queue_gauges) as harness:
        await queue_with(harness, "a")
        await harness.wait_for(lambda q: workload_counts(q) == (1, 0, 0), "ClusterQueue", "q")
        await harness.delete("LocalQueue", "l")
        await harness.wait_for(lambda q: workload_counts(q) == (0, 0, 0), "ClusterQueue", "q")


async def test_a_burst_of_workloads_costs_few_writes() -> None:
    async with running_manager_harness() as harness:
        await queue_with(harness, cpu="100")
        before = harness.interceptor.count("PUT", STATUS)
        await harness.create(*(make_workload(f"w{number}", "l") for number in range(60)))
        await harness.wait_for(lambda q: workload_counts(q) == (0, 60, 60), "ClusterQueue", "q")
        assert harness.interceptor.count("PUT", STATUS) - before <= 3


async def test_what_did_not_change_is_not_written() -> None:
    async with running_manager_harness() as harness:
        await queue_with(harness, "a")
        await harness.wait_for(lambda q: workload_counts(q) == (0, 1, 1), "ClusterQueue", "q")
        await harness.advance(15)
        before = harness.revision
        await harness.advance(60)
        assert harness.revision == before


async def test_a_status_overwritten_by_another_client_is_corrected() -> None:
    async with running_manager_harness() as harness:
        await queue_with(harness)
        await harness.merge("ClusterQueue", "q", {"status": {"pendingWorkloads": 7, "conditions": []}}, "status")
        await harness.wait_for(
            lambda q: workload_counts(q) == (0, 0, 0) and active_condition(q) == ("True", "Ready"), "ClusterQueue", "q"
        )


async def test_a_condition_added_by_another_client_stays() -> None:
    async with running_manager_harness() as harness:
        await queue_with(harness)
        found = await harness.get("ClusterQueue", "q")
        added = {**ACTIVE_CONDITION, "type": "MultiKueueManagerQuotaAutomation"}
        conditions = [*found["status"]["conditions"], added]

        async def add() -> None:
            await harness.merge("ClusterQueue", "q", {"status": {"conditions": conditions}}, "status")

        harness.interceptor.before("PUT", STATUS, add)
        await harness.merge("ClusterQueue", "q", {"spec": {"stopPolicy": "Hold"}})
        found = await harness.wait_for(is_active("False", "Stopped"), "ClusterQueue", "q")
        assert [each["type"] for each in found["status"]["conditions"]] == ["Active", added["type"]]


async def test_a_deleted_queue_stays_until_no_workload_holds_its_quota() -> None:
    async with running_manager_harness() as harness:
        await queue_with(harness, "a")
        await harness.wait_for(lambda q: workload_counts(q) == (0, 1, 1), "ClusterQueue", "q")
        await harness.delete("ClusterQueue", "q")
        await harness.wait_for(is_active("False", "Terminating"), "ClusterQueue", "q")
        await harness.advance(30)
        await harness.get("ClusterQueue", "q")
        await harness.merge("Workload", "a", {"status": {"conditions": [FINISHED_CONDITION]}}, "status")
        await harness.wait_until_gone("ClusterQueue", "q")


async def test_an_admission_that_the_server_refuses_after_a_while_is_no_longer_reported() -> None:
    async with running_manager_harness() as harness:
        await queue_with(harness)
        harness.interceptor.before("PUT", "workloads/a/status", lambda: harness.clock.sleep(3))
        harness.interceptor.reject("PUT", "workloads/a/status", 403)
        await harness.create(make_workload("a", "l"))
        await harness.wait_for(lambda q: workload_counts(q) == (0, 1, 0), "ClusterQueue", "q")
        await harness.wait_for(lambda q: workload_counts(q) == (0, 0, 0), "ClusterQueue", "q")
        await harness.wait_for(lambda q: workload_counts(q) == (0, 1, 1), "ClusterQueue", "q", timeout=120)


@pytest.mark.parametrize("codes", [(409,), (500,), (429,), (503,), (403, 403), (409, 500, 429, 503, 409)])
async def test_a_status_arrives_however_often_its_write_fails(codes: tuple[int, ...]) -> None:
    async with running_manager_harness() as harness:
        harness.interceptor.reject("PUT", STATUS, *codes)
        await harness.create(make_resource_flavor(), make_cluster_queue("q"))
        await harness.wait_for(is_active("True", "Ready"), "ClusterQueue", "q")


async def test_only_the_leader_writes_and_a_new_one_catches_up() -> None:
    leading = False
    async with running_manager_harness(leads=lambda: leading) as harness:
        before = harness.revision
        await harness.create(make_resource_flavor(), make_cluster_queue("q"))
        await harness.advance(30)
        assert harness.revision == before + 2
        leading = True
        harness.context.start_leading()
        await harness.wait_for(is_active("True", "Ready"), "ClusterQueue", "q")


async def test_a_queue_without_its_finalizer_gets_it() -> None:
    async with running_manager_harness() as harness:
        await queue_with(harness)
        await harness.merge("ClusterQueue", "q", {"metadata": {"finalizers": []}})
        await harness.wait_for(lambda q: bool(q["metadata"].get("finalizers")), "ClusterQueue", "q")
