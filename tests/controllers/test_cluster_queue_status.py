"""What a ClusterQueue says of itself: whether it admits, why not, and what it holds (API-78, API-107 to API-111)."""

import pytest

from controllers.houses import ANSWERING, FINISHED, House, active, figures, house, is_active
from kit.builders.kueue import (
    admission_checks,
    make_admission_check,
    make_cluster_queue,
    make_local_queue,
    make_resource_flavor,
    make_topology,
    make_workload,
)
from kohort.controllers.startup import running_queue_gauges

STATUS = "clusterqueues/q/status"


async def queue_with(home: House, *names: str, cpu: str = "2") -> None:
    """A queue `q` that is open, and Workloads in it."""
    await home.create(make_resource_flavor(), make_cluster_queue("q", cpu), make_local_queue("l", "q"))
    await home.until(is_active("True", "Ready"), "ClusterQueue", "q")
    await home.create(*(make_workload(name, "l") for name in names))


async def test_a_queue_that_names_a_missing_flavor_says_so_until_the_flavor_comes() -> None:
    async with house() as home:
        await home.create(make_cluster_queue("q"))
        found = await home.until(is_active("False", "FlavorNotFound"), "ClusterQueue", "q")
        assert "ResourceFlavor(s): f" in found["status"]["conditions"][0]["message"]
        await home.create(make_resource_flavor("f"))
        await home.until(is_active("True", "Ready"), "ClusterQueue", "q")


async def test_a_queue_waits_for_its_checks_to_come_and_to_be_active() -> None:
    async with house() as home:
        await home.create(make_resource_flavor(), make_cluster_queue("q", **admission_checks("c")))
        await home.until(is_active("False", "AdmissionCheckNotFound"), "ClusterQueue", "q")
        await home.create(make_admission_check("c"))
        await home.until(is_active("False", "AdmissionCheckInactive"), "ClusterQueue", "q")
        await home.merge("AdmissionCheck", "c", {"status": {"conditions": [ANSWERING]}}, "status")
        await home.until(is_active("True", "Ready"), "ClusterQueue", "q")


async def test_a_queue_waits_for_the_topology_of_its_flavors() -> None:
    async with house() as home:
        await home.create(make_resource_flavor("f", nodeLabels={"a": "b"}, topologyName="t"), make_cluster_queue("q"))
        await home.until(is_active("False", "TopologyNotFound"), "ClusterQueue", "q")
        await home.create(make_topology("t"))
        await home.until(is_active("True", "Ready"), "ClusterQueue", "q")


async def test_figures_follow_the_workloads() -> None:
    async with house() as home:
        await queue_with(home, "a", "b", "c")
        found = await home.until(lambda q: figures(q) == (1, 2, 2), "ClusterQueue", "q")
        assert found["status"]["flavorsUsage"][0]["resources"] == [{"name": "cpu", "total": "2", "borrowed": "0"}]
        await home.finish("a")
        await home.finish("b")
        await home.until(lambda q: figures(q) == (0, 1, 1), "ClusterQueue", "q")


async def test_those_who_lose_their_local_queue_wait_no_longer() -> None:
    async with house(crew=running_queue_gauges) as home:
        await queue_with(home, "a")
        await home.until(lambda q: figures(q) == (1, 0, 0), "ClusterQueue", "q")
        await home.delete("LocalQueue", "l")
        await home.until(lambda q: figures(q) == (0, 0, 0), "ClusterQueue", "q")


async def test_a_burst_of_workloads_costs_few_writes() -> None:
    async with house() as home:
        await queue_with(home, cpu="100")
        before = home.meddler.count("PUT", STATUS)
        await home.create(*(make_workload(f"w{number}", "l") for number in range(60)))
        await home.until(lambda q: figures(q) == (0, 60, 60), "ClusterQueue", "q")
        assert home.meddler.count("PUT", STATUS) - before <= 3


