"""Starts and stops the reconcilers of all frameworks; those of custom kinds are on while these are served (JOB-95)."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager

from kohort.api.resource import Resource
from kohort.controllers.context import ControllerContext
from kohort.controllers.served_kinds import KindAvailability, ServedKinds, definition_name, is_kubernetes_kind
from kohort.jobs.cache_reader import CacheReader
from kohort.jobs.contract import Framework
from kohort.jobs.expectations import UidExpectations
from kohort.jobs.failure_recovery import running_failure_recovery
from kohort.jobs.planners import PlannerReconciler
from kohort.jobs.reconciler import JobReconciler, KindReconciler
from kohort.jobs.registry import FrameworkRegistry
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
        self.framework = framework
        self._reads = reads
        self._states: list[KindAvailability] | None = None
        self.reconcilers = reconcilers
        self.resources: tuple[Resource, ...] = tuple(
            dict.fromkeys(resource for kind in (framework, *framework.planners) for resource in kind.resources)
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
            log.info("framework %s is off: the API server does not serve %s", self.framework.name, names)
        elif not missing and not was_on:
            log.info("framework %s is on: its CustomResourceDefinitions are established", self.framework.name)


def _is_on(states: Sequence[KindAvailability]) -> bool:
    return all(state is KindAvailability.SERVED for state in states)


class _JobReconcilers:
    """Started reconcilers, and the task that starts and stops those of custom kinds."""

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
        self._switches: dict[str, _FrameworkSwitch] = {}
        for framework in registry.active():
            if not _is_custom(framework):
                self._start(list(self._reconcilers(framework)))
        self._changed = asyncio.Event()
        self._changed.set()
        registry.subscribe(self._changed.set)
        self._following = asyncio.create_task(self._follow_registry())

    async def _follow_registry(self) -> None:
        """Start and stop reconcilers of custom kinds as their frameworks are added and removed (JOB-236)."""
        served: ServedKinds | None = None
        while True:
            await self._changed.wait()
            self._changed.clear()
            custom = {each.name: each for each in self._registry.active() if _is_custom(each)}
            if served is None and custom:
                served = ServedKinds(self._context.informers)
                await served.wait_for_sync()
                served.subscribe(self._update_switches(served))
            await self._stop_removed(custom)
            if served is not None:
                self._start_added(custom, served)

    def _update_switches(self, served: ServedKinds) -> Callable[[], None]:
        def update() -> None:
            for switch in self._switches.values():
                switch.update(served)

        return update

    async def _stop_removed(self, custom: Mapping[str, Framework]) -> None:
        for name, switch in list(self._switches.items()):
            if custom.get(name) is not switch.framework:
                del self._switches[name]
                await asyncio.gather(*(each.stop() for each in switch.reconcilers))
                self._pause_unused(switch)

    def _pause_unused(self, removed: _FrameworkSwitch) -> None:
        """Stop the watches of kinds that only a removed framework read."""
        used = {resource for kind in self._registry.active() for resource in kind.resources}
        for resource in removed.resources:
            if resource not in used:
                self._reads.set_availability(resource, KindAvailability.ABSENT)

    def _start_added(self, custom: Mapping[str, Framework], served: ServedKinds) -> None:
        for name, framework in custom.items():
            if name not in self._switches:
                switch = _FrameworkSwitch(framework, list(self._reconcilers(framework)), self._reads)
                self._switches[name] = switch
                switch.update(served)
                for each in switch.reconcilers:
                    each.start()

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
        self._registry.unsubscribe(self._changed.set)
        self._following.cancel()
        await asyncio.gather(self._following, return_exceptions=True)
        custom = (each for switch in self._switches.values() for each in switch.reconcilers)
        await asyncio.gather(
            *(each.stop() for each in self._ungaters), *(each.stop() for each in (*self._working, *custom))
        )


def _is_custom(framework: Framework) -> bool:
    """Whether a kind of the framework has a CustomResourceDefinition."""
    kinds = (framework, *framework.planners)
    return not all(is_kubernetes_kind(resource) for kind in kinds for resource in kind.resources)
