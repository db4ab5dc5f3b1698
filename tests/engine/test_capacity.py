"""A capacity besides quota: every search respects it, and releasing it reactivates workloads that wait for it.

The capacity here is a number of pods per flavor, which all cohort trees share.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
import pytest

from engine.play import CPU, FAIR, Play, configured, group, quota
from kohort.api.meta import ObjectKey
from kohort.engine.assignment import FitMode
from kohort.engine.invariants import CheckedEngine
from kohort.engine.records import PodSetResources, UsageCounter, WorkloadInfo
from kohort.engine.requests.usage import PodSetUsage

TWO_FLAVORS = [group({"f": [quota(CPU, 10)], "g": [quota(CPU, 10)]})]
OWN: Any = {"preemption": {"withinClusterQueue": "LowerPriority"}}
RECLAIM: Any = {"preemption": {"reclaimWithinCohort": "Any"}}


class LimitedCounter:
    """A counter of usage with a limit."""

    __slots__ = ("limit", "name", "usage")

    def __init__(self, name: str, limit: int) -> None:
        self.name = name
        self.limit = limit
        self.usage = 0

    def available(self) -> int:
        return self.limit - self.usage

    def use(self, amount: int) -> None:
        self.usage += amount

    def free(self, amount: int) -> None:
        self.usage -= amount


class CounterRequest(msgspec.Struct, frozen=True):
    """An amount of one counter with a fixed limit."""

    counter: LimitedCounter
    amount: int

    @property
    def problem(self) -> str:
        missing = self.amount - self.counter.available()
        return f"insufficient unused capacity of {self.counter.name}, {missing} more needed"

    def fits(self) -> bool:
        return self.amount <= self.counter.available()

    def could_fit(self) -> bool:
        return self.amount <= self.counter.limit

    def could_fit_without(self, leaving: Sequence[WorkloadInfo]) -> bool:
        return self.amount <= self.counter.available() + sum([each.held.get(self.counter, 0) for each in leaving])

    def use(self) -> None:
        self.counter.use(self.amount)

    def free(self) -> None:
        self.counter.free(self.amount)


class PodLimits:
    """At most so many pods in each flavor."""

    def __init__(self, **limits: int) -> None:
        self.counters = {flavor: LimitedCounter(f"pods of {flavor}", limit) for flavor, limit in limits.items()}

    def requests(
        self, workload: WorkloadInfo, flavor: str, pod_sets: Sequence[PodSetResources]
    ) -> tuple[CounterRequest, ...]:
        counter = self.counters.get(flavor)
        if counter is None:
            return ()
        replaced = workload.takes_over_from
        pods = sum(each.count for each in pod_sets) - (replaced.held.get(counter, 0) if replaced else 0)
        return (CounterRequest(counter, max(0, pods)),)

    def usage(self, pod_sets: Iterable[PodSetUsage]) -> Mapping[UsageCounter, int]:
        held: dict[UsageCounter, int] = {}
        for each in pod_sets:
            for flavor in set(each.flavors.values()) & self.counters.keys():
                held[self.counters[flavor]] = held.get(self.counters[flavor], 0) + each.count
        return held


class LimitedPlay(Play):
    def __init__(self, configuration: Any = None, **limits: int) -> None:
        super().__init__(configured(configuration))
        self.limits = PodLimits(**limits)
        self.engine.store.capacity = self.limits

    def __post_init__(self) -> None:
        self.engine = CheckedEngine(self.settings)

    @property
    def pods(self) -> dict[str, int]:
        return {flavor: counter.usage for flavor, counter in self.limits.counters.items()}


def test_a_workload_whose_quota_fits_waits_for_capacity() -> None:
    play = LimitedPlay(f=3)
    play.queue("q", 10)
    play.submit("first", 1, count=2)
    play.submit("second", 1, count=2)
    play.turn()
    assert play.reserved == ["first"]
    assert "insufficient unused capacity of pods of f, 1 more needed" in play.waiting["second"].message
    play.finish("ns/first")
    assert play.turn().reserved == ["second"]
    assert play.pods == {"f": 2}


def test_the_next_flavor_is_assigned_where_one_lacks_capacity() -> None:
    play = LimitedPlay(f=1, g=4)
    play.queue("q", groups=TWO_FLAVORS)
    play.submit("w", 1, count=2)
    assert play.turn().reserved == ["w"]
    assert play.admitted["w"] == {CPU: "g"}
    assert play.pods == {"f": 0, "g": 2}


def test_pod_sets_of_one_workload_share_the_capacity() -> None:
    play = LimitedPlay(f=3)
    play.queue("q", 10)
    manifest = play.workload("w", 1, "q", count=2)
    manifest["spec"]["podSets"].append({**manifest["spec"]["podSets"][0], "name": "more"})
    play.put(manifest)
    assert play.turn().reserved == []
    assert "1 more needed" in play.waiting["w"].message


def test_partial_admission_finds_the_size_that_the_capacity_admits() -> None:
    play = LimitedPlay(f=3)
    play.queue("q", 10)
    play.submit("w", 1, count=8, min_count=1)
    assert play.turn().reserved == ["w"]
    assert play.pods == {"f": 3}


@pytest.mark.parametrize("configuration", [None, FAIR])
def test_a_preemptor_takes_capacity_from_its_own_queue(configuration: Any) -> None:
    play = LimitedPlay(configuration, f=3)
    play.queue("q", 10, **OWN)
    play.running("big", 1, count=2)
    play.running("small", 1)
    play.submit("high", 1, count=2, priority=1)
    assert play.turn().evicted == {"big": "InClusterQueue"}
    assert play.reserved == []
    play.settle()
    assert play.turn().reserved == ["high"]
    assert play.pods == {"f": 3}


@pytest.mark.parametrize("configuration", [None, FAIR])
def test_a_preemptor_takes_capacity_from_borrowers(configuration: Any) -> None:
    play = LimitedPlay(configuration, f=4)
    play.queue("a", 8, **RECLAIM)
    play.queue("b", 2)
    play.running("x", 1, "b", count=2)
    play.running("y", 1, "b", count=2)
    play.submit("w", 1, "a", count=1)
    assert set(play.turn().evicted) == {"y"}
    play.settle()
    assert play.turn().reserved == ["w"]


def test_capacity_that_another_tree_uses_is_not_preempted() -> None:
    play = LimitedPlay(f=2)
    play.queue("a", 8, cohort="A", preemption={"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"})
    play.queue("b", 8, cohort="B")
    play.running("x", 1, "b", count=2)
    play.submit("w", 1, "a", priority=5)
    assert not play.turn().evicted
    assert play.waiting["w"].assignment is not None
    assert play.waiting["w"].assignment.mode is FitMode.NO_CANDIDATES


def test_heads_of_two_queues_do_not_get_the_same_capacity() -> None:
    play = LimitedPlay(f=1)
    play.queue("a", 4)
    play.queue("b", 4)
    play.submit("first", 1, "a")
    play.submit("second", 1, "b")
    play.once()
    assert play.reserved == ["first"]
    assert play.waiting["second"].message == "Workload no longer fits after processing another workload"


def test_what_a_preemptor_waits_for_is_held_from_other_heads() -> None:
    play = LimitedPlay(f=2)
    play.queue("a", 4, **OWN)
    play.queue("b", 4)
    play.running("low", 1, "a", count=1)
    play.submit("high", 1, "a", count=2, priority=1)
    play.submit("other", 1, "b")
    assert set(play.once().evicted) == {"low"}
    assert play.reserved == []


def test_a_failed_write_releases_the_capacity() -> None:
    play = LimitedPlay(f=2)
    play.queue("q", 4)
    play.submit("w", 1, count=2)
    play.conflict("ns/w")
    assert play.turn().reserved == ["w"]
    assert play.pods == {"f": 0}
    assert play.turn().reserved == ["w"]
    assert play.pods == {"f": 2}


def test_explain_names_the_capacity_and_whether_waiting_helps() -> None:
    play = LimitedPlay(f=2)
    play.queue("q", 10)
    play.running("x", 1, count=2)
    play.submit("waits", 1)
    play.submit("never", 1, count=3)
    play.turn()
    before = play.pods
    waits = play.engine.explain(ObjectKey("ns", "waits"), play.now).evaluation
    never = play.engine.explain(ObjectKey("ns", "never"), play.now).evaluation
    assert waits is not None
    assert never is not None
    assert "1 more needed" in waits.message
    assert waits.never == ()
    assert never.never
    assert play.pods == before


def test_would_fit_respects_the_capacity() -> None:
    play = LimitedPlay(f=2)
    play.queue("q", 10)
    play.running("x", 1)
    pod_sets = play.engine.store.workloads[ObjectKey("ns", "x")].object.spec.pod_sets  # type: ignore[union-attr]
    fitting = play.engine.would_fit(pod_sets, "q", play.now).evaluation
    assert fitting is not None
    assert fitting.is_admitted
    play.running("y", 1)
    lacking = play.engine.would_fit(pod_sets, "q", play.now).evaluation
    assert lacking is not None
    assert not lacking.is_admitted


def test_capacity_released_in_one_tree_reactivates_workloads_of_another() -> None:
    play = LimitedPlay(f=1)
    play.queue("a", 4, cohort="A")
    play.queue("b", 4, cohort="B")
    play.running("x", 1, "b")
    play.submit("w", 1, "a")
    assert play.turn().reserved == []
    assert play.engine.store.pending["a"].counts.inadmissible == 1
    play.finish("ns/x")
    assert play.turn().reserved == ["w"]
