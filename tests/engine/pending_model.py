"""The behavior of a pending queue in its simplest form: one dict, sorted for every query."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from kohort.api.meta import ObjectKey
from kohort.engine.decisions import RequeueReason
from kohort.engine.hierarchy import ClusterQueueNode
from kohort.engine.pending import PendingState
from kohort.engine.records import ClusterQueueInfo, FlavorGroup, FlavorScanState, QueuePolicies, WorkloadInfo

START = datetime(2026, 1, 1, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def cluster_queue(*, strict: bool = False) -> ClusterQueueInfo:
    queue = ClusterQueueInfo("q", ClusterQueueNode("q"))
    queue.set_groups((FlavorGroup(("cpu",), ("f1", "f2")),))
    queue.policies = QueuePolicies(is_strict=strict)
    return queue


def workload(
    name: str,
    *,
    priority: int = 0,
    queued: float = 0,
    kind: str = "",
    local_queue: str = "lq",
    namespace: str = "team",
    backoff_until: datetime | None = None,
    generation: int = 1,
    has_more: bool = False,
) -> WorkloadInfo:
    made = WorkloadInfo(ObjectKey(namespace, name), uid=name)
    made.priority = priority
    made.queued_at = at(queued)
    made.equivalence = kind
    made.local_queue = ObjectKey(namespace, local_queue)
    made.backoff_until = backoff_until
    made.generation = generation
    made.progress = FlavorScanState({("main", "cpu"): 0 if has_more else -1}, 0, 0, kind)
    return made


@dataclass
class ModelEntry:
    workload: WorkloadInfo
    place: PendingState
    sleeps_until: datetime | None = None
    evaluated: int | None = None


IMMEDIATE = {
    RequeueReason.FAILED_AFTER_NOMINATION,
    RequeueReason.PENDING_PREEMPTION,
    RequeueReason.PENDING_MIGRATION,
}


class PendingQueueModel:
    def __init__(self, queue: ClusterQueueInfo, usage_of: Callable[[ObjectKey], float] | None = None) -> None:
        self.queue = queue
        self.usage_of = usage_of
        self.rows: dict[ObjectKey, ModelEntry] = {}
        self.failed: dict[str, str] = {}
        self.preemptor: tuple[ObjectKey, int] | None = None
        self.retried = False

    @property
    def is_strict(self) -> bool:
        return self.queue.policies.is_strict

    # In and out

    def update(self, workload: WorkloadInfo, now: datetime, *, changed: bool) -> None:
        row = self.rows.get(workload.key)
        if row is None:
            self.rows[workload.key] = row = ModelEntry(workload, PendingState.INADMISSIBLE)
            self._enter(row, now)
        elif row.place is not PendingState.IN_FLIGHT:
            row.workload = workload
            if row.place is PendingState.ACTIVE:
                return
            if changed or (row.evaluated is not None and row.evaluated != workload.generation):
                self._enter(row, now)
            elif row.sleeps_until or self._backs_off(workload, now):
                row.sleeps_until = workload.backoff_until or now

    def remove(self, key: ObjectKey) -> None:
        self.rows.pop(key, None)
        if self.preemptor is not None and self.preemptor[0] == key:
            self.preemptor = None

    def assume(self, key: ObjectKey) -> None:
        if key in self.rows and self.rows[key].place is PendingState.IN_FLIGHT:
            del self.rows[key]

    def _enter(self, row: ModelEntry, now: datetime) -> None:
        known = row.workload.equivalence in self.failed and not self.is_strict
        if known or self._backs_off(row.workload, now):
            self._park(row, now)
        else:
            row.place, row.sleeps_until = PendingState.ACTIVE, None

    def _park(self, row: ModelEntry, now: datetime) -> None:
        row.place = PendingState.INADMISSIBLE
        row.sleeps_until = row.workload.backoff_until if self._backs_off(row.workload, now) else None

    def _backs_off(self, workload: WorkloadInfo, now: datetime) -> bool:
        return workload.backoff_until is not None and workload.backoff_until > now

    # The cycle

    def pop(self, now: datetime) -> WorkloadInfo | None:
        if any(row.place is PendingState.IN_FLIGHT for row in self.rows.values()):
            return None
        self.retried = False
        self.wake(now)
        waiting = self.ordered(row for row in self.rows.values() if row.place is PendingState.ACTIVE)
        if not waiting:
            return None
        row = self.rows[waiting[0].key]
        row.place = PendingState.IN_FLIGHT
        row.evaluated = row.workload.generation
        return row.workload

    def requeue(self, workload: WorkloadInfo, reason: RequeueReason, now: datetime, status_reason: str) -> None:
        row = self.rows.setdefault(workload.key, ModelEntry(workload, PendingState.IN_FLIGHT))
        if reason in (RequeueReason.PENDING_PREEMPTION, RequeueReason.PENDING_MIGRATION):
            self.preemptor = (workload.key, workload.generation if row.evaluated is None else row.evaluated)
        immediate = reason in IMMEDIATE or (self.is_strict and reason is not RequeueReason.NAMESPACE_MISMATCH)
        immediate = immediate or self.retried or (workload.progress is not None and workload.progress.has_more)
        if immediate and not self._backs_off(workload, now):
            row.workload, row.place, row.sleeps_until = workload, PendingState.ACTIVE, None
        elif row.place is PendingState.IN_FLIGHT:
            row.workload = workload
            self._park(row, now)
            if not immediate and reason in (RequeueReason.NO_FIT, RequeueReason.PREEMPTION_NO_CANDIDATES):
                self._bypass(workload.equivalence, status_reason, now)
        else:
            self.update(workload, now, changed=False)

    def _bypass(self, kind: str, status_reason: str, now: datetime) -> None:
        if kind and not self.is_strict:
            self.failed[kind] = status_reason or "PendingEvaluation"
            for row in self.rows.values():
                if row.place is PendingState.ACTIVE and row.workload.equivalence == kind:
                    self._park(row, now)

    def retry(self, now: datetime, belongs: Callable[[str], bool]) -> int:
        self.failed.clear()
        self.retried = True
        moved = 0
        for row in self.rows.values():
            if row.place is PendingState.INADMISSIBLE and not self._backs_off(row.workload, now):
                row.sleeps_until = None
                if belongs(row.workload.key.namespace):
                    row.place = PendingState.ACTIVE
                    moved += 1
        return moved

    def wake(self, now: datetime) -> int:
        due = [row for row in self._sleepers() if row.sleeps_until is not None and row.sleeps_until <= now]
        for row in due:
            self._enter(row, now)
        return len(due)

    # Questions

    def ordered(self, rows: Iterable[ModelEntry]) -> list[WorkloadInfo]:
        return sorted((row.workload for row in rows), key=self._rank)

    def listing(self) -> list[WorkloadInfo]:
        return self.ordered(self.rows.values())

    def _rank(self, workload: WorkloadInfo) -> tuple[float, bool, int, datetime, str]:
        usage = self.usage_of(workload.local_queue) if self.usage_of else 0.0
        sticky = self.preemptor is not None and self.preemptor[0] == workload.key and not self.is_strict
        assert workload.queued_at is not None
        return usage, not sticky, -workload.priority, workload.queued_at, workload.uid

    def count(self, place: PendingState) -> int:
        return sum(row.place is place for row in self.rows.values())

    def next_backoff_end(self) -> datetime | None:
        return min((row.sleeps_until for row in self._sleepers() if row.sleeps_until is not None), default=None)

    def _sleepers(self) -> list[ModelEntry]:
        return [
            row for row in self.rows.values() if row.place is PendingState.INADMISSIBLE and row.sleeps_until is not None
        ]
