"""Golden scenarios G01 to G24 and G43 to G45 of the specification: classical scheduling."""

from typing import Any

import pytest

from engine.scenario_builders import CPU, ScenarioBuilder, configured, group, quota
from kit.builders.core import make_namespace
from kohort.engine.assignment import FitMode
from kohort.engine.decisions import RequeueReason, Reserve

LOWER: Any = {"preemption": {"withinClusterQueue": "LowerPriority"}}
RECLAIM: Any = {"preemption": {"reclaimWithinCohort": "Any"}}
NO_LONGER_FITS = "Workload no longer fits after processing another workload"


def short(resource: str, needed: str, flavor: str = "f") -> str:
    return (
        f"couldn't assign flavors to pod set main: insufficient unused quota for {resource} in flavor {flavor},"
        f" {needed} more needed"
    )


class TestG01:
    """BestEffortFIFO skips a blocked head, StrictFIFO does not (SCH-236, SCH-238, SCH-522, SCH-523)."""

    def play(self, strategy: str) -> ScenarioBuilder:
        play = ScenarioBuilder()
        play.queue("q", 10, cohort=None, queueingStrategy=strategy)
        for name, size in (("A", 8), ("B", 6), ("C", 2)):
            play.submit(name, size)
        return play

    def test_best_effort(self) -> None:
        play = self.play("BestEffortFIFO")
        assert play.once().reserved == ["A"]
        assert play.once().reserved == []
        assert play.waiting["B"].requeue is RequeueReason.PREEMPTION_NO_CANDIDATES
        assert play.pending_reason("B") == ("WaitingForQuota", short(CPU, "4"))
        assert play.once().reserved == ["C"]

    def test_strict(self) -> None:
        play = self.play("StrictFIFO")
        assert play.turn().reserved == ["A"]
        assert set(play.waiting) == {"B"}
        assert "C" not in play.admitted

    def test_a_run_reaches_what_the_cycles_reach(self) -> None:
        play = self.play("BestEffortFIFO").turn()
        assert set(play.admitted) == {"A", "C"}


def test_g02_a_foreign_namespace_steps_aside_even_in_strict_fifo() -> None:
    """SCH-236, SCH-261."""
    play = ScenarioBuilder()
    play.queue("q", 10, queueingStrategy="StrictFIFO", namespaceSelector={"matchLabels": {"team": "x"}})
    other = make_namespace("other", team="x")
    play.put(other)
    play.put(
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "LocalQueue",
            "metadata": {"name": "q", "namespace": "other"},
            "spec": {"clusterQueue": "q"},
        }
    )
    play.submit("A", 2)
    play.submit("B", 2, namespace="other")
    assert play.once().waiting["A"].requeue is RequeueReason.NAMESPACE_MISMATCH
    assert play.pending_reason("A")[0] == "Misconfigured"
    assert play.once().reserved == ["B"]
    play.put(make_namespace("ns", team="x"))
    assert play.turn().reserved == ["A"]


class TestG03:
    """Beyond the most that could ever be held (SCH-412, SCH-520)."""

    @pytest.fixture
    def play(self) -> ScenarioBuilder:
        play = ScenarioBuilder()
        play.queue("a", 9, bl=1)
        play.queue("b", 12)
        return play

    def test_within_the_borrowing_limit(self, play: ScenarioBuilder) -> None:
        play.submit("a1", 10, "a")
        (reserve,) = play.turn().decisions
        assert isinstance(reserve, Reserve)
        assert (reserve.workload.name, reserve.borrow) == ("a1", 1)
        (flavor,) = play.engine.read.cluster_queue_status("a").flavors_reservation
        assert [each.borrowed for each in flavor.resources] == ["1"]

    def test_beyond_it(self, play: ScenarioBuilder) -> None:
        play.submit("a1", 11, "a")
        play.turn()
        assert play.waiting["a1"].requeue is RequeueReason.NO_FIT
        assert play.pending_reason("a1") == (
            "ExceedsMaxQuota",
            "couldn't assign flavors to pod set main: insufficient quota for cpu in flavor f, previously considered"
            " podsets requests (0) + current podset request (11) > maximum capacity (10)",
        )

    def test_all_of_the_cohort(self, play: ScenarioBuilder) -> None:
        play.submit("b1", 21, "b")
        assert play.turn().reserved == ["b1"]


