"""The invariants themselves: a consistent engine has no problems, and each kind of inconsistency has its message."""

from typing import Any

import pytest

from engine.checked_scenarios import checked_builder
from engine.invariants import CheckedEngine, check
from engine.invariants.checked import half_admitted, overtaken
from engine.invariants.sums import broken_limits
from engine.invariants.victims import VictimSearch, wrong_victims
from engine.scenario_builders import CPU, FAIR_SHARING, ScenarioBuilder, configured, group, quota
from kohort.api.kueue.v1beta2.workload import Admission, PodSetAssignment
from kohort.api.meta import ObjectKey
from kohort.engine.assignment import Assignment, FitMode, FlavorAssignment, PodSetResult
from kohort.engine.decisions import Reserve
from kohort.engine.events import EvictionFailed
from kohort.engine.preemption_policy import PreemptionTarget
from kohort.engine.quota import FlavorResource
from kohort.engine.records import ClusterQueueInfo, WorkloadInfo
from kohort.engine.usage_request import UsageRequest

Json = Any
CORE = 1000
FR = FlavorResource("f", CPU)


@pytest.fixture
def builder() -> ScenarioBuilder:
    """Queues a and b of a cohort, one workload running, one waiting."""
    builder = checked_builder()
    builder.cohort("R", 2)
    builder.queue("a", 4)
    builder.queue("b", 4, ll=1)
    builder.running("x", 6, "a")
    builder.submit("w", 6, "a")
    return builder.turn()


def named(builder: ScenarioBuilder, name: str) -> WorkloadInfo:
    return builder.engine.store.workloads[ObjectKey("ns", name)]


def problem(builder: ScenarioBuilder) -> str:
    """The only problem there is."""
    (found,) = check(builder.engine)
    return found


def test_an_engine_in_order_has_nothing_to_report(builder: ScenarioBuilder) -> None:
    assert check(builder.engine) == []


class TestSums:
    """SCH-410, SCH-411, SCH-412, SCH-421."""

    def test_usage_without_a_workload(self, builder: ScenarioBuilder) -> None:
        builder.engine.store.queues["b"].node.cells[FR].use(CORE)
        assert problem(builder) == "b counts 1000 of f/cpu as used, and it is 0"

    def test_use_that_did_not_reach_the_cohort(self, builder: ScenarioBuilder) -> None:
        builder.engine.store.hierarchy.cohorts["R"].cells[FR].usage -= CORE
        assert problem(builder) == "R counts 5000 of f/cpu as used, and it is 6000"

    @pytest.mark.parametrize("member", ["subtree", "local", "potential"])
    def test_wrong_capacity(self, builder: ScenarioBuilder, member: str) -> None:
        cell = builder.engine.store.queues["b"].node.cells[FR]
        setattr(cell, member, getattr(cell, member) + 1)
        assert "b has (" in check(builder.engine)[0]

    def test_a_cell_that_hangs_elsewhere(self, builder: ScenarioBuilder) -> None:
        builder.engine.store.queues["b"].node.cells[FR].parent = None
        assert problem(builder) == "b passes f/cpu on to a cell that is not its parent's"

    def test_a_borrower_that_is_not_known(self, builder: ScenarioBuilder) -> None:
        builder.engine.store.hierarchy.cohorts["R"].cells[FR].borrowers.clear()
        assert problem(builder) == "R lists 0 borrowing children of f/cpu, and 1 borrow"

    def test_sums_are_due_in_the_next_run_only(self, builder: ScenarioBuilder) -> None:
        cell = builder.engine.store.hierarchy.cohorts["R"].cells[FR]
        builder.queue("a", 5)
        assert (check(builder.engine), cell.subtree) == ([], 7 * CORE)
        builder.turn()
        assert cell.subtree == 8 * CORE


