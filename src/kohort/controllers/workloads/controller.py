"""The Workload controller: performs the writes that `lifecycle.reconcile` returns.

Level-triggered: it compares state, not events. Every write is based on the state that was reconciled, so a reconcile of
an outdated state changes nothing and is repeated.
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
from kohort.controllers.context import RETRY_LIMITS, ControllerContext
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
"""Source of events (docs/spec/api.md, section 8)."""
MANAGER: Final = "kueue-admission"
"""Field manager of status writes (docs/spec/api.md, section 6)."""
WORKERS: Final = 32
"""Concurrent reconciles; most of the time each waits for a response."""
NEW_WORKLOAD_DELAY: Final = 1.0
"""Seconds that the scheduler has for a new Workload before its pending condition is written."""
NOT_SYNCED_DELAY: Final = 1.0
"""Seconds before a retry while caches are not synced."""
NO_STATUS: Final = WorkloadStatus()
CLUSTER_QUEUE: Final = "cluster queue"


class WorkloadController:
    """Reconciles Workloads when they, or objects that they depend on, changed."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._context_builder = ReconcileContextBuilder(context)
        self._related = RelatedWorkloads(context, self._context_builder)
        self._recorder = context.recorder(CONTROLLER)
        self._queue: WorkQueue[ObjectKey] = WorkQueue(context.clock, "workload", RETRY_LIMITS)
        self._controller = Controller("workload", self._queue, self._reconcile, context.clock)
        context.local_queues.index(CLUSTER_QUEUE, _cluster_queue_of_local_queue)
        context.workload_cache.subscribe(self._workload_changed)
        context.local_queues.subscribe(self._local_queue_changed)
        context.cluster_queues.subscribe(self._cluster_queue_changed)
        context.namespaces.subscribe(self._namespace_changed)

    def start(self) -> None:
        """Start reconciling."""
        self._controller.start(WORKERS)

    async def stop(self) -> None:
        """Stop after reconciles in flight."""
        await self._controller.stop()

    # Events

    def _workload_changed(self, old: Workload | None, new: Workload | None) -> None:
        if new is not None:
            is_for_scheduler = new.status == NO_STATUS and not self._related.becomes_parent(new)
            self._queue.add_after(key_of(new), NEW_WORKLOAD_DELAY if is_for_scheduler else 0.0)
            self._enqueue(self._related.keys(new))
        elif old is not None:
            self._enqueue(self._related.keys(old))

    def _local_queue_changed(self, old: LocalQueue | None, new: LocalQueue | None) -> None:
        before, after = (local_queue_facts(each) if each else None for each in (old, new))
        shown = new or old
        if before != after and shown is not None:
            self._enqueue_queue(ObjectKey(shown.metadata.namespace, shown.metadata.name))

    def _cluster_queue_changed(self, old: ClusterQueue | None, new: ClusterQueue | None) -> None:
        before, after = (cluster_queue_facts(each) if each else None for each in (old, new))
        shown = new or old
        if before == after or shown is None:
            return
        name = shown.metadata.name
        for local_queue in self._context.local_queues.cache.find(CLUSTER_QUEUE, name):
            self._enqueue_queue(ObjectKey(local_queue.metadata.namespace, local_queue.metadata.name))
        queue = self._context.engine.read.cluster_queues.get(name)
        if queue is not None:
            self._enqueue(ObjectKey(*key) for key in queue.holders)

    def _namespace_changed(self, old: Namespace | None, new: Namespace | None) -> None:
        """Labels of a namespace decide whether its Workloads match their ClusterQueue (SCH-124)."""
        if old is None or new is None or old.metadata.labels == new.metadata.labels:
            return
        for key in list(self._context.engine.read.local_queues):
            if key.namespace == new.metadata.name:
                self._enqueue_queue(key)

    def _enqueue_queue(self, key: ObjectKey) -> None:
        local_queue = self._context.engine.read.local_queues.get(key)
        if local_queue is not None:
            self._enqueue(ObjectKey(*each) for each in local_queue.workloads)

    def _enqueue(self, keys: Iterable[ObjectKey]) -> None:
        for key in keys:
            self._queue.add(key)

    # Reconciling

    async def _reconcile(self, key: ObjectKey) -> RequeueAfter | None:
        await asyncio.sleep(
            0
        )  # A reconcile that writes nothing awaits nothing, and a thousand of them must not block other tasks.
        workload = self._context.workload_cache.get(key)
        if workload is None or not self._context.leads():
            return None
        if not self._context.feed.is_synced:
            return RequeueAfter(NOT_SYNCED_DELAY)
        if self._related.becomes_parent(workload):
            await self._context.workload_cache.write_object(workload, as_parent(workload), MANAGER)
            return None
        now = self._context.now()
        outcome = reconcile(workload, self._context_builder.build(workload), now)
        for write in outcome.writes:
            workload = await self._write(workload, write)
        related_wake_at = await self._reconcile_related(key)
        times = [each for each in (outcome.wake_at, related_wake_at) if each is not None]
        return _requeue(min(times), now) if times else None

    async def _write(self, before: Workload, write: WorkloadWrite) -> Workload:
        """Perform a write; returns the new Workload."""
        match write.part:
            case WriteTarget.STATUS:
                written = await self._context.workload_cache.write_status(before, write.workload, MANAGER)
            case WriteTarget.OBJECT:
                written = await self._context.workload_cache.write_object(before, write.workload, MANAGER)
            case WriteTarget.DELETION:
                await self._context.workload_cache.delete(before)
                written = before
        record_workload_events(self._recorder, written, write.events)
        return written

    async def _reconcile_related(self, key: ObjectKey) -> datetime | None:
        """Reconcile Workloads of the same job with each other."""
        related = self._related.reconcile_related(key)
        for each in related.missing:
            await self._create_variant(key, each)
        for each in related.stale:
            await self._delete_variant(key, each)
        for write in related.writes:
            before = self._context.workload_cache.get(key_of(write.workload))
            if before is not None:
                await self._write(before, write)
        return related.wake_at

    async def _create_variant(self, parent: ObjectKey, variant: Workload) -> None:
        try:
            await self._context.workload_cache.create(variant, MANAGER)
        except StatusError as error:
            if not error.is_already_exists:
                raise
            return
        self._record_event(parent, normal("CreatedVariant", f'Variant Workload "{key_of(variant)}" created'))

    async def _delete_variant(self, parent: ObjectKey, variant: Workload) -> None:
        await self._context.workload_cache.delete(variant)
        why = f'flavor "{flavor_of(variant)}" no longer in ClusterQueue'
        self._record_event(parent, normal("DeletedVariant", f'Variant Workload "{key_of(variant)}" deleted; {why}'))

    def _record_event(self, key: ObjectKey, event: WorkloadEvent) -> None:
        workload = self._context.workload_cache.get(key)
        if workload is not None:
            record_workload_events(self._recorder, workload, [event])


def _cluster_queue_of_local_queue(local_queue: LocalQueue) -> tuple[str, ...]:
    return (local_queue.spec.cluster_queue,) if local_queue.spec.cluster_queue else ()


def _requeue(moment: datetime, now: datetime) -> RequeueAfter:
    return RequeueAfter((moment - now).total_seconds())


@asynccontextmanager
async def running_workload_controller(context: ControllerContext) -> AsyncIterator[WorkloadController]:
    """Runs the Workload controller and its metrics until the context exits."""
    metrics = WorkloadMetrics(context)
    controller = WorkloadController(context)
    context.workload_cache.subscribe(metrics.observe)
    controller.start()
    try:
        yield controller
    finally:
        await controller.stop()