class TestG04:
    """A guaranteed share is there without preemption (SCH-411, SCH-431, SCH-611)."""

    @pytest.fixture
    def play(self) -> ScenarioBuilder:
        play = ScenarioBuilder()
        play.queue("a", 6, ll=2, **RECLAIM)
        play.queue("b", 6)
        play.running("b1", 8, "b")
        return play

    def test_what_was_never_lent(self, play: ScenarioBuilder) -> None:
        play.submit("a1", 4, "a")
        assert play.turn().reserved == ["a1"]

    def test_more_is_reclaimed(self, play: ScenarioBuilder) -> None:
        play.submit("a1", 5, "a")
        assert play.turn().evicted == {"b1": "InCohortReclamation"}


def test_g05_nominal_beats_priority_across_queues() -> None:
    """SCH-320, SCH-338."""
    play = ScenarioBuilder()
    play.queue("a", 4)
    play.queue("b", 4)
    play.running("a1", 4, "a")
    play.submit("a2", 4, "a", priority=100)
    play.submit("b1", 4, "b")
    assert play.once().reserved == ["b1"]
    assert play.waiting["a2"].message == NO_LONGER_FITS
    assert play.waiting["a2"].requeue is RequeueReason.FAILED_AFTER_NOMINATION


class TestG06:
    """Capacity held for a blocked owner (SCH-334, SCH-340)."""

    def play(self, reclaim: str, strategy: str = "BestEffortFIFO") -> ScenarioBuilder:
        play = ScenarioBuilder()
        play.queue("a", 6, preemption={"reclaimWithinCohort": reclaim}, queueingStrategy=strategy)
        play.queue("b", 6)
        play.running("a0", 4, "a")
        play.running("b1", 6, "b")
        play.submit("a1", 4, "a")
        play.submit("b2", 2, "b")
        return play

    @pytest.mark.parametrize("reclaim", ["Never", "LowerPriority"])
    def test_it_is_held_for_one_cycle(self, reclaim: str) -> None:
        play = self.play(reclaim).once()
        assert play.reserved == []
        assert play.waiting["b2"].message == NO_LONGER_FITS
        assert play.once().reserved == ["b2"]

    def test_an_owner_that_can_reclaim_it_reserves_nothing(self) -> None:
        assert self.play("Any").once().reserved == ["b2"]

    def test_a_strict_head_holds_it_in_every_cycle(self) -> None:
        play = self.play("Never", "StrictFIFO").turn()
        assert play.reserved == []
        assert play.turn().reserved == []


class TestG07:
    """Two borrowers in one cycle (SCH-342)."""

    def play(self, second: int) -> ScenarioBuilder:
        play = ScenarioBuilder()
        play.queue("s", 10)
        play.queue("a", 0)
        play.queue("b", 0)
        play.submit("a1", 4, "a")
        play.submit("b1", second, "b")
        return play.once()

    def test_both_fit(self) -> None:
        assert self.play(6).reserved == ["a1", "b1"]

    def test_the_second_does_not(self) -> None:
        play = self.play(7)
        assert play.reserved == ["a1"]
        assert play.waiting["b1"].message == NO_LONGER_FITS


def test_g08_unnecessary_victims_are_put_back() -> None:
    """SCH-620, SCH-633."""
    play = ScenarioBuilder()
    play.queue("q", 10, **LOWER)
    play.running("w3", 4, priority=2)
    play.running("w2", 5, priority=1)
    play.running("w1", 1, priority=1)
    play.submit("P", 5, priority=10)
    assert play.turn().evicted == {"w2": "InClusterQueue"}


