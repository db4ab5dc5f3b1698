"""Writes decisions to the API server: many concurrently, in order per Workload, without delaying cycles.

A write is retried until the server accepts or rejects it. Only after a rejection, or when the decision no longer
applies, is the decision reverted: an admission that may still be written must keep its quota.
"""

import logging
from dataclasses import dataclass
from typing import Final

from kohort.api.kueue.v1beta2 import Workload
from kohort.api.meta import ObjectKey
from kohort.controllers.context import RETRY_LIMITS, ControllerContext
from kohort.controllers.scheduling.decision_validity import still_applies, was_written
from kohort.controllers.scheduling.pending_writes import EndSlice, PendingWrite, PendingWrites, ToWrite
from kohort.controllers.scheduling.status_builder import StatusBuilder
from kohort.controllers.workload_events import record_workload_events
from kohort.engine.decisions import Evict, KeepPending, Reserve
from kohort.engine.events import EvictionFailed, ObjectDeleted, ObjectUpserted, ReservationFailed
from kohort.engine.lifecycle.conditions import QUOTA_RESERVED, condition, is_reserved
from kohort.engine.lifecycle.events import WorkloadChange
from kohort.engine.lifecycle.preemption import preemptor_event
from kohort.engine.lifecycle.reasons import scheduler_reason
from kohort.kube.controller import Controller, RequeueAfter
from kohort.kube.errors import StatusError
from kohort.kube.workqueue import WorkQueue

log = logging.getLogger(__name__)

MANAGER: Final = "kueue-admission"
"""Field manager and event source of the scheduler (docs/spec/api.md, sections 6 and 8)."""
REJECTIONS: Final = frozenset({400, 403, 405, 413, 415, 422})
"""Status codes for which a retry does not help."""


@dataclass(frozen=True, slots=True)
class WriterSettings:
    """Concurrency and delays of writes."""

    in_flight: int = 50
    """Workloads with writes in flight."""
    first_reason_delay: float = 1.0
    """Seconds before a pending reason is written, more on a busy server; many Workloads are admitted before."""
    next_reason_delay: float = 10.0
    """Seconds before the same reason is written with another message, likewise."""
    retry_after_rejection: float = 60.0
    """Seconds before a rejected admission is retried."""


DEFAULT_SETTINGS: Final = WriterSettings()