class TestPendingStates:
    """SCH-201, SCH-203, SCH-420: every workload is in exactly one state, and it is the right one."""

    def test_pending_in_a_queue_without_pending_workloads(self, builder: ScenarioBuilder) -> None:
        builder.engine.store.pending["b"].push(named(builder, "w"), builder.now)
        assert "ns/w waits in ['a', 'b'], and should in [a]" in check(builder.engine)

    def test_missing_in_its_queue(self, builder: ScenarioBuilder) -> None:
        builder.engine.store.pending["a"].remove(named(builder, "w"))
        assert problem(builder) == "ns/w waits in [], and should in [a]"

    def test_in_flight_between_cycles(self, builder: ScenarioBuilder) -> None:
        builder.engine.store.pending["a"].push(named(builder, "w"), builder.now)
        builder.engine.store.pending["a"].retry(builder.now, lambda _: True)
        builder.engine.store.pending["a"].pop(builder.now)
        assert problem(builder) == "ns/w is in flight, and no cycle runs"

    def test_quota_without_a_reservation(self, builder: ScenarioBuilder) -> None:
        holder = named(builder, "x")
        builder.engine.store.queues["a"].drop_holder(holder)
        assert "ns/x holds quota in [], and should in [a]" in check(builder.engine)

    def test_a_workload_that_does_not_exist(self, builder: ScenarioBuilder) -> None:
        del builder.engine.store.workloads[ObjectKey("ns", "x")]
        assert "ns/x holds quota in a and is not known" in check(builder.engine)
        assert "ns/a knows ns/x, a ghost" in check(builder.engine)

    def test_a_local_queue_without_its_workload(self, builder: ScenarioBuilder) -> None:
        del builder.engine.store.local_queues[ObjectKey("ns", "a")].workloads[ObjectKey("ns", "w")]
        assert problem(builder) == "ns/w is known to [], and should be to ns/a"

    def test_priorities_counted_wrongly(self, builder: ScenarioBuilder) -> None:
        builder.engine.store.queues["a"].priorities[7] = 1
        assert problem(builder).startswith("a counts holders by priority as {0: 1, 7: 1}")

    def test_use_at_the_cells_of_another_queue(self, builder: ScenarioBuilder) -> None:
        holder = named(builder, "x")
        holder.held = {builder.engine.store.queues["b"].node.cells[FR]: 6 * CORE}
        assert problem(builder) == "ns/x counts its use at cells that are not those of a"

    def test_more_usage_than_admitted(self, builder: ScenarioBuilder) -> None:
        holder = named(builder, "x")
        builder.engine.store.queues["a"].drop_holder(holder)
        holder.usage = {FR: CORE}
        builder.engine.store.queues["a"].add_holder(holder)
        assert problem(builder).startswith("ns/x holds")


class TestLimits:
    """SCH-404, SCH-431, SCH-432."""

    def gain(self, builder: ScenarioBuilder, queue: str, amount: int, fr: FlavorResource = FR) -> list[str]:
        """Give a new workload so much, and return what that breaks."""
        holder = WorkloadInfo(ObjectKey("ns", "new"), "new")
        holder.usage, holder.reserved_at = {fr: amount}, builder.now
        builder.engine.store.queues[queue].add_holder(holder)
        return list(broken_limits(builder.engine.context, builder.engine.store.queues[queue], {fr: amount}))

    def test_what_fits_breaks_nothing(self, builder: ScenarioBuilder) -> None:
        assert self.gain(builder, "a", CORE) == []

    def test_a_lending_limit_keeps_quota_for_any_usage_of_the_others(self, builder: ScenarioBuilder) -> None:
        assert self.gain(builder, "b", 3 * CORE) == []

    def test_more_than_the_tree_has(self, builder: ScenarioBuilder) -> None:
        assert self.gain(builder, "b", 5 * CORE) == ["R uses 8000 of f/cpu, and may use 7000"]

    def test_more_than_may_be_borrowed(self, builder: ScenarioBuilder) -> None:
        builder.queue("a", 4, bl=2)
        builder.turn()
        assert self.gain(builder, "a", CORE) == ["a uses 7000 of f/cpu, and may use 6000"]

    def test_what_the_queue_does_not_offer(self, builder: ScenarioBuilder) -> None:
        assert "a does not offer g/cpu" in self.gain(builder, "a", CORE, FlavorResource("g", CPU))