@pytest.mark.parametrize(("created", "evicted"), [(5, {"r": "InClusterQueue"}), (15, {})])
def test_g09_newer_of_equal_priority(created: int, evicted: dict[str, str]) -> None:
    """SCH-211, SCH-603."""
    play = ScenarioBuilder()
    play.queue("q", 4, preemption={"withinClusterQueue": "LowerOrNewerEqualPriority"})
    play.running("r", 4, priority=5, at=10)
    play.submit("P", 4, priority=5, at=created)
    assert play.turn().evicted == evicted


def test_g09_a_return_does_not_make_anybody_newer() -> None:
    """SCH-211, SCH-603: r was preempted and admitted again, and its creation still decides."""
    play = ScenarioBuilder()
    play.queue("q", 4, preemption={"withinClusterQueue": "LowerOrNewerEqualPriority"})
    play.running("r", 4, priority=5, at=10)
    play.submit("urgent", 4, priority=9, at=11)
    assert set(play.turn().evicted) == {"r"}
    play.settle()
    assert play.turn().reserved == ["urgent"]
    play.wait(60)
    play.finish("ns/urgent")
    assert play.turn().reserved == ["r"]
    play.submit("P", 4, priority=5, at=15)
    assert play.turn().evicted == {}
    play.submit("Q", 3, priority=5, at=5)
    assert set(play.turn().evicted) == {"r"}


@pytest.mark.parametrize(("policy", "priority"), [("Any", -10), ("LowerPriority", 50)])
def test_g10_reclaim_is_not_best_fit(policy: str, priority: int) -> None:
    """SCH-620, SCH-633, SCH-635."""
    play = ScenarioBuilder()
    play.queue("a", 6, preemption={"reclaimWithinCohort": policy})
    play.queue("b", 6)
    play.running("b1", 6, "b")
    play.running("b2", 4, "b", priority=100)
    play.submit("a1", 5, "a", priority=priority)
    assert play.turn().evicted == {"b1": "InCohortReclamation"}


def test_g11_a_donor_stops_at_its_nominal_quota() -> None:
    """SCH-631."""
    play = ScenarioBuilder()
    play.queue("a", 8, **RECLAIM)
    play.queue("b", 2)
    play.queue("c", 2)
    play.running("a0", 4, "a")
    for name in ("c1", "c2"):
        play.running(name, 2, "c")
    for name in ("b1", "b2"):
        play.running(name, 2, "b")
    play.submit("a1", 4, "a")
    assert set(play.turn().evicted) == {"b2", "c2"}


def test_g12_above_nominal_without_borrow_within_cohort() -> None:
    """SCH-441, SCH-522."""
    play = ScenarioBuilder()
    play.queue("a", 4, **RECLAIM)
    play.queue("b", 8)
    play.running("b1", 6, "b")
    play.running("b2", 6, "b")
    play.submit("a1", 6, "a")
    play.turn()
    assert play.waiting["a1"].requeue is RequeueReason.NO_FIT
    assert play.pending_reason("a1") == ("WaitingForQuota", short(CPU, "6"))


