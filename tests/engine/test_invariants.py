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
def play() -> ScenarioBuilder:
    """Queues a and b of a cohort, one workload running, one waiting."""
    play = checked_builder()
    play.cohort("R", 2)
    play.queue("a", 4)
    play.queue("b", 4, ll=1)
    play.running("x", 6, "a")
    play.submit("w", 6, "a")
    return play.turn()


def named(play: ScenarioBuilder, name: str) -> WorkloadInfo:
    return play.engine.store.workloads[ObjectKey("ns", name)]


def problem(play: ScenarioBuilder) -> str:
    """The only problem there is."""
    (found,) = check(play.engine)
    return found


def test_an_engine_in_order_has_nothing_to_report(play: ScenarioBuilder) -> None:
    assert check(play.engine) == []


class TestSums:
    """SCH-410, SCH-411, SCH-412, SCH-421."""

    def test_usage_without_a_workload(self, play: ScenarioBuilder) -> None:
        play.engine.store.queues["b"].node.cells[FR].use(CORE)
        assert problem(play) == "b counts 1000 of f/cpu as used, and it is 0"

    def test_use_that_did_not_reach_the_cohort(self, play: ScenarioBuilder) -> None:
        play.engine.store.hierarchy.cohorts["R"].cells[FR].usage -= CORE
        assert problem(play) == "R counts 5000 of f/cpu as used, and it is 6000"

    @pytest.mark.parametrize("member", ["subtree", "local", "potential"])
    def test_wrong_capacity(self, play: ScenarioBuilder, member: str) -> None:
        cell = play.engine.store.queues["b"].node.cells[FR]
        setattr(cell, member, getattr(cell, member) + 1)
        assert "b has (" in check(play.engine)[0]

    def test_a_cell_that_hangs_elsewhere(self, play: ScenarioBuilder) -> None:
        play.engine.store.queues["b"].node.cells[FR].parent = None
        assert problem(play) == "b passes f/cpu on to a cell that is not its parent's"

    def test_a_borrower_that_is_not_known(self, play: ScenarioBuilder) -> None:
        play.engine.store.hierarchy.cohorts["R"].cells[FR].borrowers.clear()
        assert problem(play) == "R lists 0 borrowing children of f/cpu, and 1 borrow"

    def test_sums_are_due_in_the_next_run_only(self, play: ScenarioBuilder) -> None:
        cell = play.engine.store.hierarchy.cohorts["R"].cells[FR]
        play.queue("a", 5)
        assert (check(play.engine), cell.subtree) == ([], 7 * CORE)
        play.turn()
        assert cell.subtree == 8 * CORE


