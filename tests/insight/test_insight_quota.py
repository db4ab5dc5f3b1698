"""Quota over the trees: what a node has, uses, borrows, leaves to others, and what is waited for."""

from insight.cluster_access import client_of, wait_for_admission
from kit.builders.kueue import (
    make_cluster_queue,
    make_cohort,
    make_local_queue,
    make_resource_flavor,
    make_resource_group,
    make_workload,
)
from kit.manager import running_manager_harness
from kohort.insight.quota import QuotaTreeNode, QuotaUsage, quota_trees
from kohort.insight.snapshot import take_snapshot


def usages(branch: QuotaTreeNode, resource: str = "cpu") -> QuotaUsage:
    return next(each for each in branch.usages if each.fr.resource == resource)


def lending(name: str, cpu: str, limit: str) -> dict[str, object]:
    given = make_resource_group({"cpu": cpu}, "f")
    given["flavors"][0]["resources"][0]["lendingLimit"] = limit
    return make_cluster_queue(name, cohortName="all", resourceGroups=[given])


async def test_a_tree_has_usage_borrowing_and_pending_requests() -> None:
    async with running_manager_harness() as harness:
        await harness.create(make_resource_flavor(), make_cohort("all"), lending("lender", "8", "3"))
        await harness.create(make_cluster_queue("borrower", "4", cohortName="all"), make_local_queue("lq", "borrower"))
        await harness.create(
            make_local_queue("own", "lender"), make_workload("here", "own", "2"), make_workload("there", "lq", "6")
        )
        await wait_for_admission(harness, "here", "there")
        await harness.create(make_workload("late", "lq", "5"))
        await harness.advance(3)
        (tree,) = quota_trees((await take_snapshot(client_of(harness.server))).engine)
    borrower, lender = tree.children
    assert [each.name for each in tree.walk()] == ["all", "borrower", "lender"]
    assert (tree.running, tree.waiting) == (2, 1)
    own = usages(borrower)
    assert (own.quota, own.used, own.borrowed, own.waiting) == (4000, 6000, 2000, 5000)
    other = usages(lender)
    assert (other.quota, other.used, other.borrowed, other.lendable, other.waiting) == (8000, 2000, 0, 3000, 0)
    whole = usages(tree)
    assert (whole.quota, whole.used) == (7000, 6000), "what the lender keeps to itself is no business of the cohort's"


async def test_queues_without_a_cohort_are_roots_and_inactive_ones_are_marked() -> None:
    async with running_manager_harness() as harness:
        await harness.create(
            make_resource_flavor(), make_cluster_queue("b"), make_cluster_queue("a", flavors="missing")
        )
        await harness.advance(3)
        trees = quota_trees((await take_snapshot(client_of(harness.server))).engine)
    assert [(each.kind, each.name, each.is_active) for each in trees] == [("queue", "a", False), ("queue", "b", True)]
    assert usages(trees[1]).lendable == 0


async def test_cohorts_in_a_circle_are_shown_with_their_queues() -> None:
    async with running_manager_harness() as harness:
        await harness.create(
            make_resource_flavor(),
            make_cohort("x", "y"),
            make_cohort("y", "x"),
            make_cluster_queue("cq", cohortName="x"),
        )
        await harness.advance(3)
        trees = quota_trees((await take_snapshot(client_of(harness.server))).engine)
    assert [(each.name, each.is_active) for each in trees] == [("x", False), ("y", False)]
    assert [each.name for tree in trees for each in tree.children] == ["cq"]