class TestG13:
    """Borrowing within the cohort, with a threshold (SCH-603, SCH-613, SCH-630)."""

    def play(self, shared: int) -> ScenarioBuilder:
        play = ScenarioBuilder()
        borrow = {"policy": "LowerPriority", "maxPriorityThreshold": 100}
        play.queue("shared", shared)
        play.queue("std", 0, bl=10, preemption={"reclaimWithinCohort": "LowerPriority", "borrowWithinCohort": borrow})
        play.queue("be", 0, bl=10)
        play.running("be1", 6, "be", priority=50)
        play.running("be2", 4, "be", priority=150)
        return play

    @pytest.mark.parametrize(
        ("size", "priority", "evicted"),
        [(5, 300, {"be1": "InCohortReclaimWhileBorrowing"}), (7, 300, {}), (5, 40, {})],
    )
    def test_only_those_below_it_go(self, size: int, priority: int, evicted: dict[str, str]) -> None:
        play = self.play(10)
        play.submit("std1", size, "std", priority=priority)
        assert play.turn().evicted == evicted

    def test_a_pending_workload_reserves_what_it_would_borrow(self) -> None:
        """For one cycle (SCH-340), although others could use it at once."""
        play = self.play(13)
        play.queue("late", 0)
        play.submit("std1", 10, "std", priority=300)
        play.submit("late1", 3, "late")
        assert play.once().reserved == []
        assert play.waiting["late1"].message == NO_LONGER_FITS
        assert play.once().reserved == ["late1"]

    @pytest.mark.parametrize(("size", "reserved"), [(4, ["late1"]), (5, [])])
    def test_but_no_more_than_it_may_borrow(self, size: int, reserved: list[str]) -> None:
        """Of 10 that are free it holds the 6 that its borrowing limit leaves (SCH-340)."""
        play = self.play(24)
        play.running("std0", 4, "std")
        play.queue("late", 0)
        play.submit("std1", 8, "std", priority=300)
        play.submit("late1", size, "late")
        assert play.once().reserved == reserved


def test_g14_reclaim_and_own_queue_together() -> None:
    """SCH-522, SCH-613, SCH-630, SCH-632."""
    play = ScenarioBuilder()
    play.queue("a", 6, preemption={"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"})
    play.queue("b", 6)
    play.running("aL", 3, "a")
    for name in ("b1", "b2", "b3"):
        play.running(name, 3, "b")
    play.submit("a1", 5, "a", priority=10)
    assert play.turn().evicted == {"b3": "InCohortReclamation", "aL": "InClusterQueue"}
    assignment = play.waiting["a1"].assignment
    assert assignment is not None
    assert assignment.mode is FitMode.PREEMPT, "not RECLAIM, as one of its own goes too"


class TestG15:
    """Advantage by hierarchy (SCH-441, SCH-611, SCH-612)."""

    @pytest.fixture
    def play(self) -> ScenarioBuilder:
        play = ScenarioBuilder()
        play.cohort("L", parent="R")
        play.cohort("M", parent="R")
        play.queue("a", 4, cohort="L", **RECLAIM)
        play.queue("b", 4, cohort="L")
        play.queue("c", 4, cohort="M")
        return play

    def test_another_subtree_loses_borrowed_quota_at_any_priority(self, play: ScenarioBuilder) -> None:
        for name in ("c1", "c2", "c3"):
            play.running(name, 4, "c", priority=100)
        play.submit("a1", 6, "a")
        assert play.turn().evicted == {"c3": "InCohortReclamation", "c2": "InCohortReclamation"}

    def test_a_subtree_over_its_own_quota_can_reclaim_nothing(self, play: ScenarioBuilder) -> None:
        for name in ("b1", "b2", "b3"):
            play.running(name, 4, "b")
        play.submit("a1", 6, "a")
        play.turn()
        assert play.waiting["a1"].requeue is RequeueReason.NO_FIT
        assert play.pending_reason("a1")[0] == "WaitingForQuota"


class TestG16:
    """Preempt here, or try the next flavor (SCH-540)."""

    def play(self, **fungibility: str) -> ScenarioBuilder:
        play = ScenarioBuilder()
        groups = [group({"f1": [quota(CPU, 4)], "f2": [quota(CPU, 4)]})]
        play.queue("q", groups=groups, flavorFungibility=fungibility, **LOWER)
        play.running("L", 4, flavor="f1")
        play.submit("H", 4, priority=10)
        return play.turn()

    def test_next_flavor_by_default(self) -> None:
        assert self.play().admitted["H"] == {CPU: "f2"}

    def test_preempt_where_configured(self) -> None:
        assert self.play(whenCanPreempt="MayStopSearch").evicted == {"L": "InClusterQueue"}


