"""Decisions on their way to the API server: many at once, in order per Workload, and never in a turn's way.

A decision is written again and again until the server has answered for good. Only then, or when the Workload is no
longer what was decided upon, is it taken back: an admission that may still arrive must keep its quota.
"""

import logging
from dataclasses import dataclass
from typing import Final

from kohort.api.kueue.v1beta2 import Workload
from kohort.api.meta import ObjectKey
from kohort.controllers.context import RETRIES, ControllerContext
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
"""As whom the scheduler writes and tells (docs/spec/api.md, sections 6 and 8)."""
REFUSALS: Final = frozenset({400, 403, 405, 413, 415, 422})
"""Answers that will be the same next time."""


@dataclass(frozen=True, slots=True)
class WriterSettings:
    """How much is written at once, and how soon."""

    in_flight: int = 50
    """Workloads whose writes are on their way."""
    first_word: float = 1.0
    """Seconds before a Workload is told why it waits, more where the server is busy; many are admitted before."""
    next_word: float = 10.0
    """Seconds before the same reason is told in other words, likewise."""
    after_refusal: float = 60.0
    """Seconds before a Workload is tried again whose admission the server refuses."""


USUAL_PACE: Final = WriterSettings()


class DecisionWriter:
    """Writes what was decided."""

    def __init__(self, context: ControllerContext, pace: WriterSettings = USUAL_PACE) -> None:
        self._context = context
        self._pace = pace
        self._scribe = StatusBuilder(context)
        self._recorder = context.recorder(MANAGER)
        self._intents = PendingWrites()
        self._aside: set[ObjectKey] = set()
        """Workloads that the engine does not see for a while, because their admission is refused."""
        self._queue: WorkQueue[ObjectKey] = WorkQueue(context.clock, "scheduler", RETRIES)
        self._controller = Controller("scheduler", self._queue, self._work, context.clock)
        context.known.subscribe(self._look_again)

    def __len__(self) -> int:
        """How many Workloads have something to be written."""
        return len(self._intents)

    def start(self) -> None:
        """Begin to write."""
        self._controller.start(self._pace.in_flight)

    async def stop(self) -> None:
        """Let what is on its way arrive, and write nothing more."""
        await self._controller.stop()

    def take(self, decision: ToWrite) -> None:
        """Have a decision written; returns at once."""
        record = self._context.engine.workloads.get(decision.workload)
        if record is None or record.object is None:
            return
        intent = PendingWrite(decision, record.object, self._preemptor_version(decision))
        self._intents.add(intent)
        if not isinstance(decision, KeepPending):
            self._queue.add(decision.workload, priority=1)
        elif self._scribe.is_told(decision, record.object):
            self._intents.drop(intent)
        else:
            self._queue.add_after(decision.workload, self._patience(decision, record.object))

    def _preemptor_version(self, decision: ToWrite) -> str:
        preemptor = self._context.known.get(decision.preemptor) if isinstance(decision, Evict) else None
        return preemptor.metadata.resource_version if preemptor is not None else ""

    def _patience(self, decision: KeepPending, workload: Workload) -> float:
        """Words are for people, who do not read ten a second; admissions go first."""
        written = condition(workload, QUOTA_RESERVED)
        is_told = written is not None and written.reason == scheduler_reason(
            decision.reason, self._context.settings.gates
        )
        return (self._pace.next_word if is_told else self._pace.first_word) * self._context.strain.factor

    def _look_again(self, old: Workload | None, new: Workload | None) -> None:
        """A write that waits for the watch need not wait for its time."""
        shown = new or old
        if shown is None:
            return
        key = ObjectKey(shown.metadata.namespace, shown.metadata.name)
        first = self._intents.first(key)
        if first is not None and first.outdated:
            self._queue.add(key)

    async def _work(self, key: ObjectKey) -> RequeueAfter | None:
        self._bring_back(key)
        while (intent := self._intents.first(key)) is not None:
            workload = self._context.known.get(key)
            if workload is None or not still_applies(intent, workload, self._context.settings.gates):
                self._let_go(intent, workload)
            elif not self._context.leads():
                self._withdraw(intent)
            elif pause := await self._write(intent, workload):
                return pause
        return None

    async def _write(self, intent: PendingWrite, workload: Workload) -> RequeueAfter | None:
        """Write; when to come back, if not at once. Raises what is worth another try soon."""
        if intent.refusal is not None and intent.outdated == workload.metadata.resource_version:
            raise intent.refusal
        change = self._scribe.change(intent.decision, workload)
        try:
            written = await self._context.known.write_status(workload, change.workload, MANAGER)
        except StatusError as error:
            if error.is_conflict or error.is_not_found:
                intent.outdated, intent.refusal = workload.metadata.resource_version, error
            if error.code not in REFUSALS:
                raise
            return self._refused(intent, error)
        self._succeeded(intent, workload, WorkloadChange(written, change.events))
        return None

    def _succeeded(self, intent: PendingWrite, before: Workload, change: WorkloadChange) -> None:
        self._intents.drop(intent)
        record_workload_events(self._recorder, change.workload, change.events)
        decision = intent.decision
        if isinstance(decision, Reserve) and decision.replaces is not None:
            self.take(EndSlice(decision.replaces, decision.workload))
        elif isinstance(decision, EndSlice) and before.status.admission is not None:
            queue = before.status.admission.cluster_queue
            self._context.metrics.replaced_workload_slices_total.inc(cluster_queue=queue)
        elif isinstance(decision, Evict) and change.events:
            self._tell_preemptor(decision, before, intent.preemptor_version)

    def _tell_preemptor(self, decision: Evict, victim: Workload, series: str) -> None:
        """SCH-652, and whose preemption it was; one event with a series for the victims of one decision."""
        preemptor = self._context.known.get(decision.preemptor)
        queue = decision.preemptor_path.rpartition("/")[2]
        self._context.metrics.preempted_workloads_total.inc(preempting_cluster_queue=queue, reason=decision.reason)
        if preemptor is not None and victim.status.admission is not None:
            preemption = self._scribe.preemption(decision, victim)
            event = preemptor_event(victim, preemption, victim.status.admission.cluster_queue)
            record_workload_events(self._recorder, preemptor, [event], series)

    def _let_go(self, intent: PendingWrite, workload: Workload | None) -> None:
        """The decision is no longer to be written, be it that it was, or that the Workload is another by now."""
        change = self._scribe.change(intent.decision, intent.seen)
        if workload is not None and was_written(intent, workload, change.workload):
            self._succeeded(intent, intent.seen, WorkloadChange(workload, change.events))
            return
        self._withdraw(intent)

    def _withdraw(self, intent: PendingWrite) -> None:
        """Tell the engine that a decision came to nothing (SCH-352, SCH-654)."""
        self._intents.drop(intent)
        key = intent.decision.workload
        workload, record = self._context.known.get(key), self._context.engine.workloads.get(key)
        if record is None or record.uid != intent.seen.metadata.uid:
            return
        if isinstance(intent.decision, Reserve):
            if workload is None or is_reserved(workload) == is_reserved(intent.seen):
                self._context.feed.tell(ReservationFailed(key))
        elif not isinstance(intent.decision, KeepPending | EndSlice):
            self._context.feed.tell(EvictionFailed(key))

    def _refused(self, intent: PendingWrite, error: StatusError) -> RequeueAfter | None:
        """The server will not have it: an admission gives its quota back and stays away for a while."""
        log.warning("scheduler %s: %s", intent.decision.workload, error)
        if isinstance(intent.decision, KeepPending):
            self._intents.drop(intent)
            return None
        if isinstance(intent.decision, Reserve):
            key = intent.decision.workload
            self._withdraw(intent)
            self._context.feed.tell(ObjectDeleted("Workload", key))
            self._aside.add(key)
        return RequeueAfter(self._pace.after_refusal)

    def _bring_back(self, key: ObjectKey) -> None:
        if key in self._aside:
            self._aside.discard(key)
            workload = self._context.known.get(key)
            if workload is not None:
                self._context.feed.tell(ObjectUpserted(workload))
