"""The pending workloads of one ClusterQueue: the rules by which they are active, inadmissible or in flight (SCH-203).

Adding, popping, requeueing and reactivating follow the specification; `heaps` makes them cheap.
"""

from collections.abc import Callable, Iterator
from datetime import datetime
from enum import Enum
from itertools import islice
from typing import Final, NamedTuple

from kohort.api.meta import ObjectKey
from kohort.engine.decisions import RequeueReason
from kohort.engine.pending.heap import PendingEntry
from kohort.engine.pending.heaps import PendingHeaps, UsageOf
from kohort.engine.pending.order import PendingOrder, QueuePosition
from kohort.engine.pending.requeue_rules import FAILS_EQUIVALENT, MAKES_PREEMPTOR, REQUEUE_RULES
from kohort.engine.records import NO_END, ClusterQueueInfo, WorkloadInfo

PENDING_EVALUATION: Final = "PendingEvaluation"


class PendingState(Enum):
    """The state of a pending workload (SCH-203)."""

    ACTIVE = "active"
    INADMISSIBLE = "inadmissible"
    IN_FLIGHT = "in flight"


class PendingCounts(NamedTuple):
    """How many workloads are in each state."""

    active: int
    inadmissible: int
    in_flight: int


class PendingPreemptor(NamedTuple):
    """The workload that waits until its victims have stopped, at the evaluated generation (SCH-240)."""

    key: ObjectKey
    generation: int


