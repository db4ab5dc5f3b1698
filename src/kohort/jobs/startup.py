"""Job frameworks at work, started and stopped as one; each as soon as the server has its kind (JOB-95)."""

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
from kohort.jobs.failure_recovery import recovering
from kohort.jobs.planners import Planner, PlannerReconciler
from kohort.jobs.reconciler import JobReconciler
from kohort.jobs.registry import FrameworkRegistry
from kohort.jobs.ungater import Ungater
from kohort.kube.backoff import Backoff
from kohort.kube.client import Client
from kohort.kube.errors import KubeError

log = logging.getLogger(__name__)

ASKING: Final = Backoff(base=1.0, cap=120.0, jitter=0.0)
"""How patiently the server is asked for a kind that it does not have yet."""


@asynccontextmanager
async def running_job_reconcilers(context: ControllerContext, registry: FrameworkRegistry) -> AsyncIterator[None]:
    """Jobs of all enabled frameworks led through their lives, for as long as the block lasts."""
    crew = _Crew(context, registry)
    try:
        async with recovering(context):
            yield
    finally:
        await crew.stop()


class _Crew:
    """All that is at work, and who still waits for a kind."""

    def __init__(self, context: ControllerContext, registry: FrameworkRegistry) -> None:
        self._context = context
        self._registry = registry
        self._expectations = UidExpectations()
        self._reads = CacheReader(context, self._expectations)
        self._ungater = Ungater(context)
        self._ungater.start()
        self._working: list[JobReconciler] = []
        found = [each for framework in registry.active() for each in (framework, *framework.planners)]
        wanted = (each for each in found if each.is_reconciled or isinstance(each, Planner))
        self._waiting = [asyncio.create_task(self._begin(each)) for each in wanted]

    async def stop(self) -> None:
        """Come to the end of what has begun."""
        for task in self._waiting:
            task.cancel()
        await asyncio.gather(*self._waiting, return_exceptions=True)
        await asyncio.gather(self._ungater.stop(), *(each.stop() for each in self._working))

    async def _begin(self, framework: Framework) -> None:
        failures = 0
        while not await is_kind_served(self._context.client, framework.resource):
            failures += 1
            wait = ASKING.steady(failures)
            log.info("%s waits: the server has no %s; next look in %g s", framework.name, framework.resource.kind, wait)
            await self._context.clock.sleep(wait)
        reconciler = self._reconciler(framework)
        self._working.append(reconciler)
        reconciler.start()

    def _reconciler(self, framework: Framework) -> JobReconciler:
        if isinstance(framework, Planner):
            return PlannerReconciler(self._context, self._registry, framework, self._reads, self._expectations)
        return JobReconciler(self._context, self._registry, framework, self._reads, self._expectations)


async def is_kind_served(client: Client, resource: Resource) -> bool:
    """Whether the server has a kind now; one that can't be asked counts as having it not yet."""
    try:
        found = await client.get_json(resource.root)
    except KubeError:
        return False
    listed = found.get("resources") if isinstance(found, dict) else None
    return any(each.get("name") == resource.plural for each in listed or ())
