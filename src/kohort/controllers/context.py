"""What every controller stands on: one client, one cache per kind, one engine, one clock, one set of metrics.

It starts as a whole and is warm in every replica; controllers are added where, and as long as, this one leads.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from kohort.api.config.v1beta2 import Configuration
from kohort.api.core.namespaces import LimitRange, Namespace
from kohort.api.core.nodes import RuntimeClass
from kohort.api.gates import DEFAULT_GATES, FeatureGates
from kohort.api.kueue.v1beta2 import (
    AdmissionCheck,
    ClusterQueue,
    Cohort,
    LocalQueue,
    ResourceFlavor,
    Topology,
    Workload,
    WorkloadPriorityClass,
)
from kohort.controllers.engine_feed import EngineFeed
from kohort.controllers.leader_transport import LeaderOnlyTransport
from kohort.controllers.server_load import ServerLoad
from kohort.controllers.workloads.assume_cache import WorkloadAssumeCache
from kohort.engine.engine import Engine
from kohort.engine.settings import EngineSettings
from kohort.kube.backoff import Backoff
from kohort.kube.client import Client
from kohort.kube.clock import Clock
from kohort.kube.events import EventLimits, EventRecorder
from kohort.kube.informer import Informer, SharedInformerFactory
from kohort.kube.workqueue import RetryLimits
from kohort.metrics.kueue import KueueMetrics

EVENTS: Final = EventLimits(buffer=10_000, writers=16)
"""A burst of admissions is told in full, if a little later; and in step with them, on a server that is busy."""
RETRIES: Final = RetryLimits(Backoff(base=0.005, cap=30.0, jitter=0.0), rate=500.0, burst=1000)
"""How failed keys come back: conflicts are many and cheap, and after an outage nobody is to wait for minutes."""


def always() -> bool:
    """For a process without rivals: it leads."""
    return True


@dataclass(frozen=True)
class ManagerSettings:
    """What the manager was told to do."""

    configuration: Configuration = field(default_factory=Configuration)
    gates: FeatureGates = DEFAULT_GATES
    namespace: str = "kueue-system"
    """Where the manager itself lives."""
    identity: str = "kohort"
    """The name of this replica, as events tell it."""


class ControllerContext:
    """Everything that controllers share."""

    def __init__(
        self, client: Client, settings: ManagerSettings, metrics: KueueMetrics, leads: Callable[[], bool] = always
    ) -> None:
        self.strain = ServerLoad()
        self.clock: Clock = client.clock
        transport = LeaderOnlyTransport(client.transport, leads, self.clock, self.strain)
        self.client = replace(client, transport=transport)
        """Writes nothing while another replica leads."""
        self.settings = settings
        self.metrics = metrics
        self.leads = leads
        self.informers = SharedInformerFactory(self.client)
        self._take_up_informers()
        self.engine = Engine(EngineSettings.of(settings.configuration, settings.gates))
        self.known = WorkloadAssumeCache(self.workloads)
        self.feed = EngineFeed(self.engine, self.informers, self.known, self.clock)
        self._heirs: list[Callable[[], None]] = []
        self._recorders: dict[str, EventRecorder] = {}
        self._writing: list[asyncio.Task[None]] = []

    def _take_up_informers(self) -> None:
        """One for each kind; asked for so often that a lookup each time would tell."""
        self.workloads: Informer[Workload] = self.informers.of(Workload)
        """What the watch shows; `known` has what we wrote ourselves as well."""
        self.cluster_queues: Informer[ClusterQueue] = self.informers.of(ClusterQueue)
        self.local_queues: Informer[LocalQueue] = self.informers.of(LocalQueue)
        self.cohorts: Informer[Cohort] = self.informers.of(Cohort)
        self.flavors: Informer[ResourceFlavor] = self.informers.of(ResourceFlavor)
        self.checks: Informer[AdmissionCheck] = self.informers.of(AdmissionCheck)
        self.topologies: Informer[Topology] = self.informers.of(Topology)
        self.priority_classes: Informer[WorkloadPriorityClass] = self.informers.of(WorkloadPriorityClass)
        self.namespaces: Informer[Namespace] = self.informers.of(Namespace)
        self.limit_ranges: Informer[LimitRange] = self.informers.of(LimitRange)
        self.runtime_classes: Informer[RuntimeClass] = self.informers.of(RuntimeClass)

    def now(self) -> datetime:
        """The time of day, in UTC."""
        return self.clock.wall()

    def when_leading(self, begin: Callable[[], None]) -> None:
        """Have somebody called when this replica comes to lead who was at work before."""
        self._heirs.append(begin)

    def lead(self) -> None:
        """This replica leads from now on; who only looked on takes over."""
        for begin in self._heirs:
            begin()

    def recorder(self, controller: str) -> EventRecorder:
        """The recorder of events that are told in the name of a controller; one for each name."""
        recorder = self._recorders.get(controller)
        if recorder is None:
            recorder = EventRecorder(self.client, controller, f"{controller}-{self.settings.identity}", EVENTS)
            self._recorders[controller] = recorder
            self._writing.append(asyncio.create_task(recorder.run()))
        return recorder

    async def stop(self) -> None:
        """End the watches, and write the events that wait to be written."""
        await self.informers.stop()
        for task in self._writing:
            task.cancel()
        await asyncio.gather(*self._writing, return_exceptions=True)
        if self.leads():
            await asyncio.gather(*(recorder.flush() for recorder in self._recorders.values()))


@asynccontextmanager
async def running_context(
    client: Client, settings: ManagerSettings, metrics: KueueMetrics, leads: Callable[[], bool] = always
) -> AsyncIterator[ControllerContext]:
    """A world whose caches follow the server, for as long as the block lasts; live when it begins."""
    context = ControllerContext(client, settings, metrics, leads)
    context.informers.start()
    try:
        await context.informers.wait_live()
        yield context
    finally:
        await context.stop()
