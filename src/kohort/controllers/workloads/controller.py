"""The Workload controller: leads each Workload through its life, as `lifecycle.reconcile` finds that it should go.

Level-triggered: whatever happened, it looks at what is and writes what is missing. Every write starts from the state
that was looked at, so a look at something outdated changes nothing and is repeated.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Final

from kohort.api.core.namespaces import Namespace
from kohort.api.kueue.v1beta2 import ClusterQueue, LocalQueue, Workload
from kohort.api.kueue.v1beta2.workload import WorkloadStatus
from kohort.api.meta import ObjectKey
from kohort.controllers.context import RETRIES, ControllerContext
from kohort.controllers.workload_events import record_workload_events
from kohort.controllers.workloads.assume_cache import key_of
from kohort.controllers.workloads.context_builder import ReconcileContextBuilder
from kohort.controllers.workloads.related_workloads import RelatedWorkloads
from kohort.controllers.workloads.variants import as_parent, flavor_of
from kohort.controllers.workloads.workload_metrics import WorkloadMetrics
from kohort.engine.lifecycle.events import WorkloadEvent, normal
from kohort.engine.lifecycle.reconcile_context import cluster_queue_facts, local_queue_facts
from kohort.engine.lifecycle.reconciliation import reconcile
from kohort.engine.lifecycle.writes import WorkloadWrite, WriteTarget
from kohort.kube.controller import Controller, RequeueAfter
from kohort.kube.errors import StatusError
from kohort.kube.workqueue import WorkQueue

CONTROLLER: Final = "kueue-workload-controller"
"""As whom events are told (docs/spec/api.md, section 8)."""
MANAGER: Final = "kueue-admission"
"""As whom the status is written (docs/spec/api.md, section 6)."""
WORKERS: Final = 32
"""Workloads that are looked at at once; most of the time each waits for an answer of the server."""
FRESH: Final = 1.0
"""Seconds that the scheduler has for a new Workload, before words are written that its admission would replace."""
NOT_LIVE: Final = 1.0
"""Seconds between two looks while a watch is down: what surrounds a Workload may not be so any more."""
NO_STATUS: Final = WorkloadStatus()
BEHIND: Final = "cluster queue"


class WorkloadController:
    """Looks at Workloads when they, or what surrounds them, changed."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._surroundings = ReconcileContextBuilder(context)
        self._relatives = RelatedWorkloads(context, self._surroundings)
        self._recorder = context.recorder(CONTROLLER)
        self._queue: WorkQueue[ObjectKey] = WorkQueue(context.clock, "workload", RETRIES)
        self._controller = Controller("workload", self._queue, self._reconcile, context.clock)
        context.local_queues.index(BEHIND, _queue_behind)
        context.known.subscribe(self._workload_changed)
        context.local_queues.subscribe(self._local_queue_changed)
        context.cluster_queues.subscribe(self._cluster_queue_changed)
        context.namespaces.subscribe(self._namespace_changed)

    def start(self) -> None:
        """Begin to look at Workloads."""
        self._controller.start(WORKERS)

    async def stop(self) -> None:
        """Come to the end of what has begun."""
        await self._controller.stop()

    # What makes it look

    def _workload_changed(self, old: Workload | None, new: Workload | None) -> None:
        if new is not None:
            is_for_scheduler = new.status == NO_STATUS and not self._relatives.becomes_parent(new)
            self._queue.add_after(key_of(new), FRESH if is_for_scheduler else 0.0)
            self._look_at(self._relatives.keys(new))
        elif old is not None:
            self._look_at(self._relatives.keys(old))

    def _local_queue_changed(self, old: LocalQueue | None, new: LocalQueue | None) -> None:
        before, after = (local_queue_facts(each) if each else None for each in (old, new))
        shown = new or old
        if before != after and shown is not None:
            self._look_at_queue(ObjectKey(shown.metadata.namespace, shown.metadata.name))

    def _cluster_queue_changed(self, old: ClusterQueue | None, new: ClusterQueue | None) -> None:
        before, after = (cluster_queue_facts(each) if each else None for each in (old, new))
        shown = new or old
        if before == after or shown is None:
            return
        name = shown.metadata.name
        for local_queue in self._context.local_queues.cache.find(BEHIND, name):
            self._look_at_queue(ObjectKey(local_queue.metadata.namespace, local_queue.metadata.name))
        queue = self._context.engine.queues.get(name)
        if queue is not None:
            self._look_at(ObjectKey(*key) for key in queue.holders)

    def _namespace_changed(self, old: Namespace | None, new: Namespace | None) -> None:
        """Other labels may make Workloads belong into their ClusterQueue, or not (SCH-124)."""
        if old is None or new is None or old.metadata.labels == new.metadata.labels:
            return
        for key in list(self._context.engine.local_queues):
            if key.namespace == new.metadata.name:
                self._look_at_queue(key)

    def _look_at_queue(self, key: ObjectKey) -> None:
        local_queue = self._context.engine.local_queues.get(key)
        if local_queue is not None:
            self._look_at(ObjectKey(*each) for each in local_queue.workloads)

    def _look_at(self, keys: Iterable[ObjectKey]) -> None:
        for key in keys:
            self._queue.add(key)

    # Looking

    async def _reconcile(self, key: ObjectKey) -> RequeueAfter | None:
        await asyncio.sleep(
            0
        )  # A look that writes nothing awaits nothing, and a thousand of them must not block others.
        workload = self._context.known.get(key)
        if workload is None or not self._context.leads():
            return None
        if not self._context.feed.is_live:
            return RequeueAfter(NOT_LIVE)
        if self._relatives.becomes_parent(workload):
            await self._context.known.write_object(workload, as_parent(workload), MANAGER)
            return None
        now = self._context.now()
        outcome = reconcile(workload, self._surroundings.facts(workload), now)
        for write in outcome.writes:
            workload = await self._write(workload, write)
        family_wakes = await self._settle(key)
        moments = [each for each in (outcome.wake_at, family_wakes) if each is not None]
        return _requeue(min(moments), now) if moments else None

    async def _write(self, before: Workload, write: WorkloadWrite) -> Workload:
        """One write; the Workload as it is then."""
        match write.part:
            case WriteTarget.STATUS:
                written = await self._context.known.write_status(before, write.workload, MANAGER)
            case WriteTarget.OBJECT:
                written = await self._context.known.write_object(before, write.workload, MANAGER)
            case WriteTarget.DELETION:
                await self._context.known.delete(before)
                written = before
        record_workload_events(self._recorder, written, write.events)
        return written

    async def _settle(self, key: ObjectKey) -> datetime | None:
        """Bring Workloads of one job in line with each other."""
        settlement = self._relatives.settle(key)
        for each in settlement.missing:
            await self._make_variant(key, each)
        for each in settlement.stale:
            await self._delete_variant(key, each)
        for write in settlement.writes:
            before = self._context.known.get(key_of(write.workload))
            if before is not None:
                await self._write(before, write)
        return settlement.wake_at

    async def _make_variant(self, parent: ObjectKey, variant: Workload) -> None:
        try:
            await self._context.known.create(variant, MANAGER)
        except StatusError as error:
            if not error.is_already_exists:
                raise
            return
        self._tell(parent, normal("CreatedVariant", f'Variant Workload "{key_of(variant)}" created'))

    async def _delete_variant(self, parent: ObjectKey, variant: Workload) -> None:
        await self._context.known.delete(variant)
        why = f'flavor "{flavor_of(variant)}" no longer in ClusterQueue'
        self._tell(parent, normal("DeletedVariant", f'Variant Workload "{key_of(variant)}" deleted; {why}'))

    def _tell(self, key: ObjectKey, event: WorkloadEvent) -> None:
        workload = self._context.known.get(key)
        if workload is not None:
            record_workload_events(self._recorder, workload, [event])


def _queue_behind(local_queue: LocalQueue) -> tuple[str, ...]:
    return (local_queue.spec.cluster_queue,) if local_queue.spec.cluster_queue else ()


def _requeue(moment: datetime, now: datetime) -> RequeueAfter:
    return RequeueAfter((moment - now).total_seconds())


@asynccontextmanager
async def running_workload_controller(context: ControllerContext) -> AsyncIterator[WorkloadController]:
    """A Workload controller at work for as long as the block lasts."""
    counting = WorkloadMetrics(context)
    controller = WorkloadController(context)
    context.known.subscribe(counting.see)
    controller.start()
    try:
        yield controller
    finally:
        await controller.stop()
