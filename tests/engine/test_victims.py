"""Victims and non-victims: what the golden scenarios leave open (SCH-612 to SCH-640, SCH-722)."""

from typing import Any

import pytest

from engine.scenario_builders import FAIR_SHARING, ScenarioBuilder, configured
from kohort.api.meta import ObjectKey
from kohort.engine.lifecycle.eviction import EvictionCause, evict

Json = Any
BOOST = "kueue.x-k8s.io/priority-boost"


class TestFlatCohort:
    """SCH-614: within its nominal quota a queue takes back from anybody, above it only by priority"""

    def play(self, size: int) -> ScenarioBuilder:
        builder = ScenarioBuilder()
        borrowing = {"reclaimWithinCohort": "Any", "borrowWithinCohort": {"policy": "LowerPriority"}}
        builder.queue("a", 4, preemption=borrowing)
        builder.queue("b", 4)
        builder.running("mighty", 4, "b", priority=100)
        builder.running("meek", 4, "b", priority=-100)
        builder.submit("a1", size, "a")
        return builder.turn()

    def test_within_nominal(self) -> None:
        """SCH-612, SCH-614"""
        assert self.play(4).evicted == {"meek": "InCohortReclamation"}

    def test_above_nominal(self) -> None:
        """SCH-613, SCH-614: nor would both together do, as one of them is mightier"""
        assert self.play(5).evicted == {}
        builder = ScenarioBuilder()
        borrowing = {"reclaimWithinCohort": "Any", "borrowWithinCohort": {"policy": "LowerPriority"}}
        builder.queue("a", 4, preemption=borrowing)
        builder.queue("b", 4)
        builder.running("meek", 6, "b", priority=-100)
        builder.submit("a1", 5, "a")
        assert builder.turn().evicted == {"meek": "InCohortReclaimWhileBorrowing"}

    def test_within_nominal_even_the_mightier(self) -> None:
        """SCH-612, SCH-614"""
        builder = ScenarioBuilder()
        builder.queue("a", 4, preemption={"reclaimWithinCohort": "Any"})
        builder.queue("b", 4)
        builder.running("mighty", 8, "b", priority=100)
        builder.submit("a1", 4, "a")
        assert builder.turn().evicted == {"mighty": "InCohortReclamation"}


def test_already_evicted_workloads_of_any_kind_come_first() -> None:
    """SCH-621: a workload of the own queue before one to reclaim, and nothing new is issued."""
    builder = ScenarioBuilder()
    builder.queue("a", 4, preemption={"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"})
    builder.queue("b", 4)
    builder.running("own", 2, "a")
    builder.running("b1", 4, "b")
    builder.running("b2", 2, "b")
    builder.show(evict(builder.workloads[ObjectKey("ns", "own")], EvictionCause("Preempted", ""), builder.now).workload)
    builder.submit("a1", 2, "a", priority=5)
    assert builder.turn().evicted == {}
    assert builder.waiting["a1"].message.endswith(". Pending the preemption of 1 workload(s)")
    builder.settle()
    assert builder.turn().reserved == ["a1"]


def test_without_borrowing_the_own_quota_must_suffice() -> None:
    """SCH-632: after all that may be taken from others, the rest comes from its own."""
    builder = ScenarioBuilder()
    builder.queue("a", 4, preemption={"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"})
    builder.queue("b", 4)
    builder.running("own", 2, "a")
    builder.running("b1", 6, "b")
    builder.submit("a1", 4, "a", priority=5)
    assert builder.turn().evicted == {"b1": "InCohortReclamation", "own": "InClusterQueue"}


class TestBoost:
    """SCH-210, SCH-640: the only cost of a preemption is the effective priority"""

    def play(self, *, boosts: bool) -> ScenarioBuilder:
        builder = ScenarioBuilder(configured(PriorityBoost=boosts))
        builder.queue("q", 4, preemption={"withinClusterQueue": "LowerPriority"})
        for name, boost in (("older", "-3"), ("newer", "0")):
            manifest = builder.workload(name, 2, "q")
            manifest["metadata"]["annotations"] = {BOOST: boost}
            builder.put(manifest)
            builder.wait(60)
            builder.turn()
        return builder

    @pytest.mark.parametrize(("boosts", "victim"), [(True, "older"), (False, "newer")])
    def test_it_selects_the_victims(self, boosts: bool, victim: str) -> None:
        builder = self.play(boosts=boosts)
        builder.submit("urgent", 2, priority=5)
        assert set(builder.turn().evicted) == {victim}

    @pytest.mark.parametrize(("boost", "evicted"), [("-1", set()), ("0", set()), ("1", {"older"})])
    def test_it_decides_which_workloads_may_preempt(self, boost: str, evicted: set[str]) -> None:
        builder = self.play(boosts=True)
        manifest = builder.workload("w", 2, "q", priority=-3)
        manifest["metadata"]["annotations"] = {BOOST: boost}
        builder.put(manifest)
        assert set(builder.turn().evicted) == evicted

    def test_it_orders_the_candidates(self) -> None:
        builder = self.play(boosts=True)
        builder.queue("p", 2)
        for name, boost in (("plain", "0"), ("boosted", "7"), ("unreadable", "much")):
            manifest = builder.workload(name, 2, "p")
            manifest["metadata"]["annotations"] = {BOOST: boost}
            builder.put(manifest)
        assert builder.turn().reserved == ["boosted"]


@pytest.mark.parametrize("cohorts", ["LM", "ML"])
def test_of_two_cohorts_with_equal_shares_the_first_by_name_is_preempted(cohorts: str) -> None:
    """SCH-722, where Kueue leaves it open: neither the order of arrival decides, nor priority or age of the victims"""
    builder = ScenarioBuilder(configured(FAIR_SHARING))
    builder.queue("a", 4, preemption={"reclaimWithinCohort": "Any"})
    for cohort in cohorts:
        builder.cohort(cohort, parent="R")
        builder.queue(f"of-{cohort}", 0, cohort=cohort)
    builder.running("old", 2, "of-L", priority=9)
    builder.running("new", 2, "of-M", priority=0)
    builder.submit("a1", 2, "a")
    assert builder.turn().evicted == {"old": "InCohortReclamation"}
    assert builder.turn().evicted == {}, "and no other in the next run"
