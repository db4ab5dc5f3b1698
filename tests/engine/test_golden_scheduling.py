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
        builder = ScenarioBuilder()
        builder.queue("q", 10, cohort=None, queueingStrategy=strategy)
        for name, size in (("A", 8), ("B", 6), ("C", 2)):
            builder.submit(name, size)
        return builder

    def test_best_effort(self) -> None:
        builder = self.play("BestEffortFIFO")
        assert builder.once().reserved == ["A"]
        assert builder.once().reserved == []
        assert builder.waiting["B"].requeue is RequeueReason.PREEMPTION_NO_CANDIDATES
        assert builder.pending_reason("B") == ("WaitingForQuota", short(CPU, "4"))
        assert builder.once().reserved == ["C"]

    def test_strict(self) -> None:
        builder = self.play("StrictFIFO")
        assert builder.turn().reserved == ["A"]
        assert set(builder.waiting) == {"B"}
        assert "C" not in builder.admitted

    def test_a_run_reaches_what_the_cycles_reach(self) -> None:
        builder = self.play("BestEffortFIFO").turn()
        assert set(builder.admitted) == {"A", "C"}


def test_g02_a_foreign_namespace_steps_aside_even_in_strict_fifo() -> None:
    """SCH-236, SCH-261."""
    builder = ScenarioBuilder()
    builder.queue("q", 10, queueingStrategy="StrictFIFO", namespaceSelector={"matchLabels": {"team": "x"}})
    other = make_namespace("other", team="x")
    builder.put(other)
    builder.put(
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "LocalQueue",
            "metadata": {"name": "q", "namespace": "other"},
            "spec": {"clusterQueue": "q"},
        }
    )
    builder.submit("A", 2)
    builder.submit("B", 2, namespace="other")
    assert builder.once().waiting["A"].requeue is RequeueReason.NAMESPACE_MISMATCH
    assert builder.pending_reason("A")[0] == "Misconfigured"
    assert builder.once().reserved == ["B"]
    builder.put(make_namespace("ns", team="x"))
    assert builder.turn().reserved == ["A"]


class TestG03:
    """Beyond the most that could ever be held (SCH-412, SCH-520)."""

    @pytest.fixture
    def builder(self) -> ScenarioBuilder:
        builder = ScenarioBuilder()
        builder.queue("a", 9, bl=1)
        builder.queue("b", 12)
        return builder

    def test_within_the_borrowing_limit(self, builder: ScenarioBuilder) -> None:
        builder.submit("a1", 10, "a")
        (reserve,) = builder.turn().decisions
        assert isinstance(reserve, Reserve)
        assert (reserve.workload.name, reserve.borrow) == ("a1", 1)
        (flavor,) = builder.engine.read.cluster_queue_status("a").flavors_reservation
        assert [each.borrowed for each in flavor.resources] == ["1"]

    def test_beyond_it(self, builder: ScenarioBuilder) -> None:
        builder.submit("a1", 11, "a")
        builder.turn()
        assert builder.waiting["a1"].requeue is RequeueReason.NO_FIT
        assert builder.pending_reason("a1") == (
            "ExceedsMaxQuota",
            "couldn't assign flavors to pod set main: insufficient quota for cpu in flavor f, previously considered"
            " podsets requests (0) + current podset request (11) > maximum capacity (10)",
        )

    def test_all_of_the_cohort(self, builder: ScenarioBuilder) -> None:
        builder.submit("b1", 21, "b")
        assert builder.turn().reserved == ["b1"]


class TestG04:
    """A guaranteed share is there without preemption (SCH-411, SCH-431, SCH-611)."""

    @pytest.fixture
    def builder(self) -> ScenarioBuilder:
        builder = ScenarioBuilder()
        builder.queue("a", 6, ll=2, **RECLAIM)
        builder.queue("b", 6)
        builder.running("b1", 8, "b")
        return builder

    def test_what_was_never_lent(self, builder: ScenarioBuilder) -> None:
        builder.submit("a1", 4, "a")
        assert builder.turn().reserved == ["a1"]

    def test_more_is_reclaimed(self, builder: ScenarioBuilder) -> None:
        builder.submit("a1", 5, "a")
        assert builder.turn().evicted == {"b1": "InCohortReclamation"}


