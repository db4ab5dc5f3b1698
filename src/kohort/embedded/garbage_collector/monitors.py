"""Watches every deletable resource as resources come and go, and notifies listeners of changes.

CRDs and APIServices are watched too, so a new resource is watched at once; periodic discovery covers servers that serve
a resource later than its definition.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass

from kohort.api.errors import ApiError
from kohort.api.resource import Resource
from kohort.embedded.garbage_collector.discovered_resources import NOTHING, DiscoveredResources, discover
from kohort.embedded.garbage_collector.graph import GraphNode
from kohort.embedded.garbage_collector.metadata_client import (
    GcMetadata,
    MetadataClient,
    MetadataResource,
    ObjectLocation,
)
from kohort.kube.client import Client
from kohort.kube.clock import within
from kohort.kube.controller import Controller, RequeueAfter
from kohort.kube.errors import KubeError
from kohort.kube.informer import Informer
from kohort.kube.resource_client import ResourceClient
from kohort.kube.workqueue import WorkQueue

log = logging.getLogger(__name__)

GraphListener = Callable[[GraphNode | None, GraphNode | None], None]
"""Called with (None, new), (old, new) or (old, None), like informer handlers."""

_REGISTRIES = frozenset(
    (("apiextensions.k8s.io", "customresourcedefinitions"), ("apiregistration.k8s.io", "apiservices"))
)
_IGNORED = frozenset((("", "events"), ("events.k8s.io", "events")))
"""Events own nothing and expire by themselves."""
DISCOVERY_DELAY, MIN_PERIOD, MAX_PERIOD = 0.05, 1.0, 30.0
"""Seconds until discovery after a definition changed; initial and maximum period of discovery."""
SYNC_TIMEOUT = 30.0
"""Seconds to wait for resources that cannot be listed before continuing without them."""
_DISCOVERY = "discovery"


@dataclass(frozen=True, slots=True)
class _Monitor:
    informer: Informer[GcMetadata]
    task: asyncio.Task[None]


class Monitors:
    """The caches of all resources."""

    def __init__(self, client: Client, metadata_client: MetadataClient) -> None:
        self.discovered: DiscoveredResources = NOTHING
        self._client = client
        self._metadata_client = metadata_client
        self._listeners: list[GraphListener] = []
        self._running: dict[Resource, _Monitor] = {}
        self._period = MIN_PERIOD
        self._discovered = asyncio.Event()
        queue = WorkQueue[str](client.clock, _DISCOVERY, metrics=client.metrics)
        self._controller = Controller(_DISCOVERY, queue, self._discover_all, client.clock, client.metrics)

    @property
    def watched(self) -> list[Resource]:
        """The watched resources."""
        return list(self._running)

    def is_watched(self, resource: Resource) -> bool:
        """Whether a resource is watched, in any version."""
        return any((each.group, each.plural) == (resource.group, resource.plural) for each in self._running)

    def subscribe(self, listener: GraphListener) -> None:
        """Registers a listener; before `start`."""
        self._listeners.append(listener)

    def start(self) -> None:
        """Starts watching."""
        self._controller.queue.add(_DISCOVERY)
        self._controller.start()

    async def wait_for_sync(self) -> None:
        """Waits until every resource has synced; those that have not after a while are skipped."""
        await self._discovered.wait()
        try:
            await within(self._client.clock, SYNC_TIMEOUT, self._all_live())
        except TimeoutError:
            unsynced = [resource.kind for resource, each in self._running.items() if not each.informer.synced]
            log.warning("resource not synced yet, continuing without it: %s", ", ".join(unsynced))

    async def _all_live(self) -> None:
        await asyncio.gather(*(monitor.informer.wait_for_sync() for monitor in self._running.values()))

    async def stop(self) -> None:
        """Stops watching."""
        await self._controller.stop()
        await self._stop(list(self._running))

    # Discovery

    async def _discover_all(self, _: str) -> RequeueAfter:
        """Discovers the served resources and watches them; less often while nothing changes."""
        period, self._period = self._period, min(2 * self._period, MAX_PERIOD)
        try:
            discovered = await discover(self._client)
        except (KubeError, ApiError) as error:
            log.warning("discovery failed, retrying in %g s: %s", period, error)
            return RequeueAfter(period)
        await self._follow(discovered)
        self._discovered.set()
        return RequeueAfter(period)

    async def _follow(self, discovered: DiscoveredResources) -> None:
        self.discovered = discovered
        wanted = {served.resource for served in discovered.with_verbs("delete", "list", "watch")}
        wanted = {resource for resource in wanted if (resource.group, resource.plural) not in _IGNORED}
        for resource in wanted.difference(self._running):
            self._create_new_set(resource)
        # Resources of a group whose discovery failed may still exist.
        gone = [each for each in self._running if each not in wanted and each.api_version not in discovered.failed]
        await self._stop(gone)

    def _create_new_set(self, resource: Resource) -> None:
        informer = Informer(ResourceClient(self._metadata_client.listing, MetadataResource(resource)))
        informer.subscribe(lambda old, new: self._changed(resource, old, new))
        self._running[resource] = _Monitor(informer, asyncio.create_task(informer.run()))

    async def _stop(self, resources: list[Resource]) -> None:
        ended = [(resource, self._running.pop(resource)) for resource in resources]
        for _, monitor in ended:
            monitor.task.cancel()
        await asyncio.gather(*(monitor.task for _, monitor in ended), return_exceptions=True)
        for resource, monitor in ended:
            for last in monitor.informer.cache:
                self._changed(resource, last, None)

    def _changed(self, resource: Resource, old: GcMetadata | None, new: GcMetadata | None) -> None:
        if (resource.group, resource.plural) in _REGISTRIES:
            self._period = MIN_PERIOD
            self._controller.queue.add_after(_DISCOVERY, DISCOVERY_DELAY)
        for listener in self._listeners:
            listener(_node(resource, old), _node(resource, new))


def _node(resource: Resource, found: GcMetadata | None) -> GraphNode | None:
    return None if found is None else GraphNode(ObjectLocation(resource, found.namespace, found.name), found)