class TestPendingStates:
    """SCH-201, SCH-203, SCH-420: every workload is in exactly one state, and it is the right one."""

    def test_pending_in_a_queue_without_pending_workloads(self, play: ScenarioBuilder) -> None:
        play.engine.store.pending["b"].push(named(play, "w"), play.now)
        assert "ns/w waits in ['a', 'b'], and should in [a]" in check(play.engine)

    def test_missing_in_its_queue(self, play: ScenarioBuilder) -> None:
        play.engine.store.pending["a"].remove(named(play, "w"))
        assert problem(play) == "ns/w waits in [], and should in [a]"

    def test_in_flight_between_cycles(self, play: ScenarioBuilder) -> None:
        play.engine.store.pending["a"].push(named(play, "w"), play.now)
        play.engine.store.pending["a"].retry(play.now, lambda _: True)
        play.engine.store.pending["a"].pop(play.now)
        assert problem(play) == "ns/w is in flight, and no cycle runs"

    def test_quota_without_a_reservation(self, play: ScenarioBuilder) -> None:
        holder = named(play, "x")
        play.engine.store.queues["a"].drop_holder(holder)
        assert "ns/x holds quota in [], and should in [a]" in check(play.engine)

    def test_a_workload_that_does_not_exist(self, play: ScenarioBuilder) -> None:
        del play.engine.store.workloads[ObjectKey("ns", "x")]
        assert "ns/x holds quota in a and is not known" in check(play.engine)
        assert "ns/a knows ns/x, a ghost" in check(play.engine)

    def test_a_local_queue_without_its_workload(self, play: ScenarioBuilder) -> None:
        del play.engine.store.local_queues[ObjectKey("ns", "a")].workloads[ObjectKey("ns", "w")]
        assert problem(play) == "ns/w is known to [], and should be to ns/a"

    def test_priorities_counted_wrongly(self, play: ScenarioBuilder) -> None:
        play.engine.store.queues["a"].priorities[7] = 1
        assert problem(play).startswith("a counts holders by priority as {0: 1, 7: 1}")

    def test_use_at_the_cells_of_another_queue(self, play: ScenarioBuilder) -> None:
        holder = named(play, "x")
        holder.held = {play.engine.store.queues["b"].node.cells[FR]: 6 * CORE}
        assert problem(play) == "ns/x counts its use at cells that are not those of a"

    def test_more_usage_than_admitted(self, play: ScenarioBuilder) -> None:
        holder = named(play, "x")
        play.engine.store.queues["a"].drop_holder(holder)
        holder.usage = {FR: CORE}
        play.engine.store.queues["a"].add_holder(holder)
        assert problem(play).startswith("ns/x holds")


class TestLimits:
    """SCH-404, SCH-431, SCH-432."""

    def gain(self, play: ScenarioBuilder, queue: str, amount: int, fr: FlavorResource = FR) -> list[str]:
        """Give a new workload so much, and return what that breaks."""
        holder = WorkloadInfo(ObjectKey("ns", "new"), "new")
        holder.usage, holder.reserved_at = {fr: amount}, play.now
        play.engine.store.queues[queue].add_holder(holder)
        return list(broken_limits(play.engine.context, play.engine.store.queues[queue], {fr: amount}))

    def test_what_fits_breaks_nothing(self, play: ScenarioBuilder) -> None:
        assert self.gain(play, "a", CORE) == []

    def test_a_lending_limit_keeps_quota_for_any_usage_of_the_others(self, play: ScenarioBuilder) -> None:
        assert self.gain(play, "b", 3 * CORE) == []

    def test_more_than_the_tree_has(self, play: ScenarioBuilder) -> None:
        assert self.gain(play, "b", 5 * CORE) == ["R uses 8000 of f/cpu, and may use 7000"]

    def test_more_than_may_be_borrowed(self, play: ScenarioBuilder) -> None:
        play.queue("a", 4, bl=2)
        play.turn()
        assert self.gain(play, "a", CORE) == ["a uses 7000 of f/cpu, and may use 6000"]

    def test_what_the_queue_does_not_offer(self, play: ScenarioBuilder) -> None:
        assert "a does not offer g/cpu" in self.gain(play, "a", CORE, FlavorResource("g", CPU))


class TestAdmissions:
    def test_half_a_gang(self, play: ScenarioBuilder) -> None:
        """SCH-351."""
        decision = Reserve(ObjectKey("ns", "w"), Admission(cluster_queue="a"), "", 0)
        assert list(half_admitted(named(play, "w"), decision)) == ["ns/w was admitted with the pod sets []"]

    def test_too_few_pods(self, play: ScenarioBuilder) -> None:
        """SCH-562."""
        play.submit("p", 1, "a", count=4, min_count=2)
        admission = Admission(cluster_queue="a", pod_set_assignments=(PodSetAssignment(name="main", count=1),))
        found = list(half_admitted(named(play, "p"), Reserve(ObjectKey("ns", "p"), admission, "", 0)))
        assert found == ["ns/p was admitted with 1 pods of main"]

    def test_overtaking_in_a_strict_queue(self, play: ScenarioBuilder) -> None:
        """SCH-238."""
        play.queue("q", 4, queueingStrategy="StrictFIFO")
        play.submit("first", 1)
        play.submit("second", 1)
        found = list(overtaken(play.engine.store, named(play, "second"), play.engine.store.queues["q"]))
        assert found == ["ns/second overtook ns/first in q"]
        assert list(overtaken(play.engine.store, named(play, "first"), play.engine.store.queues["q"])) == []