def test_g05_nominal_beats_priority_across_queues() -> None:
    """SCH-320, SCH-338."""
    builder = ScenarioBuilder()
    builder.queue("a", 4)
    builder.queue("b", 4)
    builder.running("a1", 4, "a")
    builder.submit("a2", 4, "a", priority=100)
    builder.submit("b1", 4, "b")
    assert builder.once().reserved == ["b1"]
    assert builder.waiting["a2"].message == NO_LONGER_FITS
    assert builder.waiting["a2"].requeue is RequeueReason.FAILED_AFTER_NOMINATION


class TestG06:
    """Capacity held for a blocked owner (SCH-334, SCH-340)."""

    def play(self, reclaim: str, strategy: str = "BestEffortFIFO") -> ScenarioBuilder:
        builder = ScenarioBuilder()
        builder.queue("a", 6, preemption={"reclaimWithinCohort": reclaim}, queueingStrategy=strategy)
        builder.queue("b", 6)
        builder.running("a0", 4, "a")
        builder.running("b1", 6, "b")
        builder.submit("a1", 4, "a")
        builder.submit("b2", 2, "b")
        return builder

    @pytest.mark.parametrize("reclaim", ["Never", "LowerPriority"])
    def test_it_is_held_for_one_cycle(self, reclaim: str) -> None:
        builder = self.play(reclaim).once()
        assert builder.reserved == []
        assert builder.waiting["b2"].message == NO_LONGER_FITS
        assert builder.once().reserved == ["b2"]

    def test_an_owner_that_can_reclaim_it_reserves_nothing(self) -> None:
        assert self.play("Any").once().reserved == ["b2"]

    def test_a_strict_head_holds_it_in_every_cycle(self) -> None:
        builder = self.play("Never", "StrictFIFO").turn()
        assert builder.reserved == []
        assert builder.turn().reserved == []


class TestG07:
    """Two borrowers in one cycle (SCH-342)."""

    def play(self, second: int) -> ScenarioBuilder:
        builder = ScenarioBuilder()
        builder.queue("s", 10)
        builder.queue("a", 0)
        builder.queue("b", 0)
        builder.submit("a1", 4, "a")
        builder.submit("b1", second, "b")
        return builder.once()

    def test_both_fit(self) -> None:
        assert self.play(6).reserved == ["a1", "b1"]

    def test_the_second_does_not(self) -> None:
        builder = self.play(7)
        assert builder.reserved == ["a1"]
        assert builder.waiting["b1"].message == NO_LONGER_FITS


def test_g08_unnecessary_victims_are_put_back() -> None:
    """SCH-620, SCH-633."""
    builder = ScenarioBuilder()
    builder.queue("q", 10, **LOWER)
    builder.running("w3", 4, priority=2)
    builder.running("w2", 5, priority=1)
    builder.running("w1", 1, priority=1)
    builder.submit("P", 5, priority=10)
    assert builder.turn().evicted == {"w2": "InClusterQueue"}


@pytest.mark.parametrize(("created", "evicted"), [(5, {"r": "InClusterQueue"}), (15, {})])
def test_g09_newer_of_equal_priority(created: int, evicted: dict[str, str]) -> None:
    """SCH-211, SCH-603."""
    builder = ScenarioBuilder()
    builder.queue("q", 4, preemption={"withinClusterQueue": "LowerOrNewerEqualPriority"})
    builder.running("r", 4, priority=5, at=10)
    builder.submit("P", 4, priority=5, at=created)
    assert builder.turn().evicted == evicted


def test_g09_a_return_does_not_make_anybody_newer() -> None:
    """SCH-211, SCH-603: r was preempted and admitted again, and its creation still decides."""
    builder = ScenarioBuilder()
    builder.queue("q", 4, preemption={"withinClusterQueue": "LowerOrNewerEqualPriority"})
    builder.running("r", 4, priority=5, at=10)
    builder.submit("urgent", 4, priority=9, at=11)
    assert set(builder.turn().evicted) == {"r"}
    builder.settle()
    assert builder.turn().reserved == ["urgent"]
    builder.wait(60)
    builder.finish("ns/urgent")
    assert builder.turn().reserved == ["r"]
    builder.submit("P", 4, priority=5, at=15)
    assert builder.turn().evicted == {}
    builder.submit("Q", 3, priority=5, at=5)
    assert set(builder.turn().evicted) == {"r"}


