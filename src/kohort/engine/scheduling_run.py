"""Scheduling runs: cycles of all dirty cohort trees until no further cycle would change anything (SCH-301, SCH-302)."""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import NamedTuple

from kohort.api.meta import ObjectKey
from kohort.engine import cycle
from kohort.engine.cycle import MAX_SCANS, CycleContext, CycleEntry, Head
from kohort.engine.decisions import Decision, KeepPending, RequeueReason
from kohort.engine.hierarchy import HierarchyNode
from kohort.engine.obstacles import find_obstacle
from kohort.engine.pending import PendingState
from kohort.engine.records import ClusterQueueInfo
from kohort.engine.state.competition import competing_queues
from kohort.engine.state.pending_tracking import PendingTracker
from kohort.engine.state.store import EngineStore
from kohort.engine.state.unblocking import Unblocking
from kohort.engine.state.usage_accounting import UsageHistoryTracker

Scan = frozenset[tuple[ObjectKey, tuple[tuple[tuple[str, str], int], ...]]]
"""Progress of each flavor scan (SCH-550); empty when all are complete."""


class TreeCycleResult(NamedTuple):
    """The result of a scheduling cycle of one cohort tree."""

    decisions: list[Decision]
    moved: bool
    """Whether a workload was admitted, evicted or became inadmissible, so that the next cycle differs."""
    scan: Scan


class SchedulingCycle(NamedTuple):
    """One scheduling cycle of every dirty tree: the decisions by the root of the tree."""

    by_tree: dict[HierarchyNode, list[Decision]]

    @property
    def decisions(self) -> list[Decision]:
        """The decisions of all trees."""
        return [decision for decisions in self.by_tree.values() for decision in decisions]


