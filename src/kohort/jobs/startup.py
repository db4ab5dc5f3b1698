"""Starts and stops the reconcilers of all frameworks; those of custom kinds are on while these are served (JOB-95)."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager

from kohort.api.resource import Resource
from kohort.controllers.context import ControllerContext
from kohort.jobs.cache_reader import CacheReader
from kohort.jobs.contract import Framework
from kohort.jobs.expectations import UidExpectations
from kohort.jobs.failure_recovery import running_failure_recovery
from kohort.jobs.planners import PlannerReconciler
from kohort.jobs.reconciler import JobReconciler, KindReconciler
from kohort.jobs.registry import FrameworkRegistry
from kohort.jobs.served_kinds import KindAvailability, ServedKinds, definition_name, is_kubernetes_kind
from kohort.jobs.ungating.controller import PodUngater
from kohort.jobs.ungating.elastic_pods import ElasticGatePolicy
from kohort.jobs.ungating.started_pods import StartedPods
from kohort.jobs.ungating.topology_pods import TopologyGatePolicy

log = logging.getLogger(__name__)


@asynccontextmanager
async def running_job_reconcilers(context: ControllerContext, registry: FrameworkRegistry) -> AsyncIterator[None]:
    """Runs the reconcilers of all enabled frameworks until the context exits."""
    reconcilers = _JobReconcilers(context, registry)
    try:
        async with running_failure_recovery(context):
            yield
    finally:
        await reconcilers.stop()


class _FrameworkSwitch:
    """The reconcilers of one framework, which are on while all their kinds are served."""

    def __init__(self, framework: Framework, reconcilers: Sequence[KindReconciler], reads: CacheReader) -> None:
        self._name = framework.name
        self._kinds = (framework, *framework.planners)
        self._reads = reads
        self._states: list[KindAvailability] | None = None
        self.reconcilers = reconcilers
        self.resources: tuple[Resource, ...] = tuple(
            dict.fromkeys(resource for kind in self._kinds for resource in kind.resources)
        )

    def update(self, served: ServedKinds) -> None:
        """Switch the reconcilers on or off, with one line in the log."""
        found = {resource: served.availability(resource) for resource in self.resources}
        for resource, availability in found.items():
            if resource in self._reads.caches:
                self._reads.set_availability(resource, availability)
        before, self._states = self._states, list(found.values())
        if self._states == before:
            return
        missing = [resource for resource, state in found.items() if state is not KindAvailability.SERVED]
        self._log(missing, was_on=before is None or _is_on(before))
        for reconciler in self.reconcilers if before is not None else ():
            reconciler.enqueue_all()

    def _log(self, missing: Sequence[Resource], *, was_on: bool) -> None:
        if missing and was_on:
            names = ", ".join(f"{definition_name(each)} {each.version}" for each in missing)
            log.info("framework %s is off: the API server does not serve %s", self._name, names)
        elif not missing and not was_on:
            log.info("framework %s is on: its CustomResourceDefinitions are established", self._name)


def _is_on(states: Sequence[KindAvailability]) -> bool:
    return all(state is KindAvailability.SERVED for state in states)


class _JobReconcilers:
    """Started reconcilers, and the task that starts those of custom kinds."""

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
        custom = [each for each in registry.active() if not self._start_kubernetes_kinds(each)]
        self._waiting = asyncio.create_task(self._start_custom_kinds(custom)) if custom else None

    def _start_kubernetes_kinds(self, framework: Framework) -> bool:
        """Start the reconcilers of a framework whose kinds are always served; returns whether they are."""
        kinds = (framework, *framework.planners)
        if not all(is_kubernetes_kind(resource) for kind in kinds for resource in kind.resources):
            return False
        self._start(list(self._reconcilers(framework)))
        return True

    async def _start_custom_kinds(self, frameworks: Sequence[Framework]) -> None:
        served = ServedKinds(self._context.informers)
        await served.wait_for_sync()
        switches = [_FrameworkSwitch(each, list(self._reconcilers(each)), self._reads) for each in frameworks]
        for switch in switches:
            switch.update(served)
            self._start(switch.reconcilers)

        def changed() -> None:
            for switch in switches:
                switch.update(served)

        served.subscribe(changed)

    def _reconcilers(self, framework: Framework) -> Iterator[KindReconciler]:
        shared = self._context, self._registry
        if framework.is_reconciled:
            yield JobReconciler(*shared, framework, self._reads, self._expectations)
        for planner in framework.planners:
            yield PlannerReconciler(*shared, planner, self._reads, self._expectations)

    def _start(self, reconcilers: Sequence[KindReconciler]) -> None:
        self._working += reconcilers
        for each in reconcilers:
            each.start()

    async def stop(self) -> None:
        """Stop after reconciles in flight."""
        if self._waiting is not None:
            self._waiting.cancel()
            await asyncio.gather(self._waiting, return_exceptions=True)
        await asyncio.gather(*(each.stop() for each in self._ungaters), *(each.stop() for each in self._working))