@pytest.mark.parametrize(
    ("borrow", "preempt", "preference", "reclaim", "chosen"),
    [
        ("MayStopSearch", "TryNextFlavor", None, "Any", "f1"),
        ("TryNextFlavor", "MayStopSearch", None, "Any", "f2"),
        ("TryNextFlavor", "TryNextFlavor", None, "Any", "f1"),
        ("TryNextFlavor", "TryNextFlavor", "BorrowingOverPreemption", "Any", "f1"),
        ("TryNextFlavor", "TryNextFlavor", "PreemptionOverBorrowing", "Any", "f2"),
        ("TryNextFlavor", "TryNextFlavor", "PreemptionOverBorrowing", "Never", "f1"),
    ],
)
def test_g17_the_fungibility_matrix(borrow: str, preempt: str, preference: Any, reclaim: str, chosen: str) -> None:
    """SCH-530, SCH-540."""
    play = ScenarioBuilder()
    fungibility = {"whenCanBorrow": borrow, "whenCanPreempt": preempt}
    if preference:
        fungibility["preference"] = preference
    play.queue(
        "a",
        groups=[group({"f1": [quota(CPU, 0)], "f2": [quota(CPU, 4)]})],
        flavorFungibility=fungibility,
        preemption={"reclaimWithinCohort": reclaim},
    )
    play.queue("b", groups=[group({"f1": [quota(CPU, 4)], "f2": [quota(CPU, 0)]})])
    play.running("x", 4, "b", flavor="f2")
    play.submit("a1", 4, "a")
    play.turn()
    if chosen == "f1":
        assert play.admitted["a1"] == {CPU: "f1"}
        assert play.evicted == {}
    else:
        assert play.evicted == {"x": "InCohortReclamation"}


class TestG18:
    """Selectors and taints per flavor (SCH-512, SCH-513)."""

    SPOT = {"key": "spot", "operator": "Exists"}

    def considered(self, **pod: Any) -> ScenarioBuilder:
        play = ScenarioBuilder()
        play.flavor(
            "spot", nodeLabels={"type": "spot"}, nodeTaints=[{"key": "spot", "value": "true", "effect": "NoSchedule"}]
        )
        play.flavor("od", nodeLabels={"type": "od"})
        play.queue("q", groups=[group({"spot": [quota(CPU, 4)], "od": [quota(CPU, 4)]})])
        play.submit("w", 1, **pod)
        return play.turn()

    def test_an_untolerated_taint(self) -> None:
        play = self.considered()
        assert play.admitted["w"] == {CPU: "od"}
        (reserve,) = play.decisions
        assert "untolerated taint {spot true NoSchedule <nil>} in flavor spot" in getattr(reserve, "considered", "")

    def test_a_selector_on_labels_of_the_flavor_only(self) -> None:
        play = self.considered(tolerations=[self.SPOT], nodeSelector={"type": "spot", "zone": "z1"})
        assert play.admitted["w"] == {CPU: "spot"}

    def test_a_selector_for_the_other_flavor(self) -> None:
        play = self.considered(tolerations=[self.SPOT], nodeSelector={"type": "od", "zone": "z1"})
        assert play.admitted["w"] == {CPU: "od"}

    def test_a_term_without_a_relevant_key_voids_the_affinity(self) -> None:
        terms = [
            {"matchExpressions": [{"key": "type", "operator": "In", "values": ["nowhere"]}]},
            {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["z2"]}]},
        ]
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        play = self.considered(tolerations=[self.SPOT], affinity={"nodeAffinity": required})
        assert play.admitted["w"] == {CPU: "spot"}