@pytest.mark.parametrize(("policy", "priority"), [("Any", -10), ("LowerPriority", 50)])
def test_g10_reclaim_is_not_best_fit(policy: str, priority: int) -> None:
    """SCH-620, SCH-633, SCH-635."""
    builder = ScenarioBuilder()
    builder.queue("a", 6, preemption={"reclaimWithinCohort": policy})
    builder.queue("b", 6)
    builder.running("b1", 6, "b")
    builder.running("b2", 4, "b", priority=100)
    builder.submit("a1", 5, "a", priority=priority)
    assert builder.turn().evicted == {"b1": "InCohortReclamation"}


def test_g11_a_donor_stops_at_its_nominal_quota() -> None:
    """SCH-631."""
    builder = ScenarioBuilder()
    builder.queue("a", 8, **RECLAIM)
    builder.queue("b", 2)
    builder.queue("c", 2)
    builder.running("a0", 4, "a")
    for name in ("c1", "c2"):
        builder.running(name, 2, "c")
    for name in ("b1", "b2"):
        builder.running(name, 2, "b")
    builder.submit("a1", 4, "a")
    assert set(builder.turn().evicted) == {"b2", "c2"}


def test_g12_above_nominal_without_borrow_within_cohort() -> None:
    """SCH-441, SCH-522."""
    builder = ScenarioBuilder()
    builder.queue("a", 4, **RECLAIM)
    builder.queue("b", 8)
    builder.running("b1", 6, "b")
    builder.running("b2", 6, "b")
    builder.submit("a1", 6, "a")
    builder.turn()
    assert builder.waiting["a1"].requeue is RequeueReason.NO_FIT
    assert builder.pending_reason("a1") == ("WaitingForQuota", short(CPU, "6"))


class TestG13:
    """Borrowing within the cohort, with a threshold (SCH-603, SCH-613, SCH-630)."""

    def play(self, shared: int) -> ScenarioBuilder:
        builder = ScenarioBuilder()
        borrow = {"policy": "LowerPriority", "maxPriorityThreshold": 100}
        builder.queue("shared", shared)
        builder.queue(
            "std", 0, bl=10, preemption={"reclaimWithinCohort": "LowerPriority", "borrowWithinCohort": borrow}
        )
        builder.queue("be", 0, bl=10)
        builder.running("be1", 6, "be", priority=50)
        builder.running("be2", 4, "be", priority=150)
        return builder

    @pytest.mark.parametrize(
        ("size", "priority", "evicted"),
        [(5, 300, {"be1": "InCohortReclaimWhileBorrowing"}), (7, 300, {}), (5, 40, {})],
    )
    def test_only_those_below_it_go(self, size: int, priority: int, evicted: dict[str, str]) -> None:
        builder = self.play(10)
        builder.submit("std1", size, "std", priority=priority)
        assert builder.turn().evicted == evicted

    def test_a_pending_workload_reserves_what_it_would_borrow(self) -> None:
        """For one cycle (SCH-340), although others could use it at once."""
        builder = self.play(13)
        builder.queue("late", 0)
        builder.submit("std1", 10, "std", priority=300)
        builder.submit("late1", 3, "late")
        assert builder.once().reserved == []
        assert builder.waiting["late1"].message == NO_LONGER_FITS
        assert builder.once().reserved == ["late1"]

    @pytest.mark.parametrize(("size", "reserved"), [(4, ["late1"]), (5, [])])
    def test_but_no_more_than_it_may_borrow(self, size: int, reserved: list[str]) -> None:
        """Of 10 that are free it holds the 6 that its borrowing limit leaves (SCH-340)."""
        builder = self.play(24)
        builder.running("std0", 4, "std")
        builder.queue("late", 0)
        builder.submit("std1", 8, "std", priority=300)
        builder.submit("late1", size, "late")
        assert builder.once().reserved == reserved


def test_g14_reclaim_and_own_queue_together() -> None:
    """SCH-522, SCH-613, SCH-630, SCH-632."""
    builder = ScenarioBuilder()
    builder.queue("a", 6, preemption={"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"})
    builder.queue("b", 6)
    builder.running("aL", 3, "a")
    for name in ("b1", "b2", "b3"):
        builder.running(name, 3, "b")
    builder.submit("a1", 5, "a", priority=10)
    assert builder.turn().evicted == {"b3": "InCohortReclamation", "aL": "InClusterQueue"}
    assignment = builder.waiting["a1"].assignment
    assert assignment is not None
    assert assignment.mode is FitMode.PREEMPT, "not RECLAIM, as one of its own goes too"


