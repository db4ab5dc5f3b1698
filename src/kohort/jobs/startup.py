"""Starts and stops the reconcilers of all frameworks; each starts once its kind is served (JOB-95)."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

from kohort.api.resource import Resource
from kohort.controllers.context import ControllerContext
from kohort.jobs.cache_reader import CacheReader
from kohort.jobs.contract import ReconciledKind
from kohort.jobs.expectations import UidExpectations
from kohort.jobs.failure_recovery import running_failure_recovery
from kohort.jobs.planners import PlannerReconciler
from kohort.jobs.reconciler import JobReconciler, KindReconciler
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
        self._working: list[KindReconciler] = []
        self._waiting = [asyncio.create_task(self._start_when_served(*each)) for each in self._kinds()]

    def _kinds(self) -> Iterator[tuple[ReconciledKind, Callable[[], KindReconciler]]]:
        """The kinds to reconcile, and how their reconcilers are created."""
        shared = self._context, self._registry
        for framework in self._registry.active():
            if framework.is_reconciled:
                yield framework, partial(JobReconciler, *shared, framework, self._reads, self._expectations)
            for planner in framework.planners:
                yield planner, partial(PlannerReconciler, *shared, planner, self._reads, self._expectations)

    async def stop(self) -> None:
        """Stop after reconciles in flight."""
        for task in self._waiting:
            task.cancel()
        await asyncio.gather(*self._waiting, return_exceptions=True)
        await asyncio.gather(*(each.stop() for each in self._ungaters), *(each.stop() for each in self._working))

    async def _start_when_served(self, kind: ReconciledKind, reconciler_of: Callable[[], KindReconciler]) -> None:
        failures = 0
        while not await is_kind_served(self._context.client, kind.resource):
            failures += 1
            wait = DISCOVERY_BACKOFF.steady(failures)
            log.info(
                "integration %s: resource %s not served, retrying in %g s",
                kind.name,
                kind.resource.kind,
                wait,
            )
            await self._context.clock.sleep(wait)
        reconciler = reconciler_of()
        self._working.append(reconciler)
        reconciler.start()


async def is_kind_served(client: Client, resource: Resource) -> bool:
    """Whether the server serves a kind now; False if discovery fails."""
    try:
        found = await client.get_json(resource.root)
    except KubeError:
        return False
    listed = found.get("resources") if isinstance(found, dict) else None
    return any(each.get("name") == resource.plural for each in listed or ())