class TestG19:
    """Resource groups (SCH-502, SCH-548)."""

    SIZE = {CPU: 5, "mem": 5}

    def test_one_group_needs_one_flavor_for_all(self) -> None:
        play = ScenarioBuilder()
        flavors = {"f1": [quota(CPU, 10), quota("mem", 4)], "f2": [quota(CPU, 4), quota("mem", 10)]}
        play.queue("q", groups=[group(flavors)])
        play.submit("w", self.SIZE)
        play.turn()
        assert play.pending_reason("w")[0] == "ExceedsMaxQuota"
        assert play.admitted == {}

    def test_two_groups_choose_apart(self) -> None:
        play = ScenarioBuilder()
        memory = group({"m1": [quota("mem", 4)], "m2": [quota("mem", 10)]})
        play.queue("q", groups=[group({"f1": [quota(CPU, 10)]}), memory])
        play.submit("w", self.SIZE)
        assert play.turn().admitted["w"] == {CPU: "f1", "mem": "m2"}


def test_g21_partial_admission() -> None:
    """SCH-561."""
    play = ScenarioBuilder()
    play.queue("q", 7)
    play.submit("w", 1, count=10, min_count=3)
    play.turn()
    assert play.admitted
    (workload,) = play.workloads.values()
    assert workload.status.admission is not None
    assert workload.status.admission.pod_set_assignments[0].count == 7


def test_g21_full_size_by_preemption_comes_before_fewer_pods() -> None:
    """SCH-561."""
    play = ScenarioBuilder()
    play.queue("q", 10, **LOWER)
    play.running("L", 3)
    play.submit("w", 1, count=10, min_count=3, priority=5)
    assert play.turn().evicted == {"L": "InClusterQueue"}


class TestG22:
    """Overlapping victims (SCH-331, SCH-336, SCH-337)."""

    def play(self, recomputes: bool, *victims: tuple[str, int]) -> ScenarioBuilder:
        play = ScenarioBuilder(configured(RecomputeAssignmentUponPreemptionTargetsOverlap=recomputes))
        for name in "abc":
            play.queue(name, 4, **RECLAIM)
        for name, size in victims:
            play.running(name, size, "c")
        play.submit("a1", 4, "a")
        play.submit("b1", 4, "b")
        return play

    def test_the_second_finds_another_victim(self) -> None:
        play = self.play(True, ("c1", 4), ("c2", 4), ("c3", 4)).once()
        assert play.evicted == {"c3": "InCohortReclamation", "c2": "InCohortReclamation"}

    def test_without_the_gate_it_is_skipped(self) -> None:
        play = self.play(False, ("c1", 4), ("c2", 4), ("c3", 4)).once()
        assert set(play.evicted) == {"c3"}
        assert play.waiting["b1"].message == "Workload has overlapping preemption targets with another workload"

    def test_one_victim_for_both(self) -> None:
        play = self.play(True, ("c1", 12)).once()
        assert set(play.evicted) == {"c1"}
        assert play.waiting["b1"].reason == "WaitingForPreemptedWorkloads"
        assert play.waiting["b1"].requeue is RequeueReason.PENDING_PREEMPTION
        assert play.turn().evicted == {}
        play.settle()
        assert set(play.once().reserved) == {"a1", "b1"}


class TestG23:
    """Equivalence classes (SCH-251, SCH-252)."""

    def play(self, strategy: str) -> ScenarioBuilder:
        play = ScenarioBuilder()
        play.queue("q", 10, queueingStrategy=strategy)
        play.running("R0", 6)
        for name in ("A1", "A2", "A3"):
            play.submit(name, 6)
        play.submit("S", 2)
        return play

    def test_equivalents_of_a_failed_workload_are_not_evaluated(self) -> None:
        play = self.play("BestEffortFIFO")
        assert set(play.once().waiting) == {"A1"}
        assert play.once().reserved == ["S"]
        play.submit("A4", 6)
        assert play.turn().waiting == {}
        play.finish("ns/R0")
        assert play.once().reserved == ["A1"]
        assert set(play.turn().waiting) == {"A2"}

    def test_a_strict_head_blocks(self) -> None:
        play = self.play("StrictFIFO").turn()
        assert "S" not in play.admitted