class TestG15:
    """Advantage by hierarchy (SCH-441, SCH-611, SCH-612)."""

    @pytest.fixture
    def builder(self) -> ScenarioBuilder:
        builder = ScenarioBuilder()
        builder.cohort("L", parent="R")
        builder.cohort("M", parent="R")
        builder.queue("a", 4, cohort="L", **RECLAIM)
        builder.queue("b", 4, cohort="L")
        builder.queue("c", 4, cohort="M")
        return builder

    def test_another_subtree_loses_borrowed_quota_at_any_priority(self, builder: ScenarioBuilder) -> None:
        for name in ("c1", "c2", "c3"):
            builder.running(name, 4, "c", priority=100)
        builder.submit("a1", 6, "a")
        assert builder.turn().evicted == {"c3": "InCohortReclamation", "c2": "InCohortReclamation"}

    def test_a_subtree_over_its_own_quota_can_reclaim_nothing(self, builder: ScenarioBuilder) -> None:
        for name in ("b1", "b2", "b3"):
            builder.running(name, 4, "b")
        builder.submit("a1", 6, "a")
        builder.turn()
        assert builder.waiting["a1"].requeue is RequeueReason.NO_FIT
        assert builder.pending_reason("a1")[0] == "WaitingForQuota"


class TestG16:
    """Preempt here, or try the next flavor (SCH-540)."""

    def play(self, **fungibility: str) -> ScenarioBuilder:
        builder = ScenarioBuilder()
        groups = [group({"f1": [quota(CPU, 4)], "f2": [quota(CPU, 4)]})]
        builder.queue("q", groups=groups, flavorFungibility=fungibility, **LOWER)
        builder.running("L", 4, flavor="f1")
        builder.submit("H", 4, priority=10)
        return builder.turn()

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
    builder = ScenarioBuilder()
    fungibility = {"whenCanBorrow": borrow, "whenCanPreempt": preempt}
    if preference:
        fungibility["preference"] = preference
    builder.queue(
        "a",
        groups=[group({"f1": [quota(CPU, 0)], "f2": [quota(CPU, 4)]})],
        flavorFungibility=fungibility,
        preemption={"reclaimWithinCohort": reclaim},
    )
    builder.queue("b", groups=[group({"f1": [quota(CPU, 4)], "f2": [quota(CPU, 0)]})])
    builder.running("x", 4, "b", flavor="f2")
    builder.submit("a1", 4, "a")
    builder.turn()
    if chosen == "f1":
        assert builder.admitted["a1"] == {CPU: "f1"}
        assert builder.evicted == {}
    else:
        assert builder.evicted == {"x": "InCohortReclamation"}


class TestG18:
    """Selectors and taints per flavor (SCH-512, SCH-513)."""

    SPOT = {"key": "spot", "operator": "Exists"}

    def considered(self, **pod: Any) -> ScenarioBuilder:
        builder = ScenarioBuilder()
        builder.flavor(
            "spot", nodeLabels={"type": "spot"}, nodeTaints=[{"key": "spot", "value": "true", "effect": "NoSchedule"}]
        )
        builder.flavor("od", nodeLabels={"type": "od"})
        builder.queue("q", groups=[group({"spot": [quota(CPU, 4)], "od": [quota(CPU, 4)]})])
        builder.submit("w", 1, **pod)
        return builder.turn()

    def test_an_untolerated_taint(self) -> None:
        builder = self.considered()
        assert builder.admitted["w"] == {CPU: "od"}
        (reserve,) = builder.decisions
        assert "untolerated taint {spot true NoSchedule <nil>} in flavor spot" in getattr(reserve, "considered", "")

    def test_a_selector_on_labels_of_the_flavor_only(self) -> None:
        builder = self.considered(tolerations=[self.SPOT], nodeSelector={"type": "spot", "zone": "z1"})
        assert builder.admitted["w"] == {CPU: "spot"}

    def test_a_selector_for_the_other_flavor(self) -> None:
        builder = self.considered(tolerations=[self.SPOT], nodeSelector={"type": "od", "zone": "z1"})
        assert builder.admitted["w"] == {CPU: "od"}

    def test_a_term_without_a_relevant_key_voids_the_affinity(self) -> None:
        terms = [
            {"matchExpressions": [{"key": "type", "operator": "In", "values": ["nowhere"]}]},
            {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["z2"]}]},
        ]
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        builder = self.considered(tolerations=[self.SPOT], affinity={"nodeAffinity": required})
        assert builder.admitted["w"] == {CPU: "spot"}