async def test_what_did_not_change_is_not_written() -> None:
    async with house() as home:
        await queue_with(home, "a")
        await home.until(lambda q: figures(q) == (0, 1, 1), "ClusterQueue", "q")
        await home.later(15)
        before = home.revision
        await home.later(60)
        assert home.revision == before


async def test_a_status_that_somebody_spoiled_is_put_right() -> None:
    async with house() as home:
        await queue_with(home)
        await home.merge("ClusterQueue", "q", {"status": {"pendingWorkloads": 7, "conditions": []}}, "status")
        await home.until(lambda q: figures(q) == (0, 0, 0) and active(q) == ("True", "Ready"), "ClusterQueue", "q")


async def test_a_condition_that_somebody_else_added_stays() -> None:
    async with house() as home:
        await queue_with(home)
        found = await home.get("ClusterQueue", "q")
        added = {**ANSWERING, "type": "MultiKueueManagerQuotaAutomation"}
        conditions = [*found["status"]["conditions"], added]

        async def add() -> None:
            await home.merge("ClusterQueue", "q", {"status": {"conditions": conditions}}, "status")

        home.meddler.before("PUT", STATUS, add)
        await home.merge("ClusterQueue", "q", {"spec": {"stopPolicy": "Hold"}})
        found = await home.until(is_active("False", "Stopped"), "ClusterQueue", "q")
        assert [each["type"] for each in found["status"]["conditions"]] == ["Active", added["type"]]


async def test_a_deleted_queue_stays_until_nobody_holds_its_quota() -> None:
    async with house() as home:
        await queue_with(home, "a")
        await home.until(lambda q: figures(q) == (0, 1, 1), "ClusterQueue", "q")
        await home.delete("ClusterQueue", "q")
        await home.until(is_active("False", "Terminating"), "ClusterQueue", "q")
        await home.later(30)
        await home.get("ClusterQueue", "q")
        await home.merge("Workload", "a", {"status": {"conditions": [FINISHED]}}, "status")
        await home.gone("ClusterQueue", "q")


async def test_an_admission_that_the_server_refuses_after_a_while_is_no_longer_reported() -> None:
    async with house() as home:
        await queue_with(home)
        home.meddler.before("PUT", "workloads/a/status", lambda: home.clock.sleep(3))
        home.meddler.reject("PUT", "workloads/a/status", 403)
        await home.create(make_workload("a", "l"))
        await home.until(lambda q: figures(q) == (0, 1, 0), "ClusterQueue", "q")
        await home.until(lambda q: figures(q) == (0, 0, 0), "ClusterQueue", "q")
        await home.until(lambda q: figures(q) == (0, 1, 1), "ClusterQueue", "q", patience=120)


@pytest.mark.parametrize("codes", [(409,), (500,), (429,), (503,), (403, 403), (409, 500, 429, 503, 409)])
async def test_a_status_arrives_however_often_its_write_fails(codes: tuple[int, ...]) -> None:
    async with house() as home:
        home.meddler.reject("PUT", STATUS, *codes)
        await home.create(make_resource_flavor(), make_cluster_queue("q"))
        await home.until(is_active("True", "Ready"), "ClusterQueue", "q")


async def test_only_the_leader_writes_and_a_new_one_catches_up() -> None:
    leading = False
    async with house(leads=lambda: leading) as home:
        before = home.revision
        await home.create(make_resource_flavor(), make_cluster_queue("q"))
        await home.later(30)
        assert home.revision == before + 2
        leading = True
        home.world.start_leading()
        await home.until(is_active("True", "Ready"), "ClusterQueue", "q")


async def test_a_queue_without_its_finalizer_gets_it() -> None:
    async with house() as home:
        await queue_with(home)
        await home.merge("ClusterQueue", "q", {"metadata": {"finalizers": []}})
        await home.until(lambda q: bool(q["metadata"].get("finalizers")), "ClusterQueue", "q")
