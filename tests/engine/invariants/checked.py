"""An engine that checks itself: the invariants are verified after every event, decision and search."""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime

from engine.invariants.places import overfull_domains, wrong_places
from engine.invariants.queue_membership import misplaced_workloads
from engine.invariants.sums import broken_limits, wrong_cells
from engine.invariants.victims import VictimSearch, wrong_victims
from kohort.api.kueue.v1beta2.workload import Admission
from kohort.engine.assignment import Assignment
from kohort.engine.cycle_context import EngineCycleContext
from kohort.engine.decisions import Decision, Reserve
from kohort.engine.engine import Engine
from kohort.engine.events import EngineEvent
from kohort.engine.pending import PendingState
from kohort.engine.pending.heap import rank_of
from kohort.engine.preemption_policy import PreemptionTarget
from kohort.engine.records import ClusterQueueInfo, WorkloadInfo
from kohort.engine.scheduling_run import SchedulingCycle
from kohort.engine.state.store import EngineStore
from kohort.engine.usage_request import UsageRequest


def check(engine: Engine) -> list[str]:
    """Everything that does not hold between two steps, in words; empty when all is well."""
    return [*wrong_cells(engine), *wrong_places(engine), *misplaced_workloads(engine)]


class CheckedCycleContext(EngineCycleContext):
    """Checks every admission and every search for victims."""

    def reserve(self, workload: WorkloadInfo, assignment: Assignment, admission: Admission, now: datetime) -> None:
        """Count an admission, and check its order and its limits."""
        replaced = workload.takes_over_from.usage if workload.takes_over_from else {}
        gained = {fr: amount - replaced.get(fr, 0) for fr, amount in assignment.full_usage.items()}
        super().reserve(workload, assignment, admission, now)
        queue = self.store.queues[admission.cluster_queue]
        problems = [*broken_limits(self, queue, gained), *overtaken(self.store, workload, queue)]
        if assignment.found is not None:
            problems += overfull_domains(self, workload, assignment.found)
        _insist(f"the admission of {workload.key}", problems)

    def find_targets(
        self, preemptor: WorkloadInfo, queue: ClusterQueueInfo, request: UsageRequest
    ) -> list[PreemptionTarget]:
        """Search for victims, and check them."""
        before, placed = _usages(self.store), self.store.topology.usage.in_use()
        targets = super().find_targets(preemptor, queue, request)
        is_restored = (_usages(self.store), self.store.topology.usage.in_use()) == (before, placed)
        moved = [] if is_restored else ["the search left the tree other than it was"]
        search = VictimSearch(preemptor, queue, request, targets, by_share=self.store.settings.fair is not None)
        _insist(f"the search of {preemptor.key}", [*moved, *wrong_victims(search)])
        return targets


class CheckedEngine(Engine):
    """An engine for tests and debugging that checks all invariants after every step."""

    CONTEXT = CheckedCycleContext

    def apply(self, event: EngineEvent, now: datetime) -> None:
        """Take in an event, and check the state."""
        super().apply(event, now)
        _insist(f"{type(event).__name__}", check(self))

    def cycles(self, clock: Callable[[], datetime]) -> Iterator[SchedulingCycle]:
        """Run cycles, and check the state after each."""
        for cycle in super().cycles(clock):
            self._check_decisions(cycle.decisions)
            yield cycle
        _insist("a scheduling run", check(self))

    def _check_decisions(self, decisions: list[Decision]) -> None:
        halves = [
            problem
            for each in decisions
            if isinstance(each, Reserve)
            for problem in half_admitted(self.store.workloads[each.workload], each)
        ]
        _insist("a cycle", [*halves, *check(self)])


def _insist(occasion: str, problems: Iterable[str]) -> None:
    broken = list(problems)
    if broken:
        raise AssertionError("\n  ".join([f"after {occasion}:", *broken]))


def _usages(store: EngineStore) -> list[int]:
    nodes = (*store.hierarchy.queues.values(), *store.hierarchy.cohorts.values())
    return [cell.usage for node in nodes for cell in node.cells.values()]


def overtaken(store: EngineStore, workload: WorkloadInfo, queue: ClusterQueueInfo) -> Iterator[str]:
    """Workloads of a StrictFIFO queue that stood before one that was admitted (SCH-238)."""
    if not queue.policies.is_strict:
        return
    for other in store.workloads.values():
        if store.pending[queue.name].state_of(other) is PendingState.ACTIVE and rank_of(other) < rank_of(workload):
            yield f"{workload.key} overtook {other.key} in {queue.name}"


def half_admitted(workload: WorkloadInfo, decision: Reserve) -> Iterator[str]:
    """Pod sets with fewer pods than requested or accepted (SCH-351, SCH-562)."""
    assigned = {each.name: each for each in decision.admission.pod_set_assignments}
    if assigned.keys() != {pod_set.name for pod_set in workload.pod_sets}:
        yield f"{workload.key} was admitted with the pod sets {sorted(assigned)}"
        return
    for pod_set in workload.pod_sets:
        least = pod_set.count if pod_set.min_count is None else min(pod_set.min_count, pod_set.count)
        count = assigned[pod_set.name].count
        if count is None or not least <= count <= pod_set.spec_count:
            yield f"{workload.key} was admitted with {count} pods of {pod_set.name}"
