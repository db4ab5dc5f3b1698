"""Starts and stops the reconcilers of all frameworks; each starts once its kind is served (JOB-95)."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from kohort.api.resource import Resource
from kohort.controllers.context import ControllerContext
from kohort.jobs.cache_reader import CacheReader
from kohort.jobs.contract import Framework
from kohort.jobs.expectations import UidExpectations
from kohort.jobs.failure_recovery import running_failure_recovery
from kohort.jobs.planners import Planner, PlannerReconciler
from kohort.jobs.reconciler import JobReconciler
from kohort.jobs.registry import FrameworkRegistry
from kohort.jobs.ungating.controller import PodUngater
from kohort.jobs.ungating.elastic_pods import ElasticGatePolicy
from kohort.jobs.ungating.started_pods import StartedPods
from kohort.jobs.ungating.topology_pods import TopologyGatePolicy
from kohort.kube.backoff import Backoff
from kohort.kube.client import Client
from kohort.kube.errors import KubeError

log = logging.getLogger(__name__)

DISCOVERY_BACKOFF: Final = Backoff(base=1.0, cap=120.0, jitter=0.0)
"""Backoff of discovery for kinds that are not served yet."""


@asynccontextmanager
async def running_job_reconcilers(context: ControllerContext, registry: FrameworkRegistry) -> AsyncIterator[None]:
    """Runs the reconcilers of all enabled frameworks until the context exits."""
    reconcilers = _JobReconcilers(context, registry)
    try:
        async with running_failure_recovery(context):
            yield
    finally:
        await reconcilers.stop()


class _JobReconcilers:
    """Started reconcilers, and tasks that wait for their kinds."""

    def __init__(self, context: ControllerContext, registry: FrameworkRegistry) -> None:
        self._context = context
        self._registry = registry
        self._expectations = UidExpectations()
        self._reads = CacheReader(context, self._expectations)
        pods = StartedPods(context.informers)
        self._ungaters = [PodUngater(context, pods, policy) for policy in (ElasticGatePolicy(), TopologyGatePolicy())]
        for ungater in self._ungaters:
            ungater.start()
        self._working: list[JobReconciler] = []
        found = [each for framework in registry.active() for each in (framework, *framework.planners)]
        wanted = (each for each in found if each.is_reconciled or isinstance(each, Planner))
        self._waiting = [asyncio.create_task(self._start_when_served(each)) for each in wanted]

    async def stop(self) -> None:
        """Stop after reconciles in flight."""
        for task in self._waiting:
            task.cancel()
        await asyncio.gather(*self._waiting, return_exceptions=True)
        await asyncio.gather(*(each.stop() for each in self._ungaters), *(each.stop() for each in self._working))

    async def _start_when_served(self, framework: Framework) -> None:
        failures = 0
        while not await is_kind_served(self._context.client, framework.resource):
            failures += 1
            wait = DISCOVERY_BACKOFF.steady(failures)
            log.info(
                "integration %s: resource %s not served, retrying in %g s",
                framework.name,
                framework.resource.kind,
                wait,
            )
            await self._context.clock.sleep(wait)
        reconciler = self._reconciler(framework)
        self._working.append(reconciler)
        reconciler.start()

    def _reconciler(self, framework: Framework) -> JobReconciler:
        if isinstance(framework, Planner):
            return PlannerReconciler(self._context, self._registry, framework, self._reads, self._expectations)
        return JobReconciler(self._context, self._registry, framework, self._reads, self._expectations)


async def is_kind_served(client: Client, resource: Resource) -> bool:
    """Whether the server serves a kind now; False if discovery fails."""
    try:
        found = await client.get_json(resource.root)
    except KubeError:
        return False
    listed = found.get("resources") if isinstance(found, dict) else None
    return any(each.get("name") == resource.plural for each in listed or ())