class PendingQueue:
    """The pending workloads of a ClusterQueue."""

    def __init__(self, queue: ClusterQueueInfo, usage_of: UsageOf | None = None) -> None:
        self.queue = queue
        self.pops = 0
        """How often a head was popped (SCH-231)."""
        self.waits_for_places = False
        """Whether a workload was requeued since the last reactivation that did not just lack quota."""
        self._usage_of = usage_of
        self._entries: dict[ObjectKey, PendingEntry] = {}
        self._heaps = PendingHeaps(usage_of)
        self._in_flight: PendingEntry | None = None
        self._preemptor: PendingPreemptor | None = None
        self._failed: dict[str, str] = {}
        """Equivalence hash to the QuotaReserved reason with which such a workload failed (SCH-251)."""
        self._reactivated_at = -1
        """Value of `pops` at the last reactivation."""
        self._active_with_backoff: dict[ObjectKey, PendingEntry] = {}
        """Active workloads that got a backoff: they stay active (SCH-222) until they become inadmissible."""
        self._order = PendingOrder()

    def order_by(self, usage_of: UsageOf | None) -> None:
        """Set whether past usage of LocalQueues counts (SCH-212a, SCH-809)."""
        if usage_of == self._usage_of:
            return
        self._usage_of = usage_of
        self._heaps.order_by(usage_of)

    # Adding and removing

    def push(self, workload: WorkloadInfo, now: datetime) -> None:
        """Add a new workload, or one with a relevant change (SCH-222)."""
        self.update(workload, now, changed=True)

    def rejoin(self, workload: WorkloadInfo, now: datetime) -> None:
        """Add a workload whose LocalQueue was resumed or now references this queue, even if an equivalent one failed.

        SCH-204 has no exception, and the failure of the equivalent one may be older than the stop of the LocalQueue.
        """
        if workload.key in self._entries or _backs_off(workload, now):
            self.push(workload, now)
            return
        self._order.note(workload)
        self._heaps.make_active(self._new_entry(workload))

    def update(self, workload: WorkloadInfo, now: datetime, *, changed: bool) -> None:
        """Update a workload; `changed` is whether anything of SCH-221 differs from before.

        In flight it is ignored, as the requeue reads the object again (SCH-220). An active workload stays active. An
        inadmissible one stays so unless something changed, or its generation was never evaluated.
        """
        entry = self._entries.get(workload.key)
        if entry is not None and entry is self._in_flight:
            return
        self._order.note(workload)
        if entry is None:
            self._enter(self._new_entry(workload), now)
            return
        entry.workload = workload
        if entry.is_active:
            if (
                not self._heaps.is_in_place(entry)
                or _backs_off(workload, now)
                or workload.key in self._active_with_backoff
            ):
                self._keep_active(entry, now)
        elif changed or entry.evaluated not in (None, workload.generation):
            self._enter(entry, now)
        else:
            self._keep_inadmissible(entry, now)

    def remove(self, workload: WorkloadInfo) -> None:
        """Remove a workload: reserved, finished, deactivated, on hold, moved or deleted (SCH-240)."""
        self._leave(workload.key)
        if self._preemptor is not None and self._preemptor.key == workload.key:
            self._preemptor = None

    def assume(self, workload: WorkloadInfo) -> None:
        """Remove the workload in flight, for which the cycle reserved quota (SCH-350).

        It stays the preemptor until `remove`, because the write may fail (SCH-352).
        """
        if self._in_flight is not None and self._in_flight.workload.key == workload.key:
            self._leave(workload.key)

    def _leave(self, key: ObjectKey) -> None:
        entry = self._entries.pop(key, None)
        if entry is None:
            return
        self._order.forget(key)
        self._active_with_backoff.pop(key, None)
        self._heaps.drop(entry)
        if entry is self._in_flight:
            self._in_flight = None

    def _new_entry(self, workload: WorkloadInfo) -> PendingEntry:
        entry = self._entries[workload.key] = PendingEntry(workload)
        return entry

    def _enter(self, entry: PendingEntry, now: datetime) -> None:
        """SCH-222."""
        if _backs_off(entry.workload, now) or self._is_known_to_fail(entry.workload):
            self._make_inadmissible(entry, now)
        else:
            self._heaps.make_active(entry)

    def _is_known_to_fail(self, workload: WorkloadInfo) -> bool:
        return workload.equivalence in self._failed and not self.queue.policies.is_strict

    def _make_inadmissible(self, entry: PendingEntry, now: datetime) -> None:
        until = entry.workload.backoff_until
        if until is not None and until > now:
            self._heaps.back_off(entry, until)
        else:
            self._heaps.make_inadmissible(entry)

    def _keep_inadmissible(self, entry: PendingEntry, now: datetime) -> None:
        if self._heaps.is_in_place(entry) and not _backs_off(entry.workload, now):
            return
        if self._heaps.is_backing_off(entry):
            self._heaps.back_off(entry, entry.workload.backoff_until or now)
        else:
            self._make_inadmissible(entry, now)

    def _keep_active(self, entry: PendingEntry, now: datetime) -> None:
        self._active_with_backoff.pop(entry.workload.key, None)
        if _backs_off(entry.workload, now):
            self._active_with_backoff[entry.workload.key] = entry
        self._heaps.make_active(entry)

    # Popping

    def pop(self, now: datetime) -> WorkloadInfo | None:
        """Pop the head, which becomes in flight (SCH-230, SCH-231); None while another one is in flight (SCH-203)."""
        if self._in_flight is not None:
            return None
        self.pops += 1
        heaps = self._heaps
        if heaps.backing_off.size:
            self.wake(now)
        entry = heaps.first(self._sticky()) if heaps.active else None
        if entry is None:
            return None
        heaps.take(entry)
        self._active_with_backoff.pop(entry.workload.key, None)
        entry.evaluated = entry.workload.generation
        self._in_flight = entry
        return entry.workload

    def is_preemptor(self, workload: WorkloadInfo) -> bool:
        """Whether the workload, at this generation, is the preemptor that waits for its victims (SCH-241)."""
        return self._preemptor == (workload.key, workload.generation)

    def _sticky(self) -> PendingEntry | None:
        """The workload that comes before all others (SCH-240)."""
        if self._preemptor is None or self.queue.policies.is_strict:
            return None
        return self._entries.get(self._preemptor.key)

    # Requeueing

    def requeue(self, workload: WorkloadInfo, reason: RequeueReason, now: datetime, status_reason: str = "") -> None:
        """Requeue a workload that was not admitted (SCH-236 to SCH-251).

        `status_reason` is its reason of QuotaReserved=False; equivalent workloads get it too (SCH-253). A workload that
        was added again meanwhile keeps its state, unless it may be active at once.
        """
        entry = self._entries.get(workload.key) or self._new_entry(workload)
        if reason in MAKES_PREEMPTOR:
            evaluated = workload.generation if entry.evaluated is None else entry.evaluated
            self._preemptor = PendingPreemptor(workload.key, evaluated)
        self._order.note(workload)
        if entry is self._in_flight:
            self._in_flight = None
        is_inadmissible = self._is_inadmissible(workload, reason)
        if not is_inadmissible and not _backs_off(workload, now):
            entry.workload = workload
            self._heaps.make_active(entry)
        elif entry.heap is not None:
            self.update(workload, now, changed=False)
        else:
            entry.workload = workload
            self._make_inadmissible(entry, now)
            if is_inadmissible and reason in FAILS_EQUIVALENT:
                self._bypass_equivalent(workload.equivalence, now, status_reason)

    def _is_inadmissible(self, workload: WorkloadInfo, reason: RequeueReason) -> bool:
        """SCH-236, with the exceptions of SCH-237."""
        is_inadmissible = (
            REQUEUE_RULES[reason].strict if self.queue.policies.is_strict else REQUEUE_RULES[reason].best_effort
        )
        goes_on = workload.progress is not None and self.queue.goes_on(workload.progress)
        return is_inadmissible and not goes_on and self._reactivated_at < self.pops

    def _bypass_equivalent(self, kind: str, now: datetime, status_reason: str) -> None:
        """Record the failure and make all equivalent workloads inadmissible, at a cost independent of their number."""
        if not kind:
            return
        self._failed[kind] = status_reason or PENDING_EVALUATION
        for entry in [each for each in self._active_with_backoff.values() if each.workload.equivalence == kind]:
            self._make_inadmissible(entry, now)
            del self._active_with_backoff[entry.workload.key]
        self._heaps.make_group_inadmissible(kind)

    def bypass_reason(self, workload: WorkloadInfo) -> str:
        """The reason of a workload that is not evaluated because an equivalent one failed; else empty (SCH-253)."""
        if self.state_of(workload) is not PendingState.INADMISSIBLE:
            return ""
        return self._failed.get(workload.equivalence, "")

    # Reactivating

    def retry(self, now: datetime, belongs: Callable[[str], bool]) -> int:
        """Make inadmissible workloads active again, except where backoff or namespace prevent it (SCH-260, SCH-252).

        `belongs` is whether the ClusterQueue selects a namespace. Returns how many changed.
        """
        self._reactivated_at = self.pops
        self.waits_for_places = False
        self._failed.clear()
        for entry in self._heaps.take_due(now):
            self._heaps.make_inadmissible(entry)
        return self._heaps.reactivate(belongs)

    def wake_at(self) -> datetime | None:
        """When the next backoff ends; None if none ends by time."""
        due = self._heaps.next_backoff_end()
        return None if due == NO_END else due

    def wake(self, now: datetime) -> int:
        """Add workloads again whose backoff has ended; returns how many (SCH-222, SCH-223)."""
        due = self._heaps.take_due(now)
        for entry in due:
            self._enter(entry, now)
        return len(due)

    # Reading

    @property
    def counts(self) -> PendingCounts:
        """How many workloads are in each state."""
        in_flight = 0 if self._in_flight is None else 1
        active = self._heaps.active
        return PendingCounts(active, len(self._entries) - active - in_flight, in_flight)

    def state_of(self, workload: WorkloadInfo) -> PendingState | None:
        """The state of a workload; None if it is not pending here."""
        entry = self._entries.get(workload.key)
        if entry is None:
            return None
        if entry is self._in_flight:
            return PendingState.IN_FLIGHT
        return PendingState.ACTIVE if entry.is_active else PendingState.INADMISSIBLE

    def position_of(self, workload: WorkloadInfo) -> QueuePosition:
        """How many workloads come before this one, or would if it were added now (SCH-213)."""
        return self._order.position_of(workload, self._first_key(), self._usage_of)

    def first(self, number: int) -> list[WorkloadInfo]:
        """The first workloads in order."""
        keys = self._order.keys(self._first_key(), self._usage_of)
        return [self._entries[key].workload for key in islice(keys, number)]

    def _first_key(self) -> ObjectKey | None:
        sticky = self._sticky()
        return sticky.workload.key if sticky else None

    def positions(self) -> Iterator[tuple[ObjectKey, QueuePosition]]:
        """All workloads in the order of SCH-212, with their positions (SCH-213)."""
        seen: dict[ObjectKey, int] = {}
        for index, workload in enumerate(self.first(len(self._entries))):
            before = seen.get(workload.local_queue, 0)
            seen[workload.local_queue] = before + 1
            yield workload.key, QueuePosition(index, before)


def _backs_off(workload: WorkloadInfo, now: datetime) -> bool:
    """SCH-223."""
    return workload.backoff_until is not None and workload.backoff_until > now
