"""Dominant resource shares: how much a node has borrowed of what it could (SCH-701 to SCH-706)."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from engine.scenario_builders import FAIR_SHARING, ScenarioBuilder, configured
from kohort.engine.decisions import Reserve
from kohort.engine.drs import share_of
from kohort.engine.hierarchy import Hierarchy
from kohort.engine.quota import FlavorResource, Quota

Json = Any
CPU, MEMORY = FlavorResource("f", "cpu"), FlavorResource("f", "memory")
SPOT = FlavorResource("spot", "cpu")


def forest(**queues: dict[FlavorResource, int]) -> Hierarchy:
    """Queues in cohort R with these nominal quotas; a name after an underscore is another cohort below it."""
    forest = Hierarchy()
    for name, quotas in queues.items():
        queue, _, cohort = name.partition("_")
        forest.set_queue(queue, cohort or "R", {fr: Quota(nominal) for fr, nominal in quotas.items()})
        if cohort:
            forest.set_cohort(cohort, "R", {})
    forest.refresh()
    return forest


class TestRatio:
    """SCH-701"""

    def test_the_resource_of_which_most_was_borrowed_counts(self) -> None:
        tree = forest(lender={CPU: 10, MEMORY: 10}, a={CPU: 0, MEMORY: 0})
        node = tree.queues["a"]
        node.cells[CPU].use(2)
        node.cells[MEMORY].use(5)
        assert share_of(node).ratio == 500

    def test_flavors_of_a_resource_are_added_up(self) -> None:
        tree = forest(lender={CPU: 10, SPOT: 30}, a={CPU: 0, SPOT: 0})
        node = tree.queues["a"]
        node.cells[CPU].use(2)
        node.cells[SPOT].use(6)
        assert share_of(node).ratio == 1000 * 8 / 40

    def test_quota_of_its_own_is_not_borrowed(self) -> None:
        tree = forest(lender={CPU: 10}, a={CPU: 4})
        node = tree.queues["a"]
        node.cells[CPU].use(4)
        assert share_of(node).ratio == 0
        node.cells[CPU].use(7)
        assert share_of(node).ratio == 500

    def test_a_node_without_a_parent_has_none(self) -> None:
        tree = forest(a={CPU: 0})
        tree.queues["a"].cells[CPU].use(5)
        assert share_of(tree.cohorts["R"]).ratio == 0


def test_a_queue_over_its_quota_borrows_even_where_nothing_can_be_lent() -> None:
    """SCH-702: as after all quotas were taken away."""
    tree = forest(a={CPU: 0}, b={CPU: 0})
    tree.queues["a"].cells[CPU].use(3)
    share = share_of(tree.queues["a"])
    assert (share.ratio, share.borrowed) == (0, frozenset({CPU}))
    assert share_of(tree.queues["b"]).borrowed == frozenset()


def test_a_cohort_does_not_borrow_what_its_members_borrow_of_each_other() -> None:
    """SCH-705."""
    tree = forest(lender={CPU: 10}, a_L={CPU: 0}, b_L={CPU: 4})
    tree.queues["a"].cells[CPU].use(4)
    assert share_of(tree.queues["a"]).ratio > 0
    assert share_of(tree.cohorts["L"]).ratio == 0
    tree.queues["b"].cells[CPU].use(7)
    assert share_of(tree.cohorts["L"]).ratio == 500


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 9), st.integers(-5, 5)), max_size=12))
def test_without_competition_fair_sharing_changes_nothing(arrivals: list[tuple[str, int, int]]) -> None:
    """SCH-710: quota, flavors and the admission of a head alone are the same."""
    runs = [run(None, arrivals), run(FAIR_SHARING, arrivals)]
    assert runs[0] == runs[1]


def run(configuration: Json, arrivals: list[tuple[str, int, int]]) -> list[Json]:
    """What each of several workloads gets that come one after the other, to queues that never preempt."""
    builder = ScenarioBuilder(configured(configuration))
    builder.queue("lender", 10)
    builder.queue("a", 5, bl=3)
    builder.queue("b", 5, ll=2)
    found = []
    for number, (queue, size, priority) in enumerate(arrivals):
        builder.submit(f"w{number}", size, queue, priority=priority)
        decisions = builder.turn().decisions
        found.append([(each.workload, each.admission) for each in decisions if isinstance(each, Reserve)])
    return found


def test_the_incoming_workload_counts_in_its_own_share() -> None:
    """SCH-721: with its requests, the preemptor would have borrowed as much as its victim."""
    builder = ScenarioBuilder(configured({"fairSharing": {"preemptionStrategies": ["LessThanOrEqualToFinalShare"]}}))
    builder.queue("lender", 4)
    builder.queue("a", 0, preemption={"reclaimWithinCohort": "Any"})
    builder.queue("b", 0)
    builder.running("b1", 2, "b")
    builder.running("b2", 2, "b")
    builder.submit("a1", 2, "a")
    assert builder.turn().evicted == {"b2": "InCohortFairSharing"}
    builder.settle()
    builder.turn()
    builder.submit("a2", 2, "a")
    assert builder.turn().evicted == {}, "with 4 of 4 it would have more than the other, left with nothing"
