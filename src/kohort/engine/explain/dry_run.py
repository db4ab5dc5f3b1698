"""Dry runs of cycles: for one workload alone, or with the heads of the other queues.

Alone, the verdict is read and not acted on. With other heads, admissions count and are undone after the cycle.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from datetime import datetime
from typing import TYPE_CHECKING

from kohort.api.kueue.v1beta2.workload import Admission
from kohort.engine import cycle
from kohort.engine.assignment import Assignment, FitMode
from kohort.engine.decisions import KeepPending
from kohort.engine.explain.state import obstacle_of
from kohort.engine.hierarchy import CohortNode, HierarchyNode
from kohort.engine.obstacles import find_obstacle
from kohort.engine.pending import PendingState
from kohort.engine.preemption_policy import PreemptionTarget
from kohort.engine.records import NO_PLACES, ClusterQueueInfo, UsageCounter, WorkloadInfo
from kohort.engine.state.competition import competing_queues
from kohort.engine.usage_request import released

if TYPE_CHECKING:
    from kohort.engine.engine import Engine


def run_alone(
    engine: "Engine", workload: WorkloadInfo, queue: ClusterQueueInfo
) -> tuple[cycle.CycleEntry, cycle.EntryVerdict]:
    """The verdict on the workload as the only head, with a flavor scan from the first flavor (SCH-313)."""
    candidate = _copy_of(workload, queue)
    return cycle.evaluate(cycle.Head(candidate, queue, obstacle=obstacle_of(engine, candidate, queue)), engine.context)


def run_second_pass(
    engine: "Engine", workload: WorkloadInfo, queue: ClusterQueueInfo
) -> tuple[cycle.CycleEntry, cycle.EntryVerdict]:
    """The same for the second pass of a workload that holds quota (SCH-270)."""
    head = cycle.Head(_copy_of(workload, queue), queue, second_pass=workload.second_pass)
    return cycle.evaluate(head, engine.context)


def run_with_heads(
    engine: "Engine", workload: WorkloadInfo, queue: ClusterQueueInfo, rivals: Iterable[cycle.Head], now: datetime
) -> KeepPending | None:
    """The decision that keeps the workload pending in a cycle with these heads; None if it is admitted."""
    world, copied = _DryRun(engine), _copy_of(workload, queue)
    pending = engine.store.pending[queue.name]
    mine = cycle.Head(copied, queue, pending.is_preemptor(workload), cycle=pending.pops + 1)
    others = [
        cycle.Head(copy(each.workload), each.queue, each.is_preemptor, each.obstacle, each.cycle) for each in rivals
    ]
    outcome = cycle.run([mine, *others], world, now)
    world.take_back()
    return next((entry.decision for entry in outcome.waits if entry.head is mine), None)


def competing_heads(engine: "Engine", queue: ClusterQueueInfo) -> list[cycle.Head]:
    """The heads of the queues that compete with a queue, as the next cycle would get them (SCH-230)."""
    names = competing_queues(engine.store, queue)
    others = [other for name in names if (other := engine.store.queues[name]).is_active and other is not queue]
    return [head for other in others if (head := _head_of(engine, other)) is not None]


def _head_of(engine: "Engine", queue: ClusterQueueInfo) -> cycle.Head | None:
    pending = engine.store.pending[queue.name]
    if not pending.counts.active:
        return None
    for workload in pending.first(sum(pending.counts)):
        if pending.state_of(workload) is PendingState.ACTIVE:
            obstacle = find_obstacle(engine.store, workload, queue)
            return cycle.Head(workload, queue, pending.is_preemptor(workload), obstacle, pending.pops + 1)
    return None


def _copy_of(workload: WorkloadInfo, queue: ClusterQueueInfo) -> WorkloadInfo:
    copied = copy(workload)
    copied.queue, copied.progress = queue, None
    return copied


def run_without(
    others: Sequence[WorkloadInfo], engine: "Engine", workload: WorkloadInfo, queue: ClusterQueueInfo
) -> Assignment:
    """The verdict on the workload without some others."""
    with _away(others):
        return _searched(engine, workload, queue)


def run_in_empty_tree(engine: "Engine", workload: WorkloadInfo, queue: ClusterQueueInfo) -> Assignment:
    """The verdict on the workload if only the slice that it replaces used anything."""
    with _emptied(engine, queue, _copy_of(workload, queue).takes_over_from):
        return _searched(engine, workload, queue)


def _searched(engine: "Engine", workload: WorkloadInfo, queue: ClusterQueueInfo) -> Assignment:
    """The verdict after the flavor scan has resumed as often as it would in a run (SCH-550)."""
    copied = _copy_of(workload, queue)
    obstacle = obstacle_of(engine, copied, queue)
    first: Assignment | None = None
    for number in range(1, cycle.MAX_SCANS):
        head = cycle.Head(copied, queue, obstacle=obstacle, cycle=number)
        entry, _ = cycle.evaluate(head, engine.context)
        first = first or entry.assignment
        if entry.assignment.mode is FitMode.FIT:
            return entry.assignment
        if not entry.goes_on:
            break
    return first or Assignment([])


@contextmanager
def _away(others: Sequence[WorkloadInfo]) -> Iterator[None]:
    """A tree where some holders neither use anything nor can be preempted."""
    keys = {each.key for each in others}
    holders = {id(each.queue): (each.queue, each.queue.holders) for each in others if each.queue is not None}
    with released(others):
        for queue, held in holders.values():
            queue.holders = {key: each for key, each in held.items() if key not in keys}
        try:
            yield
        finally:
            for queue, held in holders.values():
                queue.holders = held


@contextmanager
def _emptied(engine: "Engine", queue: ClusterQueueInfo, but: WorkloadInfo | None) -> Iterator[None]:
    """Subtract all usage from the counters that the queue shares with others, except that of one workload."""
    if engine.store.topology:
        others = [each for other in engine.store.queues.values() for each in other.holders.values() if each is not but]
        with released(others):
            yield
        return
    cells = [cell for node in _nodes(queue.node.top()) for cell in node.cells.values()]
    before = [(cell, cell.usage, cell.borrowers) for cell in cells]
    for cell in cells:
        cell.usage, cell.borrowers = 0, {}
    if but is not None:
        but.hold()
    try:
        yield
    finally:
        for cell, usage, borrowers in before:
            cell.usage, cell.borrowers = usage, borrowers


def _nodes(node: HierarchyNode) -> Iterator[HierarchyNode]:
    yield node
    for member in node.members() if isinstance(node, CohortNode) else ():
        yield from _nodes(member)


class _DryRun:
    """A cycle context in which admissions count until they are undone, and no eviction is issued."""

    def __init__(self, engine: "Engine") -> None:
        context = engine.context
        self.flavors = context.flavors
        self.eligibility = context.eligibility
        self.rules = context.rules
        self.variants = context.variants
        self.placer = context.placer
        self.find_targets = context.find_targets
        self.pod_set_usage = context.pod_set_usage
        self.waits_for_pods = context.waits_for_pods
        self._queues = engine.store.queues
        self._used: list[tuple[UsageCounter, int]] = []
        self._replaced: list[WorkloadInfo] = []

    def place(self, workload: WorkloadInfo, admission: Admission) -> None:
        """Never called: a dry run has no second passes."""
        raise LookupError(f"{workload.key} got places of {admission.cluster_queue} in a dry run")

    def try_again(self, workload: WorkloadInfo, now: datetime) -> None:
        """Never called: a dry run has no second passes."""
        raise LookupError(f"{workload.key} got a second pass after {now} in a dry run")

    def issue(self, target: PreemptionTarget) -> bool:
        """No eviction is issued."""
        return False

    def reserve(self, workload: WorkloadInfo, assignment: Assignment, admission: Admission, now: datetime) -> None:
        """Count the usage of an admission, without listing the workload among the holders."""
        if (replaced := workload.takes_over_from) is not None:
            replaced.release()
            self._replaced.append(replaced)
        cells = self._queues[admission.cluster_queue].node.cells
        held: dict[UsageCounter, int] = {cells[fr]: amount for fr, amount in assignment.full_usage.items()}
        placed = assignment.found.counters if assignment.found is not None else NO_PLACES
        held.update((counter, pods) for counter, pods in placed.items())
        for counter, amount in held.items():
            counter.use(amount)
            self._used.append((counter, amount))
        workload.queue = None

    def take_back(self) -> None:
        """Restore the usage of the tree."""
        for counter, amount in reversed(self._used):
            counter.free(amount)
        for workload in reversed(self._replaced):
            workload.hold()