class TestAdmissions:
    def test_half_a_gang(self, builder: ScenarioBuilder) -> None:
        """SCH-351."""
        decision = Reserve(ObjectKey("ns", "w"), Admission(cluster_queue="a"), "", 0)
        assert list(half_admitted(named(builder, "w"), decision)) == ["ns/w was admitted with the pod sets []"]

    def test_too_few_pods(self, builder: ScenarioBuilder) -> None:
        """SCH-562."""
        builder.submit("p", 1, "a", count=4, min_count=2)
        admission = Admission(cluster_queue="a", pod_set_assignments=(PodSetAssignment(name="main", count=1),))
        found = list(half_admitted(named(builder, "p"), Reserve(ObjectKey("ns", "p"), admission, "", 0)))
        assert found == ["ns/p was admitted with 1 pods of main"]

    def test_overtaking_in_a_strict_queue(self, builder: ScenarioBuilder) -> None:
        """SCH-238."""
        builder.queue("q", 4, queueingStrategy="StrictFIFO")
        builder.submit("first", 1)
        builder.submit("second", 1)
        found = list(overtaken(builder.engine.store, named(builder, "second"), builder.engine.store.queues["q"]))
        assert found == ["ns/second overtook ns/first in q"]
        assert list(overtaken(builder.engine.store, named(builder, "first"), builder.engine.store.queues["q"])) == []


