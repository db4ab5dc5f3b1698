"""Reconciles the objects of one kind, such as the jobs of a framework: read, plan, execute (§4).

`planning` makes all decisions; this module has the asynchronous parts: work queue, search of ancestors, requests.
"""

import asyncio
import logging
from abc import ABC, abstractmethod
from typing import Final

from kohort.api.codec import JsonObject, encode
from kohort.api.conditions import truncate_note
from kohort.api.errors import DecodeError
from kohort.controllers.context import ControllerContext
from kohort.controllers.served_kinds import KindAvailability
from kohort.jobs.ancestors import managed_ancestor
from kohort.jobs.cache_reader import CacheReader
from kohort.jobs.contract import Framework, JobKey, ReconciledKind
from kohort.jobs.effect_executor import INVALID_JOB, EffectExecutor, WorkloadNameConflictError
from kohort.jobs.effects import record_event
from kohort.jobs.errors import JobError, RetryError, UnretryableError
from kohort.jobs.expectations import UidExpectations
from kohort.jobs.planning import plan_pass
from kohort.jobs.reconcile_pass import PassPlan
from kohort.jobs.registry import FrameworkRegistry
from kohort.jobs.shapes import check_shape
from kohort.jobs.triggers import JobEventMapper
from kohort.kube.controller import Controller, RequeueAfter
from kohort.kube.workqueue import WorkQueue

log = logging.getLogger(__name__)

WORKERS: Final = 16
"""Concurrent reconciles of one kind; most of the time each waits for a response."""
NOT_SYNCED_DELAY: Final = 1.0
"""Seconds before a retry while caches are not synced."""
NAME_TAKEN_DELAY: Final = 5.0
"""Seconds before a retry while another Workload has the name; its deletion also triggers a reconcile."""


class KindReconciler(ABC):
    """Reconciles the objects of one kind."""

    def __init__(
        self,
        context: ControllerContext,
        registry: FrameworkRegistry,
        kind: ReconciledKind,
        reads: CacheReader,
        expectations: UidExpectations,
    ) -> None:
        self._context = context
        self._registry = registry
        self._kind = kind
        self._reads = reads
        self._expectations = expectations
        reads.add_kind(kind)
        self._recorder = context.recorder(f"{kind.name}-kueue-controller")
        self._queue: WorkQueue[JobKey] = WorkQueue(context.clock, kind.name, metrics=context.client.metrics)
        self._controller = Controller(kind.name, self._queue, self._reconcile, context.clock, context.client.metrics)
        self._triggers = JobEventMapper(kind, reads, expectations, self._queue.add_after)
        reads.caches[kind.resource].informer.subscribe(self._triggers.object_changed)
        context.workload_cache.subscribe(self._triggers.workload_changed)

    def start(self) -> None:
        """Start reconciling."""
        resource = self._kind.resource
        concurrency = self._context.settings.configuration.controller.group_kind_concurrency
        self._controller.start(concurrency.get(f"{resource.kind}.{resource.group}", WORKERS))

    def enqueue_all(self) -> None:
        """Reconcile all objects of the kind, and the owners of all Workloads."""
        for each in self._reads.caches[self._kind.resource].informer.cache:
            self._triggers.object_changed(None, each)
        for workload in self._context.workload_cache:
            self._triggers.workload_changed(None, workload)

    async def stop(self) -> None:
        """Stop after reconciles in flight."""
        self._reads.caches[self._kind.resource].informer.unsubscribe(self._triggers.object_changed)
        self._context.workload_cache.unsubscribe(self._triggers.workload_changed)
        await self._controller.stop()

    async def _reconcile(self, key: JobKey) -> RequeueAfter | None:
        # A pass without writes awaits nothing, and a thousand of them must not block other tasks.
        await asyncio.sleep(0)
        if not self._context.leads():
            return None
        if self._reads.availability(self._kind) is KindAvailability.UNSERVED:
            return None
        if not self._reads.is_synced(self._kind):
            return RequeueAfter(NOT_SYNCED_DELAY)
        plan = await self._plan(key)
        try:
            await self._execute(plan)
        except WorkloadNameConflictError:
            return RequeueAfter(NAME_TAKEN_DELAY)
        except UnretryableError as error:
            return self._end(key, PassPlan(error=error))
        return self._end(key, plan)

    @abstractmethod
    async def _plan(self, key: JobKey) -> PassPlan:
        """The plan for an object."""

    async def _ancestor(self, obj: JsonObject | None) -> JsonObject | None:
        if obj is None or self._kind.is_top_level:
            return None
        manages_all = self._reads.configuration.manage_jobs_without_queue_name
        return await managed_ancestor(obj, self._registry, self._reads.fetch, without_queue_name=manages_all)

    async def _execute(self, plan: PassPlan) -> None:
        manager = f"kueue-{self._kind.resource.kind.lower()}-controller"
        carrier = EffectExecutor(self._context, self._reads, self._recorder, manager, self._expectations)
        for effect in plan.effects:
            await carrier.execute(effect)

    def _end(self, key: JobKey, plan: PassPlan) -> RequeueAfter | None:
        if isinstance(plan.error, RetryError):
            raise plan.error
        if isinstance(plan.error, UnretryableError):
            log.debug("%s %s: %s; waiting for a change", self._kind.name, key, plan.error)
        elif plan.error is not None:
            raise RetryError(str(plan.error))
        return RequeueAfter(plan.requeue_after) if plan.requeue_after is not None else None


class JobReconciler(KindReconciler):
    """Reconciles the jobs of one framework."""

    def __init__(
        self,
        context: ControllerContext,
        registry: FrameworkRegistry,
        framework: Framework,
        reads: CacheReader,
        expectations: UidExpectations,
    ) -> None:
        super().__init__(context, registry, framework, reads, expectations)
        self._framework = framework

    async def _plan(self, key: JobKey) -> PassPlan:
        obj = self._framework.load(key, self._reads)
        try:
            ancestor = await self._ancestor(obj)
        except JobError as error:
            return PassPlan(error.effects, error)
        # Finding ancestors may have taken a while; use the current state of the job.
        obj = self._framework.load(key, self._reads) if ancestor is not None else obj
        try:
            return plan_pass(self._framework, key, obj, ancestor, self._reads)
        except Exception as error:
            return self._malformed(obj, error)

    def _malformed(self, obj: JsonObject | None, error: Exception) -> PassPlan:
        """The plan for an object with fields of other types, which only a user can change; raises other errors."""
        problem = error if isinstance(error, DecodeError) else None
        try:
            check_shape(self._framework, encode(obj))
        except DecodeError as found:
            problem = found
        if problem is None:
            raise error
        why = truncate_note(f"cannot be queued: {problem}")
        return PassPlan((record_event(obj or {}, INVALID_JOB, why, "Warning"),), UnretryableError(why))
