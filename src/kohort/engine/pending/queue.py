"""The pending workloads of one ClusterQueue: the rules by which they are active, in the pool or in flight (SCH-203).

Entering, popping, requeueing and retrying are here as the specification tells them; `shelves` makes them cheap.
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
    """Where a pending workload is (SCH-203)."""

    ACTIVE = "active"
    INADMISSIBLE = "inadmissible"
    IN_FLIGHT = "in flight"


class PendingCounts(NamedTuple):
    """How many workloads are in each place."""

    active: int
    inadmissible: int
    in_flight: int


class PendingPreemptor(NamedTuple):
    """The workload that waits for its victims to leave, as it was when it was evaluated (SCH-240)."""

    key: ObjectKey
    generation: int


class PendingQueue:
    """The workloads that wait in a ClusterQueue."""

    def __init__(self, queue: ClusterQueueInfo, usage_of: UsageOf | None = None) -> None:
        self.queue = queue
        self.pops = 0
        """How often a head was asked for (SCH-231)."""
        self._usage_of = usage_of
        self._entries: dict[ObjectKey, PendingEntry] = {}
        self._heaps = PendingHeaps(usage_of)
        self._in_flight: PendingEntry | None = None
        self._preemptor: PendingPreemptor | None = None
        self._failed: dict[str, str] = {}
        """Equivalence to the QuotaReserved reason with which one of that kind failed (SCH-251)."""
        self._reactivated_at = -1
        """Value of `pops` when the pool was last retried."""
        self._active_with_backoff: dict[ObjectKey, PendingEntry] = {}
        """Active workloads that got a backoff while active: they keep their place (SCH-222), but not in the pool."""
        self._order = PendingOrder()

    def order_by(self, usage_of: UsageOf | None) -> None:
        """Put LocalQueues that used less first from now on, or stop doing so (SCH-212a, SCH-809)."""
        if usage_of == self._usage_of:
            return
        self._usage_of = usage_of
        self._heaps.order_by(usage_of)

    # Entering and leaving

    def push(self, workload: WorkloadInfo, now: datetime) -> None:
        """Take in a workload that is new here, or one about which something that matters changed (SCH-222)."""
        self.update(workload, now, changed=True)

    def rejoin(self, workload: WorkloadInfo, now: datetime) -> None:
        """Take in a workload whose LocalQueue was set free or led here: looked at whatever is known of its equals.

        SCH-204 names no exception, and the failure of an equal one may be older than whatever stopped the LocalQueue.
        """
        if workload.key in self._entries or _backs_off(workload, now):
            self.push(workload, now)
            return
        self._order.note(workload)
        self._heaps.make_active(self._new_entry(workload))

    def update(self, workload: WorkloadInfo, now: datetime, *, changed: bool) -> None:
        """Take over a workload's new state; `changed` says whether anything of SCH-221 differs from before.

        In flight it is ignored, as the requeue reads the object anew (SCH-220). An active workload keeps its place but
        for the order. One in the pool stays there unless something changed, or its generation was never evaluated.
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
        """The workload left the queues: reserved, finished, deactivated, on hold, moved or deleted (SCH-240)."""
        self._leave(workload.key)
        if self._preemptor is not None and self._preemptor.key == workload.key:
            self._preemptor = None

    def assume(self, workload: WorkloadInfo) -> None:
        """The cycle reserved quota for the workload in flight: it waits no longer (SCH-350).

        It is still remembered as preemptor until `remove`, because the write may fail and bring it back (SCH-352).
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
        """Send the head in flight (SCH-230, SCH-231); none as long as another one is in flight (SCH-203)."""
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
        """Whether the workload, as it is now, is the one that waits for its victims to leave (SCH-241)."""
        return self._preemptor == (workload.key, workload.generation)

    def _sticky(self) -> PendingEntry | None:
        """The workload that goes before all others (SCH-240)."""
        if self._preemptor is None or self.queue.policies.is_strict:
            return None
        return self._entries.get(self._preemptor.key)

    # Requeueing

    def requeue(self, workload: WorkloadInfo, reason: RequeueReason, now: datetime, status_reason: str = "") -> None:
        """Put a workload back that was not admitted (SCH-236 to SCH-251).

        `status_reason` is the reason of QuotaReserved=False that it got; equivalent workloads get it too (SCH-253).
        A workload that came back by itself meanwhile stays where it is, unless it may be active at once.
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
        """Remember the failure and put all equal workloads in the pool, at a cost that does not grow with them."""
        if not kind:
            return
        self._failed[kind] = status_reason or PENDING_EVALUATION
        for entry in [each for each in self._active_with_backoff.values() if each.workload.equivalence == kind]:
            self._make_inadmissible(entry, now)
            del self._active_with_backoff[entry.workload.key]
        self._heaps.make_group_inadmissible(kind)

    def bypass_reason(self, workload: WorkloadInfo) -> str:
        """Reason for a workload of the pool that is not looked at because an equal one failed; else empty (SCH-253)."""
        if self.state_of(workload) is not PendingState.INADMISSIBLE:
            return ""
        return self._failed.get(workload.equivalence, "")

    # Retrying

    def retry(self, now: datetime, belongs: Callable[[str], bool]) -> int:
        """Make the pool active again, except where backoff or namespace forbid it (SCH-260, SCH-252).

        `belongs` says whether workloads of a namespace may be in this ClusterQueue. Returns how many moved.
        """
        self._reactivated_at = self.pops
        self._failed.clear()
        for entry in self._heaps.take_due(now):
            self._heaps.make_inadmissible(entry)
        return self._heaps.reactivate(belongs)

    def wake_at(self) -> datetime | None:
        """When the next backoff ends; None where none has an end of its own."""
        due = self._heaps.next_backoff_end()
        return None if due == NO_END else due

    def wake(self, now: datetime) -> int:
        """Let workloads enter anew whose backoff has ended; how many that were (SCH-222, SCH-223)."""
        due = self._heaps.take_due(now)
        for entry in due:
            self._enter(entry, now)
        return len(due)

    # Questions

    @property
    def counts(self) -> PendingCounts:
        """How many workloads are in each place."""
        in_flight = 0 if self._in_flight is None else 1
        active = self._heaps.active
        return PendingCounts(active, len(self._entries) - active - in_flight, in_flight)

    def state_of(self, workload: WorkloadInfo) -> PendingState | None:
        """Where the workload is; None where it is not pending here."""
        entry = self._entries.get(workload.key)
        if entry is None:
            return None
        if entry is self._in_flight:
            return PendingState.IN_FLIGHT
        return PendingState.ACTIVE if entry.is_active else PendingState.INADMISSIBLE

    def position_of(self, workload: WorkloadInfo) -> QueuePosition:
        """How many come before the workload, or would if it came now; found without sorting (SCH-213)."""
        return self._order.position_of(workload, self._first_key(), self._usage_of)

    def first(self, number: int) -> list[WorkloadInfo]:
        """So many from the head of the order; found without sorting."""
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