class TestVictims:
    """SCH-602, SCH-603, SCH-611, SCH-613, SCH-633, SCH-720."""

    @pytest.fixture
    def with_preemptor(self) -> ScenarioBuilder:
        builder = ScenarioBuilder()
        builder.queue(
            "a", 4, preemption={"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "LowerPriority"}
        )
        builder.queue("b", 2)
        builder.running("own", 2, "a", priority=1)
        builder.running("theirs", 4, "b", priority=1)
        builder.submit("p", 2, "a", priority=2)
        builder.engine.store.hierarchy.refresh()
        return builder

    def search(
        self, builder: ScenarioBuilder, *targets: tuple[str, str], preemptor: str = "p", amount: int = 2
    ) -> list[str]:
        found = [PreemptionTarget(named(builder, name), reason) for name, reason in targets]
        requests = {FR: amount * CORE}
        by_share = builder.settings.fair is not None
        return wrong_victims(
            VictimSearch(
                named(builder, preemptor),
                builder.engine.store.queues["a"],
                UsageRequest(requests, frozenset(requests)),
                found,
                by_share,
            )
        )

    def test_victims_that_the_policies_allow(self, with_preemptor: ScenarioBuilder) -> None:
        assert self.search(with_preemptor, ("own", "InClusterQueue")) == []
        assert self.search(with_preemptor, ("theirs", "InCohortReclamation")) == []

    @pytest.mark.parametrize(
        ("victim", "reason"),
        [("own", "InCohortReclamation"), ("theirs", "InClusterQueue"), ("theirs", "InCohortFairSharing")],
    )
    def test_the_wrong_reason(self, with_preemptor: ScenarioBuilder, victim: str, reason: str) -> None:
        assert self.search(with_preemptor, (victim, reason)) == [f"ns/p may not preempt ns/{victim} by {reason}"]

    def test_too_high_a_priority(self, with_preemptor: ScenarioBuilder) -> None:
        with_preemptor.submit("q", 2, "a", priority=1)
        for victim, reason in (("own", "InClusterQueue"), ("theirs", "InCohortReclamation")):
            found = self.search(with_preemptor, (victim, reason), preemptor="q")
            assert found == [f"ns/q may not preempt ns/{victim} by {reason}"]

    def test_a_lender_that_has_borrowed_nothing(self, with_preemptor: ScenarioBuilder) -> None:
        with_preemptor.queue("b", 8)
        with_preemptor.engine.store.hierarchy.refresh()
        found = self.search(with_preemptor, ("theirs", "InCohortReclamation"))
        assert "ns/p may not preempt ns/theirs by InCohortReclamation" in found

    def test_reclaiming_while_borrowing_needs_a_policy(self, with_preemptor: ScenarioBuilder) -> None:
        found = self.search(with_preemptor, ("theirs", "InCohortReclaimWhileBorrowing"))
        assert found == ["ns/p may not preempt ns/theirs by InCohortReclaimWhileBorrowing"]

    def test_reclaiming_more_than_is_ones_own(self, with_preemptor: ScenarioBuilder) -> None:
        found = self.search(with_preemptor, ("theirs", "InCohortReclamation"), amount=4)
        assert found == ["ns/p may not preempt ns/theirs by InCohortReclamation"]

    def test_a_victim_that_frees_nothing(self, with_preemptor: ScenarioBuilder) -> None:
        with_preemptor.queue("b", groups=[group({"f": [quota(CPU, 2)], "g": [quota(CPU, 9)]})])
        with_preemptor.running("elsewhere", 1, "b", flavor="g")
        with_preemptor.engine.store.hierarchy.refresh()
        found = self.search(with_preemptor, ("elsewhere", "InCohortReclamation"), ("theirs", "InCohortReclamation"))
        assert "ns/elsewhere has nothing of what ns/p needs" in found

    def test_one_too_many(self, with_preemptor: ScenarioBuilder) -> None:
        found = self.search(with_preemptor, ("own", "InClusterQueue"), ("theirs", "InCohortReclamation"))
        assert sorted(found) == ["ns/p fits although ns/own stays", "ns/p fits although ns/theirs stays"]

    def test_too_few(self, with_preemptor: ScenarioBuilder) -> None:
        found = self.search(with_preemptor, ("own", "InClusterQueue"), amount=4)
        assert found == ["ns/p does not fit even without [<Workload ns/own>]"]

    def test_a_queue_that_takes_no_part(self, with_preemptor: ScenarioBuilder) -> None:
        """SCH-1052."""
        with_preemptor.queue("b", 2, stopPolicy="Hold")
        assert self.search(with_preemptor, ("theirs", "InCohortReclamation")) == [
            "ns/theirs is not there to be preempted"
        ]

    def test_the_tree_is_as_before(self, with_preemptor: ScenarioBuilder) -> None:
        before = [
            cell.usage for node in with_preemptor.engine.store.hierarchy.queues.values() for cell in node.cells.values()
        ]
        self.search(with_preemptor, ("own", "InClusterQueue"), ("theirs", "InCohortReclamation"))
        after = [
            cell.usage for node in with_preemptor.engine.store.hierarchy.queues.values() for cell in node.cells.values()
        ]
        assert after == before

    def test_by_share_only_where_sharing_is_on(self) -> None:
        builder = ScenarioBuilder(configured(FAIR_SHARING))
        builder.queue("a", 4, preemption={"reclaimWithinCohort": "Any"})
        builder.queue("b", 0)
        builder.running("theirs", 4, "b")
        builder.submit("p", 2, "a")
        builder.engine.store.hierarchy.refresh()
        assert self.search(builder, ("theirs", "InCohortFairSharing")) == []


def assigned(cpu: int) -> Assignment:
    choices = {FR.resource: FlavorAssignment(FR.flavor, FitMode.FIT, 0, -1)}
    usage = {FR: cpu}
    return Assignment([PodSetResult("main", 1, {FR.resource: cpu}, choices)], usage=usage)


class TestCheckedEngine:
    def test_it_raises_what_is_broken_after_an_event(self, builder: ScenarioBuilder) -> None:
        builder.engine.store.queues["b"].node.cells[FR].use(CORE)
        with pytest.raises(AssertionError, match=r"after EvictionFailed:\n  b counts 1000 of f/cpu as used"):
            builder.engine.apply(EvictionFailed(ObjectKey("ns", "x")), builder.now)

    @pytest.mark.parametrize("turn", [CheckedEngine.schedule, CheckedEngine.run_cycle])
    def test_it_raises_what_is_broken_after_a_run(self, builder: ScenarioBuilder, turn: Any) -> None:
        builder.engine.store.queues["b"].node.cells[FR].use(CORE)
        with pytest.raises(AssertionError, match="after a"):
            turn(builder.engine, builder.now)

    def test_it_raises_when_an_admission_breaks_a_limit(self, builder: ScenarioBuilder) -> None:
        with pytest.raises(AssertionError, match="after the admission of ns/w:\n  R uses 12000 of f/cpu"):
            builder.engine.context.reserve(
                named(builder, "w"), assigned(6 * CORE), Admission(cluster_queue="a"), builder.now
            )

    def test_it_decides_as_any_engine(self, builder: ScenarioBuilder) -> None:
        builder.finish("ns/x")
        assert builder.turn().reserved == ["w"]


def test_a_search_that_leaves_the_tree_in_disorder_is_caught(
    builder: ScenarioBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def careless(_preemptor: WorkloadInfo, queue: ClusterQueueInfo, *_rest: object) -> list[PreemptionTarget]:
        queue.node.cells[FR].use(CORE)
        return []

    monkeypatch.setattr("kohort.engine.cycle_context.find_targets", careless)
    with pytest.raises(AssertionError, match="the search left the tree other than it was"):
        builder.engine.context.find_targets(
            named(builder, "w"), builder.engine.store.queues["a"], UsageRequest({FR: CORE}, frozenset({FR}))
        )
