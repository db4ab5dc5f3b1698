"""What Cohorts say, and what a circle among them does: to its own queues, while it lasts (API-79, API-118)."""

from controllers.houses import House, figures, house, is_active
from kit.apiserver import Object
from kit.builders.kueue import make_cluster_queue, make_cohort, make_local_queue, make_resource_flavor, make_workload
from kohort.api.codec import from_json
from kohort.api.config.v1beta2 import Configuration
from kohort.controllers.context import ManagerSettings

FAIR = ManagerSettings(from_json({"fairSharing": {}}, Configuration))


def share(found: Object) -> int:
    """The weighted share that the status tells; -1 where it tells none."""
    return int(found.get("status", {}).get("fairSharing", {}).get("weightedShare", -1))


async def test_shares_are_told_of_queues_and_of_the_cohorts_above_them() -> None:
    async with house(FAIR) as home:
        await home.create(make_resource_flavor(), make_cohort("top"), make_cohort("left", "top"))
        await home.create(make_cluster_queue("a", cohortName="left"), make_cluster_queue("b", cohortName="top"))
        await home.until(lambda found: share(found) == 0, "Cohort", "left")
        await home.create(make_local_queue("l", "a"), make_workload("w", "l", "3"))
        await home.until(lambda q: figures(q) == (0, 1, 1) and share(q) == 250, "ClusterQueue", "a")
        await home.until(lambda found: share(found) == 250, "Cohort", "left")
        await home.until(lambda found: share(found) == 0, "Cohort", "top")


async def test_quota_that_comes_to_the_tree_changes_the_shares_of_others() -> None:
    async with house(FAIR) as home:
        await home.create(
            make_resource_flavor(), make_cluster_queue("a", cohortName="top"), make_cluster_queue("b", cohortName="top")
        )
        await home.create(make_local_queue("l", "a"), make_workload("w", "l", "3"))
        await home.until(lambda q: share(q) == 250, "ClusterQueue", "a")
        await home.create(make_cluster_queue("c", "6", cohortName="top"))
        await home.until(lambda q: share(q) == 100, "ClusterQueue", "a")


async def test_without_fair_sharing_a_cohort_has_nothing_to_tell() -> None:
    async with house() as home:
        await home.create(make_cohort("c"))
        await home.later(5)
        assert not (await home.get("Cohort", "c")).get("status")


async def with_a_circle(home: House) -> None:
    """A queue below a circle of cohorts, and another one that has nothing to do with it."""
    await home.create(make_resource_flavor(), make_cohort("x", "y"), make_cohort("y", "x"))
    await home.create(
        make_cluster_queue("bad", cohortName="x"), make_local_queue("lost", "bad"), make_workload("w", "lost")
    )
    await home.create(make_cluster_queue("good"), make_local_queue("l", "good"), make_workload("v", "l"))


async def test_a_queue_below_a_circle_names_it_and_others_go_on() -> None:
    async with house() as home:
        await with_a_circle(home)
        found = await home.until(is_active("False", "Unknown"), "ClusterQueue", "bad")
        assert "x -> y -> x" in found["status"]["conditions"][0]["message"]
        await home.until(lambda q: figures(q) == (1, 0, 0), "ClusterQueue", "bad")
        await home.until(lambda q: figures(q) == (0, 1, 1), "ClusterQueue", "good")


async def test_a_circle_is_borne_quietly() -> None:
    async with house(FAIR) as home:
        await with_a_circle(home)
        await home.later(30)
        before, asked = home.revision, len(home.meddler.sent)
        await home.later(60)
        assert home.revision == before
        assert len(home.meddler.sent) - asked < 20


async def test_queues_recover_when_the_circle_is_broken() -> None:
    async with house() as home:
        await with_a_circle(home)
        await home.until(is_active("False", "Unknown"), "ClusterQueue", "bad")
        await home.merge("Cohort", "y", {"spec": {"parentName": None}})
        await home.until(lambda q: figures(q) == (0, 1, 1), "ClusterQueue", "bad")
        assert is_active("True", "Ready")(await home.get("ClusterQueue", "bad"))


async def test_a_queue_in_which_nothing_happens_recovers_too() -> None:
    async with house() as home:
        await home.create(
            make_resource_flavor(),
            make_cohort("x", "y"),
            make_cohort("y", "x"),
            make_cluster_queue("idle", cohortName="x"),
        )
        await home.until(is_active("False", "Unknown"), "ClusterQueue", "idle")
        await home.delete("Cohort", "y")
        await home.until(is_active("True", "Ready"), "ClusterQueue", "idle")


async def test_a_circle_that_closes_above_a_running_workload_leaves_it_alone() -> None:
    async with house() as home:
        await home.create(
            make_resource_flavor(), make_cohort("x"), make_cohort("y", "x"), make_cluster_queue("q", cohortName="y")
        )
        await home.create(make_local_queue("l", "q"), make_workload("w", "l"))
        await home.until(lambda q: figures(q) == (0, 1, 1), "ClusterQueue", "q")
        await home.merge("Cohort", "x", {"spec": {"parentName": "y"}})
        found = await home.until(is_active("False", "Unknown"), "ClusterQueue", "q")
        assert figures(found) == (0, 1, 1)
        await home.delete("Cohort", "y")
        await home.until(is_active("True", "Ready"), "ClusterQueue", "q")