class TestVictims:
    """SCH-602, SCH-603, SCH-611, SCH-613, SCH-633, SCH-720."""

    @pytest.fixture
    def hunting(self) -> ScenarioBuilder:
        play = ScenarioBuilder()
        play.queue("a", 4, preemption={"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "LowerPriority"})
        play.queue("b", 2)
        play.running("own", 2, "a", priority=1)
        play.running("theirs", 4, "b", priority=1)
        play.submit("p", 2, "a", priority=2)
        play.engine.store.hierarchy.refresh()
        return play

    def search(
        self, play: ScenarioBuilder, *targets: tuple[str, str], preemptor: str = "p", amount: int = 2
    ) -> list[str]:
        found = [PreemptionTarget(named(play, name), reason) for name, reason in targets]
        requests = {FR: amount * CORE}
        by_share = play.settings.fair is not None
        return wrong_victims(
            VictimSearch(
                named(play, preemptor),
                play.engine.store.queues["a"],
                UsageRequest(requests, frozenset(requests)),
                found,
                by_share,
            )
        )

    def test_victims_that_the_policies_allow(self, hunting: ScenarioBuilder) -> None:
        assert self.search(hunting, ("own", "InClusterQueue")) == []
        assert self.search(hunting, ("theirs", "InCohortReclamation")) == []

    @pytest.mark.parametrize(
        ("victim", "reason"),
        [("own", "InCohortReclamation"), ("theirs", "InClusterQueue"), ("theirs", "InCohortFairSharing")],
    )
    def test_the_wrong_reason(self, hunting: ScenarioBuilder, victim: str, reason: str) -> None:
        assert self.search(hunting, (victim, reason)) == [f"ns/p may not preempt ns/{victim} by {reason}"]

    def test_too_high_a_priority(self, hunting: ScenarioBuilder) -> None:
        hunting.submit("q", 2, "a", priority=1)
        for victim, reason in (("own", "InClusterQueue"), ("theirs", "InCohortReclamation")):
            found = self.search(hunting, (victim, reason), preemptor="q")
            assert found == [f"ns/q may not preempt ns/{victim} by {reason}"]

    def test_a_lender_that_has_borrowed_nothing(self, hunting: ScenarioBuilder) -> None:
        hunting.queue("b", 8)
        hunting.engine.store.hierarchy.refresh()
        found = self.search(hunting, ("theirs", "InCohortReclamation"))
        assert "ns/p may not preempt ns/theirs by InCohortReclamation" in found

    def test_reclaiming_while_borrowing_needs_a_policy(self, hunting: ScenarioBuilder) -> None:
        found = self.search(hunting, ("theirs", "InCohortReclaimWhileBorrowing"))
        assert found == ["ns/p may not preempt ns/theirs by InCohortReclaimWhileBorrowing"]

    def test_reclaiming_more_than_is_ones_own(self, hunting: ScenarioBuilder) -> None:
        found = self.search(hunting, ("theirs", "InCohortReclamation"), amount=4)
        assert found == ["ns/p may not preempt ns/theirs by InCohortReclamation"]

    def test_a_victim_that_frees_nothing(self, hunting: ScenarioBuilder) -> None:
        hunting.queue("b", groups=[group({"f": [quota(CPU, 2)], "g": [quota(CPU, 9)]})])
        hunting.running("elsewhere", 1, "b", flavor="g")
        hunting.engine.store.hierarchy.refresh()
        found = self.search(hunting, ("elsewhere", "InCohortReclamation"), ("theirs", "InCohortReclamation"))
        assert "ns/elsewhere has nothing of what ns/p needs" in found

    def test_one_too_many(self, hunting: ScenarioBuilder) -> None:
        found = self.search(hunting, ("own", "InClusterQueue"), ("theirs", "InCohortReclamation"))
        assert sorted(found) == ["ns/p fits although ns/own stays", "ns/p fits although ns/theirs stays"]

    def test_too_few(self, hunting: ScenarioBuilder) -> None:
        found = self.search(hunting, ("own", "InClusterQueue"), amount=4)
        assert found == ["ns/p does not fit even without [<Workload ns/own>]"]

    def test_a_queue_that_takes_no_part(self, hunting: ScenarioBuilder) -> None:
        """SCH-1052."""
        hunting.queue("b", 2, stopPolicy="Hold")
        assert self.search(hunting, ("theirs", "InCohortReclamation")) == ["ns/theirs is not there to be preempted"]

    def test_the_tree_is_as_before(self, hunting: ScenarioBuilder) -> None:
        before = [cell.usage for node in hunting.engine.store.hierarchy.queues.values() for cell in node.cells.values()]
        self.search(hunting, ("own", "InClusterQueue"), ("theirs", "InCohortReclamation"))
        after = [cell.usage for node in hunting.engine.store.hierarchy.queues.values() for cell in node.cells.values()]
        assert after == before

    def test_by_share_only_where_sharing_is_on(self) -> None:
        play = ScenarioBuilder(configured(FAIR_SHARING))
        play.queue("a", 4, preemption={"reclaimWithinCohort": "Any"})
        play.queue("b", 0)
        play.running("theirs", 4, "b")
        play.submit("p", 2, "a")
        play.engine.store.hierarchy.refresh()
        assert self.search(play, ("theirs", "InCohortFairSharing")) == []


def assigned(cpu: int) -> Assignment:
    choices = {FR.resource: FlavorAssignment(FR.flavor, FitMode.FIT, 0, -1)}
    usage = {FR: cpu}
    return Assignment([PodSetResult("main", 1, {FR.resource: cpu}, choices)], usage=usage)


class TestCheckedEngine:
    def test_it_raises_what_is_broken_after_an_event(self, play: ScenarioBuilder) -> None:
        play.engine.store.queues["b"].node.cells[FR].use(CORE)
        with pytest.raises(AssertionError, match=r"after EvictionFailed:\n  b counts 1000 of f/cpu as used"):
            play.engine.apply(EvictionFailed(ObjectKey("ns", "x")), play.now)

    @pytest.mark.parametrize("turn", [CheckedEngine.schedule, CheckedEngine.run_cycle])
    def test_it_raises_what_is_broken_after_a_run(self, play: ScenarioBuilder, turn: Any) -> None:
        play.engine.store.queues["b"].node.cells[FR].use(CORE)
        with pytest.raises(AssertionError, match="after a"):
            turn(play.engine, play.now)

    def test_it_raises_when_an_admission_breaks_a_limit(self, play: ScenarioBuilder) -> None:
        with pytest.raises(AssertionError, match="after the admission of ns/w:\n  R uses 12000 of f/cpu"):
            play.engine.context.reserve(named(play, "w"), assigned(6 * CORE), Admission(cluster_queue="a"), play.now)

    def test_it_decides_as_any_engine(self, play: ScenarioBuilder) -> None:
        play.finish("ns/x")
        assert play.turn().reserved == ["w"]


def test_a_search_that_leaves_the_tree_in_disorder_is_caught(
    play: ScenarioBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def careless(_preemptor: WorkloadInfo, queue: ClusterQueueInfo, *_rest: object) -> list[PreemptionTarget]:
        queue.node.cells[FR].use(CORE)
        return []

    monkeypatch.setattr("kohort.engine.cycle_context.find_targets", careless)
    with pytest.raises(AssertionError, match="the search left the tree other than it was"):
        play.engine.context.find_targets(
            named(play, "w"), play.engine.store.queues["a"], UsageRequest({FR: CORE}, frozenset({FR}))
        )