class DecisionWriter:
    """Writes decisions."""

    def __init__(self, context: ControllerContext, settings: WriterSettings = DEFAULT_SETTINGS) -> None:
        self._context = context
        self._settings = settings
        self._status_builder = StatusBuilder(context)
        self._recorder = context.recorder(MANAGER)
        self._pending_writes = PendingWrites()
        self._set_aside: set[ObjectKey] = set()
        """Workloads removed from the engine for a while, because the server rejected their admission."""
        self._queue: WorkQueue[ObjectKey] = WorkQueue(context.clock, "scheduler", RETRY_LIMITS)
        self._controller = Controller("scheduler", self._queue, self._reconcile, context.clock)
        context.workload_cache.subscribe(self._workload_changed)

    def __len__(self) -> int:
        """The number of Workloads with pending writes."""
        return len(self._pending_writes)

    def start(self) -> None:
        """Start writing."""
        self._controller.start(self._settings.in_flight)

    async def stop(self) -> None:
        """Stop after writes in flight."""
        await self._controller.stop()

    def enqueue(self, decision: ToWrite) -> None:
        """Enqueue a decision to be written."""
        record = self._context.engine.read.workloads.get(decision.workload)
        if record is None or record.object is None:
            return
        pending = PendingWrite(decision, record.object, self._preemptor_version(decision))
        self._pending_writes.add(pending)
        if not isinstance(decision, KeepPending):
            self._queue.add(decision.workload, priority=1)
        elif self._status_builder.is_recorded(decision, record.object):
            self._pending_writes.drop(pending)
        else:
            self._queue.add_after(decision.workload, self._reason_delay(decision, record.object))

    def _preemptor_version(self, decision: ToWrite) -> str:
        preemptor = self._context.workload_cache.get(decision.preemptor) if isinstance(decision, Evict) else None
        return preemptor.metadata.resource_version if preemptor is not None else ""

    def _reason_delay(self, decision: KeepPending, workload: Workload) -> float:
        """Seconds before a pending reason is written: it is informational, and admissions have precedence."""
        written = condition(workload, QUOTA_RESERVED)
        is_recorded = written is not None and written.reason == scheduler_reason(
            decision.reason, self._context.settings.gates
        )
        return (
            self._settings.next_reason_delay if is_recorded else self._settings.first_reason_delay
        ) * self._context.server_load.factor

    def _workload_changed(self, old: Workload | None, new: Workload | None) -> None:
        """Retry a write that waits for a newer state of the Workload."""
        shown = new or old
        if shown is None:
            return
        key = ObjectKey(shown.metadata.namespace, shown.metadata.name)
        first = self._pending_writes.first(key)
        if first is not None and first.outdated:
            self._queue.add(key)

    async def _reconcile(self, key: ObjectKey) -> RequeueAfter | None:
        self._restore(key)
        while (pending := self._pending_writes.first(key)) is not None:
            workload = self._context.workload_cache.get(key)
            if workload is None or not still_applies(pending, workload, self._context.settings.gates):
                self._discard(pending, workload)
            elif not self._context.leads():
                self._withdraw(pending)
            elif pause := await self._write(pending, workload):
                return pause
        return None

    async def _write(self, pending: PendingWrite, workload: Workload) -> RequeueAfter | None:
        """Write a decision; returns a delay, or None if it is done. Raises errors that are worth a retry."""
        if pending.rejection is not None and pending.outdated == workload.metadata.resource_version:
            raise pending.rejection
        change = self._status_builder.change(pending.decision, workload)
        try:
            written = await self._context.workload_cache.write_status(workload, change.workload, MANAGER)
        except StatusError as error:
            if error.is_conflict or error.is_not_found:
                pending.outdated, pending.rejection = workload.metadata.resource_version, error
            if error.code not in REJECTIONS:
                raise
            return self._rejected(pending, error)
        self._succeeded(pending, workload, WorkloadChange(written, change.events))
        return None

    def _succeeded(self, pending: PendingWrite, before: Workload, change: WorkloadChange) -> None:
        self._pending_writes.drop(pending)
        record_workload_events(self._recorder, change.workload, change.events)
        decision = pending.decision
        if isinstance(decision, Reserve) and decision.replaces is not None:
            self.enqueue(EndSlice(decision.replaces, decision.workload))
        elif isinstance(decision, EndSlice) and before.status.admission is not None:
            queue = before.status.admission.cluster_queue
            self._context.metrics.replaced_workload_slices_total.inc(cluster_queue=queue)
        elif isinstance(decision, Evict) and change.events:
            self._record_preemption(decision, before, pending.preemptor_version)

    def _record_preemption(self, decision: Evict, victim: Workload, series: str) -> None:
        """Record the preemption in metrics, and as an event of the preemptor, one series per decision (SCH-652)."""
        preemptor = self._context.workload_cache.get(decision.preemptor)
        queue = decision.preemptor_path.rpartition("/")[2]
        self._context.metrics.preempted_workloads_total.inc(preempting_cluster_queue=queue, reason=decision.reason)
        if preemptor is not None and victim.status.admission is not None:
            preemption = self._status_builder.preemption(decision, victim)
            event = preemptor_event(victim, preemption, victim.status.admission.cluster_queue)
            record_workload_events(self._recorder, preemptor, [event], series)

    def _discard(self, pending: PendingWrite, workload: Workload | None) -> None:
        """Handle a decision that no longer applies: it was written after all, or is withdrawn."""
        change = self._status_builder.change(pending.decision, pending.seen)
        if workload is not None and was_written(pending, workload, change.workload):
            self._succeeded(pending, pending.seen, WorkloadChange(workload, change.events))
            return
        self._withdraw(pending)

    def _withdraw(self, pending: PendingWrite) -> None:
        """Drop a decision and report its failure to the engine (SCH-352, SCH-654)."""
        self._pending_writes.drop(pending)
        key = pending.decision.workload
        workload, record = self._context.workload_cache.get(key), self._context.engine.read.workloads.get(key)
        if record is None or record.uid != pending.seen.metadata.uid:
            return
        if isinstance(pending.decision, Reserve):
            if workload is None or is_reserved(workload) == is_reserved(pending.seen):
                self._context.feed.apply(ReservationFailed(key))
        elif not isinstance(pending.decision, KeepPending | EndSlice):
            self._context.feed.apply(EvictionFailed(key))

    def _rejected(self, pending: PendingWrite, error: StatusError) -> RequeueAfter | None:
        """Handle a rejected write: an admission releases its quota, and its Workload is set aside for a while."""
        log.warning("writing decision for %s failed: %s", pending.decision.workload, error)
        if isinstance(pending.decision, KeepPending):
            self._pending_writes.drop(pending)
            return None
        if isinstance(pending.decision, Reserve):
            key = pending.decision.workload
            self._withdraw(pending)
            self._context.feed.apply(ObjectDeleted("Workload", key))
            self._set_aside.add(key)
        return RequeueAfter(self._settings.retry_after_rejection)

    def _restore(self, key: ObjectKey) -> None:
        if key in self._set_aside:
            self._set_aside.discard(key)
            workload = self._context.workload_cache.get(key)
            if workload is not None:
                self._context.feed.apply(ObjectUpserted(workload))