class TestG19:
    """Resource groups (SCH-502, SCH-548)."""

    SIZE = {CPU: 5, "mem": 5}

    def test_one_group_needs_one_flavor_for_all(self) -> None:
        builder = ScenarioBuilder()
        flavors = {"f1": [quota(CPU, 10), quota("mem", 4)], "f2": [quota(CPU, 4), quota("mem", 10)]}
        builder.queue("q", groups=[group(flavors)])
        builder.submit("w", self.SIZE)
        builder.turn()
        assert builder.pending_reason("w")[0] == "ExceedsMaxQuota"
        assert builder.admitted == {}

    def test_two_groups_choose_apart(self) -> None:
        builder = ScenarioBuilder()
        memory = group({"m1": [quota("mem", 4)], "m2": [quota("mem", 10)]})
        builder.queue("q", groups=[group({"f1": [quota(CPU, 10)]}), memory])
        builder.submit("w", self.SIZE)
        assert builder.turn().admitted["w"] == {CPU: "f1", "mem": "m2"}


def test_g21_partial_admission() -> None:
    """SCH-561."""
    builder = ScenarioBuilder()
    builder.queue("q", 7)
    builder.submit("w", 1, count=10, min_count=3)
    builder.turn()
    assert builder.admitted
    (workload,) = builder.workloads.values()
    assert workload.status.admission is not None
    assert workload.status.admission.pod_set_assignments[0].count == 7


def test_g21_full_size_by_preemption_comes_before_fewer_pods() -> None:
    """SCH-561."""
    builder = ScenarioBuilder()
    builder.queue("q", 10, **LOWER)
    builder.running("L", 3)
    builder.submit("w", 1, count=10, min_count=3, priority=5)
    assert builder.turn().evicted == {"L": "InClusterQueue"}


class TestG22:
    """Overlapping victims (SCH-331, SCH-336, SCH-337)."""

    def play(self, recomputes: bool, *victims: tuple[str, int]) -> ScenarioBuilder:
        builder = ScenarioBuilder(configured(RecomputeAssignmentUponPreemptionTargetsOverlap=recomputes))
        for name in "abc":
            builder.queue(name, 4, **RECLAIM)
        for name, size in victims:
            builder.running(name, size, "c")
        builder.submit("a1", 4, "a")
        builder.submit("b1", 4, "b")
        return builder

    def test_the_second_finds_another_victim(self) -> None:
        builder = self.play(True, ("c1", 4), ("c2", 4), ("c3", 4)).once()
        assert builder.evicted == {"c3": "InCohortReclamation", "c2": "InCohortReclamation"}

    def test_without_the_gate_it_is_skipped(self) -> None:
        builder = self.play(False, ("c1", 4), ("c2", 4), ("c3", 4)).once()
        assert set(builder.evicted) == {"c3"}
        assert builder.waiting["b1"].message == "Workload has overlapping preemption targets with another workload"

    def test_one_victim_for_both(self) -> None:
        builder = self.play(True, ("c1", 12)).once()
        assert set(builder.evicted) == {"c1"}
        assert builder.waiting["b1"].reason == "WaitingForPreemptedWorkloads"
        assert builder.waiting["b1"].requeue is RequeueReason.PENDING_PREEMPTION
        assert builder.turn().evicted == {}
        builder.settle()
        assert set(builder.once().reserved) == {"a1", "b1"}


class TestG23:
    """Equivalence classes (SCH-251, SCH-252)."""

    def play(self, strategy: str) -> ScenarioBuilder:
        builder = ScenarioBuilder()
        builder.queue("q", 10, queueingStrategy=strategy)
        builder.running("R0", 6)
        for name in ("A1", "A2", "A3"):
            builder.submit(name, 6)
        builder.submit("S", 2)
        return builder

    def test_equivalents_of_a_failed_workload_are_not_evaluated(self) -> None:
        builder = self.play("BestEffortFIFO")
        assert set(builder.once().waiting) == {"A1"}
        assert builder.once().reserved == ["S"]
        builder.submit("A4", 6)
        assert builder.turn().waiting == {}
        builder.finish("ns/R0")
        assert builder.once().reserved == ["A1"]
        assert set(builder.turn().waiting) == {"A2"}

    def test_a_strict_head_blocks(self) -> None:
        builder = self.play("StrictFIFO").turn()
        assert "S" not in builder.admitted