class TestG24:
    """The preemptor that waits for its victim (SCH-240, SCH-650, SCH-653)."""

    def play(self, strategy: str) -> ScenarioBuilder:
        play = ScenarioBuilder()
        play.queue("q", 10, queueingStrategy=strategy, **LOWER)
        play.running("L", 10)
        play.submit("P", 10, priority=5)
        assert set(play.turn().evicted) == {"L"}
        play.submit("H", 10, priority=9)
        assert play.turn().evicted == {}
        play.settle()
        return play.turn()

    def test_it_stays_in_front_in_best_effort(self) -> None:
        play = self.play("BestEffortFIFO")
        assert "P" in play.reserved
        assert set(play.evicted) == {"P"}

    def test_a_higher_priority_comes_first_in_strict_fifo(self) -> None:
        assert self.play("StrictFIFO").reserved == ["H"]


class TestG43:
    """The scan of flavors continues where it was (SCH-550 to SCH-555)."""

    def play(self, **gates: bool) -> ScenarioBuilder:
        play = ScenarioBuilder(configured(**gates))
        play.queue("a", groups=[group({"f1": [quota(CPU, 0)], "f2": [quota(CPU, 4)]})])
        play.queue("b", groups=[group({"f1": [quota(CPU, 4)], "f2": [quota(CPU, 0)]})])
        play.submit("a1", 4, "a")
        play.submit("b1", 4, "b")
        assert play.once().reserved == ["b1"]
        assert play.waiting["a1"].message == NO_LONGER_FITS
        return play.once()

    def test_the_next_cycle_starts_at_the_next_flavor(self) -> None:
        play = self.play()
        assert play.admitted["a1"] == {CPU: "f2"}
        assert [getattr(each, "considered", None) for each in play.decisions] == [""]

    def test_without_the_gate_it_starts_anew(self) -> None:
        play = self.play(FlavorFungibilityPreserveScanProgress=False)
        assert play.admitted["a1"] == {CPU: "f2"}
        assert [getattr(each, "considered", None) for each in play.decisions] == [
            "main: f1(NoFit;borrow=1;insufficient unused quota for cpu in flavor f1, 4 more needed)"
        ]


class TestG44:
    """Debt (SCH-431, SCH-434), as in Example C."""

    def play(self, reclaim: str, priority: int = 0) -> ScenarioBuilder:
        play = ScenarioBuilder()
        play.queue("a", 4)
        play.queue("b", 4)
        play.running("a1", 7, "a")
        play.queue("b", 1, preemption={"reclaimWithinCohort": reclaim})
        play.submit("b1", 1, "b", priority=priority)
        return play.turn()

    def test_it_is_reclaimed(self) -> None:
        assert set(self.play("Any").evicted) == {"a1"}

    def test_it_is_reclaimed_by_priority_where_the_policy_requires_that(self) -> None:
        assert self.play("LowerPriority").evicted == {}
        assert set(self.play("LowerPriority", priority=1).evicted) == {"a1"}

    def test_it_blocks_without_reclaim(self) -> None:
        play = self.play("Never")
        assert play.pending_reason("b1") == ("WaitingForQuota", short(CPU, "1"))


@pytest.mark.parametrize("preference", ["BorrowingOverPreemption", "PreemptionOverBorrowing"])
def test_g45_mixed_modes_in_one_flavor(preference: str) -> None:
    """SCH-531: the worst mode counts, for any preference."""
    play = ScenarioBuilder()
    fungibility = {"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "TryNextFlavor", "preference": preference}
    play.queue(
        "a", groups=[group({"f": [quota(CPU, 0), quota("memory", 4)]})], flavorFungibility=fungibility, **RECLAIM
    )
    play.queue("b", groups=[group({"f": [quota(CPU, 4), quota("memory", 0)]})])
    play.running("x", {"memory": 4}, "b")
    play.submit("a1", {CPU: 2, "memory": 2}, "a")
    play.turn()
    assert play.evicted == {}
    assert play.pending_reason("a1") == ("WaitingForQuota", short("memory", "2"))
