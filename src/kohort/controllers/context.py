"""What all controllers share: one client, one informer per kind, one engine, one clock, one set of metrics.

It is synced in every replica; most controllers run only while this replica leads.
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
from kohort.controllers.topology.feed import TopologyFeed
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

EVENT_LIMITS: Final = EventLimits(buffer=10_000, writers=16)
"""Large enough to record all events of a burst of admissions, with some delay on a busy server."""
RETRY_LIMITS: Final = RetryLimits(Backoff(base=0.005, cap=30.0, jitter=0.0), rate=500.0, burst=1000)
"""Retries of failed keys: conflicts are frequent and cheap, and after an outage retries must not take minutes."""


def always_leads() -> bool:
    """For a process without leader election."""
    return True


@dataclass(frozen=True)
class ManagerSettings:
    """Configuration, feature gates and identity of a manager."""

    configuration: Configuration = field(default_factory=Configuration)
    gates: FeatureGates = DEFAULT_GATES
    namespace: str = "kueue-system"
    """The namespace of the manager."""
    identity: str = "kohort"
    """The name of this replica in events."""


class ControllerContext:
    """Everything that controllers share."""

    def __init__(
        self, client: Client, settings: ManagerSettings, metrics: KueueMetrics, leads: Callable[[], bool] = always_leads
    ) -> None:
        self.server_load = ServerLoad()
        self.clock: Clock = client.clock
        transport = LeaderOnlyTransport(client.transport, leads, self.clock, self.server_load)
        self.client = replace(client, transport=transport)
        """A client that rejects writes while another replica leads."""
        self.settings = settings
        self.metrics = metrics
        self.leads = leads
        self.informers = SharedInformerFactory(self.client)
        self._create_informers()
        self.engine = Engine(EngineSettings.of(settings.configuration, settings.gates))
        self.workload_cache = WorkloadAssumeCache(self.workloads)
        self.feed = EngineFeed(self.engine, self.informers, self.workload_cache, self.clock)
        self.topology_feed = TopologyFeed(self.feed, self.informers, self.clock, settings.gates)
        self._leading_callbacks: list[Callable[[], None]] = []
        self._recorders: dict[str, EventRecorder] = {}
        self._recorder_tasks: list[asyncio.Task[None]] = []

    def _create_informers(self) -> None:
        """Create one informer per kind, as attributes: a lookup for each use would be too slow."""
        self.workloads: Informer[Workload] = self.informers.of(Workload)
        """Workloads as shown by the watch; `workload_cache` includes own writes."""
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
        """The current time in UTC."""
        return self.clock.wall()

    def on_started_leading(self, begin: Callable[[], None]) -> None:
        """Call a function of a running controller when this replica becomes the leader."""
        self._leading_callbacks.append(begin)

    def start_leading(self) -> None:
        """Call all functions registered with `on_started_leading`."""
        for begin in self._leading_callbacks:
            begin()

    def recorder(self, controller: str) -> EventRecorder:
        """The event recorder of a controller; one per name."""
        recorder = self._recorders.get(controller)
        if recorder is None:
            recorder = EventRecorder(self.client, controller, f"{controller}-{self.settings.identity}", EVENT_LIMITS)
            self._recorders[controller] = recorder
            self._recorder_tasks.append(asyncio.create_task(recorder.run()))
        return recorder

    async def stop(self) -> None:
        """Stop the informers and flush buffered events."""
        await self.topology_feed.stop()
        await self.informers.stop()
        for task in self._recorder_tasks:
            task.cancel()
        await asyncio.gather(*self._recorder_tasks, return_exceptions=True)
        if self.leads():
            await asyncio.gather(*(recorder.flush() for recorder in self._recorders.values()))


@asynccontextmanager
async def running_context(
    client: Client, settings: ManagerSettings, metrics: KueueMetrics, leads: Callable[[], bool] = always_leads
) -> AsyncIterator[ControllerContext]:
    """Runs the informers of a context until the block exits; yields it once they are synced."""
    context = ControllerContext(client, settings, metrics, leads)
    context.informers.start()
    try:
        await context.informers.wait_for_sync()
        yield context
    finally:
        await context.stop()