class TestG24:
    """The preemptor that waits for its victim (SCH-240, SCH-650, SCH-653)."""

    def play(self, strategy: str) -> ScenarioBuilder:
        builder = ScenarioBuilder()
        builder.queue("q", 10, queueingStrategy=strategy, **LOWER)
        builder.running("L", 10)
        builder.submit("P", 10, priority=5)
        assert set(builder.turn().evicted) == {"L"}
        builder.submit("H", 10, priority=9)
        assert builder.turn().evicted == {}
        builder.settle()
        return builder.turn()

    def test_it_stays_in_front_in_best_effort(self) -> None:
        builder = self.play("BestEffortFIFO")
        assert "P" in builder.reserved
        assert set(builder.evicted) == {"P"}

    def test_a_higher_priority_comes_first_in_strict_fifo(self) -> None:
        assert self.play("StrictFIFO").reserved == ["H"]


class TestG43:
    """The scan of flavors continues where it was (SCH-550 to SCH-555)."""

    def play(self, **gates: bool) -> ScenarioBuilder:
        builder = ScenarioBuilder(configured(**gates))
        builder.queue("a", groups=[group({"f1": [quota(CPU, 0)], "f2": [quota(CPU, 4)]})])
        builder.queue("b", groups=[group({"f1": [quota(CPU, 4)], "f2": [quota(CPU, 0)]})])
        builder.submit("a1", 4, "a")
        builder.submit("b1", 4, "b")
        assert builder.once().reserved == ["b1"]
        assert builder.waiting["a1"].message == NO_LONGER_FITS
        return builder.once()

    def test_the_next_cycle_starts_at_the_next_flavor(self) -> None:
        builder = self.play()
        assert builder.admitted["a1"] == {CPU: "f2"}
        assert [getattr(each, "considered", None) for each in builder.decisions] == [""]

    def test_without_the_gate_it_starts_anew(self) -> None:
        builder = self.play(FlavorFungibilityPreserveScanProgress=False)
        assert builder.admitted["a1"] == {CPU: "f2"}
        assert [getattr(each, "considered", None) for each in builder.decisions] == [
            "main: f1(NoFit;borrow=1;insufficient unused quota for cpu in flavor f1, 4 more needed)"
        ]


class TestG44:
    """Debt (SCH-431, SCH-434), as in Example C."""

    def play(self, reclaim: str, priority: int = 0) -> ScenarioBuilder:
        builder = ScenarioBuilder()
        builder.queue("a", 4)
        builder.queue("b", 4)
        builder.running("a1", 7, "a")
        builder.queue("b", 1, preemption={"reclaimWithinCohort": reclaim})
        builder.submit("b1", 1, "b", priority=priority)
        return builder.turn()

    def test_it_is_reclaimed(self) -> None:
        assert set(self.play("Any").evicted) == {"a1"}

    def test_it_is_reclaimed_by_priority_where_the_policy_requires_that(self) -> None:
        assert self.play("LowerPriority").evicted == {}
        assert set(self.play("LowerPriority", priority=1).evicted) == {"a1"}

    def test_it_blocks_without_reclaim(self) -> None:
        builder = self.play("Never")
        assert builder.pending_reason("b1") == ("WaitingForQuota", short(CPU, "1"))


@pytest.mark.parametrize("preference", ["BorrowingOverPreemption", "PreemptionOverBorrowing"])
def test_g45_mixed_modes_in_one_flavor(preference: str) -> None:
    """SCH-531: the worst mode counts, for any preference."""
    builder = ScenarioBuilder()
    fungibility = {"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "TryNextFlavor", "preference": preference}
    builder.queue(
        "a", groups=[group({"f": [quota(CPU, 0), quota("memory", 4)]})], flavorFungibility=fungibility, **RECLAIM
    )
    builder.queue("b", groups=[group({"f": [quota(CPU, 4), quota("memory", 0)]})])
    builder.running("x", {"memory": 4}, "b")
    builder.submit("a1", {CPU: 2, "memory": 2}, "a")
    builder.turn()
    assert builder.evicted == {}
    assert builder.pending_reason("a1") == ("WaitingForQuota", short("memory", "2"))