class CycleRunner:
    """Runs cycles on the store."""

    def __init__(
        self,
        store: EngineStore,
        unblocking: Unblocking,
        history: UsageHistoryTracker,
        pending: PendingTracker,
        context: CycleContext,
    ) -> None:
        self._store = store
        self._unblocking = unblocking
        self._history = history
        self._pending = pending
        self._context = context
        self._second_passes: dict[str, list[Head]] = {}
        """Second passes of this run, by ClusterQueue."""

    def cycles(self, clock: Callable[[], datetime]) -> Iterator[SchedulingCycle]:
        """A scheduling run: cycles of all dirty trees until no further cycle would change anything (SCH-301, SCH-302).

        Events may be applied between two cycles; they count from the next one on. A run that is not iterated to its
        end leaves its trees dirty.
        """
        self._start_run(clock())
        scans: dict[HierarchyNode, set[Scan]] = {}
        while trees := self._take_dirty_trees(clock()):
            yield SchedulingCycle({root: self._run_tree(root, tree, scans, clock()) for root, tree in trees})

    def _start_run(self, now: datetime) -> None:
        """Mark the trees dirty in which only time has passed."""
        self._store.hierarchy.refresh()
        self._history.sample_all(now)
        self._unblocking.reactivate(now)
        self._wake_backoffs(now)
        self._take_second_passes(now)

    def _take_dirty_trees(self, now: datetime) -> list[tuple[HierarchyNode, list[ClusterQueueInfo]]]:
        self._store.hierarchy.refresh()
        self._unblocking.reactivate(now)
        dirty, self._store.dirty = self._store.dirty, set()
        return list(self._trees(dirty))

    def _run_tree(
        self, root: HierarchyNode, tree: list[ClusterQueueInfo], scans: dict[HierarchyNode, set[Scan]], now: datetime
    ) -> list[Decision]:
        """Run a cycle of a tree; it stays dirty if the next cycle may differ."""
        made = self._run_once(tree, now)
        if made.moved:
            scans.pop(root, None)
        if made.moved or _can_progress(made.scan, scans.setdefault(root, set())):
            self._store.dirty.add(tree[0].name)
        return made.decisions

    def wake_at(self) -> datetime | None:
        """When a backoff or the delay of a second pass ends next, or past usage is sampled (SCH-223)."""
        store = self._store
        times = [store.pending[name].wake_at() for name in store.backing_off if name in store.pending]
        times += [store.second_passes.wake_at(), self._history.due_at()]
        return min((due for due in times if due is not None), default=None)

    def _take_second_passes(self, now: datetime) -> None:
        """Second passes that are due and still needed; they are among the heads of this run (SCH-230, SCH-271)."""
        for key in self._store.second_passes.take_due(now):
            workload = self._store.workloads[key]
            queue = workload.queue
            if workload.second_pass is None or queue is None:
                continue
            if queue.is_active:
                head = Head(workload, queue, second_pass=workload.second_pass)
                self._second_passes.setdefault(queue.name, []).append(head)
                self._store.dirty.add(queue.name)
            else:
                self._store.second_passes.retry(key, now)

    def _wake_backoffs(self, now: datetime) -> None:
        """Add workloads whose backoff has ended to their queues again (SCH-223)."""
        for name in sorted(self._store.backing_off):
            pending = self._store.pending.get(name)
            if pending is not None and pending.wake(now):
                self._store.dirty.add(name)
            if pending is None or pending.wake_at() is None:
                self._store.backing_off.discard(name)

    def _trees(self, names: set[str]) -> Iterator[tuple[HierarchyNode, list[ClusterQueueInfo]]]:
        """Trees of these queues with their roots and active queues; one if they share nodes (SCH-303, TAS-33)."""
        queues = self._store.queues
        seen: set[str] = set()
        for name in sorted(names):
            if name in seen or name not in queues:
                continue
            competing = competing_queues(self._store, queues[name])
            seen.update(competing)
            if competing:
                yield queues[competing[0]].node.top(), [queues[each] for each in competing if queues[each].is_active]

    def _run_once(self, tree: list[ClusterQueueInfo], now: datetime) -> "TreeCycleResult":
        """One cycle of a tree."""
        heads: list[Head] = []
        if self._second_passes:
            heads += [head for queue in tree for head in self._second_passes.pop(queue.name, ())]
        heads += [head for queue in tree if (head := self._head(queue, now)) is not None]
        outcome = cycle.run(heads, self._context, now)
        parked = [self._requeue(entry, now) for entry in outcome.waits]
        moved = outcome.progressed or any(parked)
        if self._store.topology:
            self._note_places([entry for entry in outcome.waits if not (moved and _lost_in_cycle(entry))])
        return TreeCycleResult(outcome.decisions, moved, self._scan(outcome.waits))

    def _head(self, queue: ClusterQueueInfo, now: datetime) -> Head | None:
        pending = self._store.pending[queue.name]
        workload = pending.pop(now)
        if workload is None:
            return None
        return Head(
            workload, queue, pending.is_preemptor(workload), find_obstacle(self._store, workload, queue), pending.pops
        )

    def _requeue(self, entry: CycleEntry, now: datetime) -> bool:
        """Requeue an entry; whether the next cycle may differ: another head, or a new preemptor (SCH-240)."""
        if entry.decision is None:
            return False
        pending = self._store.pending[entry.queue.name]
        pending.requeue(entry.workload, entry.decision.requeue, now, entry.decision.reason)
        self._pending.note_backoff(entry.workload, entry.queue)
        is_new = not entry.head.is_preemptor and pending.is_preemptor(entry.workload)
        return (is_new and self._context.rules.preemptors_first) or self._is_inadmissible(entry)

    def _note_places(self, waits: list[CycleEntry]) -> None:
        """Record which queues capacity of nodes may unblock: those of entries that did not just lack quota (TAS-24)."""
        for entry in waits:
            if entry.decision is not None and not entry.assignment.lacks_quota:
                self._store.pending[entry.queue.name].waits_for_places = True

    def _is_inadmissible(self, entry: CycleEntry) -> bool:
        pending = self._store.pending[entry.queue.name]
        return pending.state_of(entry.workload) is PendingState.INADMISSIBLE

    def _scan(self, entries: list[CycleEntry]) -> "Scan":
        """Progress of all flavor scans, if one of them resumes or restarts in the next cycle (SCH-550)."""
        if not any(entry.is_resumed or entry.goes_on for entry in entries):
            return frozenset()
        found = [(entry.workload.key, entry.workload.progress) for entry in entries]
        return frozenset((key, tuple(each.tried.items()) if each else ()) for key, each in found)


class MergedDecisions:
    """The decisions on one tree in a run."""

    def __init__(self) -> None:
        self._done: list[Decision] = []
        self._waits: dict[ObjectKey, KeepPending] = {}

    def add(self, decisions: list[Decision]) -> None:
        """Add the decisions of a cycle."""
        for decision in decisions:
            if isinstance(decision, KeepPending):
                self._waits[decision.workload] = decision
            else:
                self._waits.pop(decision.workload, None)
                self._done.append(decision)

    def result(self) -> list[Decision]:
        """All decisions, those that keep workloads pending last."""
        return [*self._done, *self._waits.values()]


def _lost_in_cycle(entry: CycleEntry) -> bool:
    """Whether others got what it needed: the next cycle determines what it lacks."""
    return isinstance(entry.decision, KeepPending) and entry.decision.requeue is RequeueReason.FAILED_AFTER_NOMINATION


def _can_progress(scan: Scan, before: set[Scan]) -> bool:
    """Whether resuming the flavor scan can succeed: it restarts at its end, so a run bounds it."""
    if not scan or scan in before or len(before) == MAX_SCANS:
        return False
    before.add(scan)
    return True
