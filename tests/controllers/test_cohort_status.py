"""The status of Cohorts, and the effect of a cycle among them on its own queues, while it exists (API-79, API-118)."""

from kit.apiserver import Object
from kit.builders.kueue import make_cluster_queue, make_cohort, make_local_queue, make_resource_flavor, make_workload
from kit.manager import ManagerHarness, is_active, running_manager_harness, workload_counts
from kohort.api.codec import from_json
from kohort.api.config.v1beta2 import Configuration
from kohort.controllers.context import ManagerSettings

FAIR = ManagerSettings(from_json({"fairSharing": {}}, Configuration))


def share(found: Object) -> int:
    """The weighted share in the status; -1 where it has none."""
    return int(found.get("status", {}).get("fairSharing", {}).get("weightedShare", -1))


async def test_shares_are_written_for_queues_and_the_cohorts_above_them() -> None:
    async with running_manager_harness(FAIR) as harness:
        await harness.create(make_resource_flavor(), make_cohort("top"), make_cohort("left", "top"))
        await harness.create(make_cluster_queue("a", cohortName="left"), make_cluster_queue("b", cohortName="top"))
        await harness.wait_for(lambda found: share(found) == 0, "Cohort", "left")
        await harness.create(make_local_queue("l", "a"), make_workload("w", "l", "3"))
        await harness.wait_for(lambda q: workload_counts(q) == (0, 1, 1) and share(q) == 250, "ClusterQueue", "a")
        await harness.wait_for(lambda found: share(found) == 250, "Cohort", "left")
        await harness.wait_for(lambda found: share(found) == 0, "Cohort", "top")


async def test_quota_that_comes_to_the_tree_changes_the_shares_of_others() -> None:
    async with running_manager_harness(FAIR) as harness:
        await harness.create(
            make_resource_flavor(), make_cluster_queue("a", cohortName="top"), make_cluster_queue("b", cohortName="top")
        )
        await harness.create(make_local_queue("l", "a"), make_workload("w", "l", "3"))
        await harness.wait_for(lambda q: share(q) == 250, "ClusterQueue", "a")
        await harness.create(make_cluster_queue("c", "6", cohortName="top"))
        await harness.wait_for(lambda q: share(q) == 100, "ClusterQueue", "a")


async def test_without_fair_sharing_a_cohort_has_no_status() -> None:
    async with running_manager_harness() as harness:
        await harness.create(make_cohort("c"))
        await harness.advance(5)
        assert not (await harness.get("Cohort", "c")).get("status")


async def with_a_circle(harness: ManagerHarness) -> None:
    """A queue below a circle of cohorts, and another one that has nothing to do with it."""
    await harness.create(make_resource_flavor(), make_cohort("x", "y"), make_cohort("y", "x"))
    await harness.create(
        make_cluster_queue("bad", cohortName="x"), make_local_queue("lost", "bad"), make_workload("w", "lost")
    )
    await harness.create(make_cluster_queue("good"), make_local_queue("l", "good"), make_workload("v", "l"))


async def test_a_queue_below_a_circle_names_it_and_others_go_on() -> None:
    async with running_manager_harness() as harness:
        await with_a_circle(harness)
        found = await harness.wait_for(is_active("False", "Unknown"), "ClusterQueue", "bad")
        assert "x -> y -> x" in found["status"]["conditions"][0]["message"]
        await harness.wait_for(lambda q: workload_counts(q) == (1, 0, 0), "ClusterQueue", "bad")
        await harness.wait_for(lambda q: workload_counts(q) == (0, 1, 1), "ClusterQueue", "good")


async def test_a_cycle_of_cohorts_causes_no_errors() -> None:
    async with running_manager_harness(FAIR) as harness:
        await with_a_circle(harness)
        await harness.advance(30)
        before, asked = harness.revision, len(harness.interceptor.sent)
        await harness.advance(60)
        assert harness.revision == before
        assert len(harness.interceptor.sent) - asked < 20


async def test_queues_recover_when_the_circle_is_broken() -> None:
    async with running_manager_harness() as harness:
        await with_a_circle(harness)
        await harness.wait_for(is_active("False", "Unknown"), "ClusterQueue", "bad")
        await harness.merge("Cohort", "y", {"spec": {"parentName": None}})
        await harness.wait_for(lambda q: workload_counts(q) == (0, 1, 1), "ClusterQueue", "bad")
        assert is_active("True", "Ready")(await harness.get("ClusterQueue", "bad"))


async def test_a_queue_in_which_nothing_happens_recovers_too() -> None:
    async with running_manager_harness() as harness:
        await harness.create(
            make_resource_flavor(),
            make_cohort("x", "y"),
            make_cohort("y", "x"),
            make_cluster_queue("idle", cohortName="x"),
        )
        await harness.wait_for(is_active("False", "Unknown"), "ClusterQueue", "idle")
        await harness.delete("Cohort", "y")
        await harness.wait_for(is_active("True", "Ready"), "ClusterQueue", "idle")


async def test_a_circle_that_closes_above_a_running_workload_leaves_it_alone() -> None:
    async with running_manager_harness() as harness:
        await harness.create(
            make_resource_flavor(), make_cohort("x"), make_cohort("y", "x"), make_cluster_queue("q", cohortName="y")
        )
        await harness.create(make_local_queue("l", "q"), make_workload("w", "l"))
        await harness.wait_for(lambda q: workload_counts(q) == (0, 1, 1), "ClusterQueue", "q")
        await harness.merge("Cohort", "x", {"spec": {"parentName": "y"}})
        found = await harness.wait_for(is_active("False", "Unknown"), "ClusterQueue", "q")
        assert workload_counts(found) == (0, 1, 1)
        await harness.delete("Cohort", "y")
        await harness.wait_for(is_active("True", "Ready"), "ClusterQueue", "q")
