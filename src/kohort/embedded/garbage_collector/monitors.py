"""Follows every kind of object that can be deleted, as kinds come and go, and tells others what changed.

Definitions and APIServices are watched like all else, so a new kind is followed at once; a slow look now and then
covers servers that announce a kind later than its definition.
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

Listener = Callable[[GraphNode | None, GraphNode | None], None]
"""Is told (None, new), (old, new) or (old, None), as the handlers of informers are."""

_REGISTRIES = frozenset(
    (("apiextensions.k8s.io", "customresourcedefinitions"), ("apiregistration.k8s.io", "apiservices"))
)
_IGNORED = frozenset((("", "events"), ("events.k8s.io", "events")))
"""Events own nothing, and their server lets them go by itself."""
SOON, SHORTEST, LONGEST = 0.05, 1.0, 30.0
"""Seconds until discovery after a definition changed; between looks at first, and when nothing happens."""
PATIENCE = 30.0
"""Seconds to wait for kinds that can't be listed before work begins without them."""
_DISCOVERY = "discovery"


@dataclass(frozen=True, slots=True)
class _Monitor:
    informer: Informer[GcMetadata]
    task: asyncio.Task[None]


class Monitors:
    """The caches of all kinds."""

    def __init__(self, client: Client, partials: MetadataClient) -> None:
        self.surface: DiscoveredResources = NOTHING
        self._client = client
        self._partials = partials
        self._listeners: list[Listener] = []
        self._running: dict[Resource, _Monitor] = {}
        self._pause = SHORTEST
        self._discovered = asyncio.Event()
        queue = WorkQueue[str](client.clock, _DISCOVERY, metrics=client.metrics)
        self._controller = Controller(_DISCOVERY, queue, self._look, client.clock, client.metrics)

    @property
    def followed(self) -> list[Resource]:
        """The resources that are followed now."""
        return list(self._running)

    def follows(self, resource: Resource) -> bool:
        """Whether objects of a resource are followed, in whatever version."""
        return any((each.group, each.plural) == (resource.group, resource.plural) for each in self._running)

    def subscribe(self, listener: Listener) -> None:
        """Have a listener told of each change; before `start`."""
        self._listeners.append(listener)

    def start(self) -> None:
        """Begin to follow."""
        self._controller.queue.add(_DISCOVERY)
        self._controller.start()

    async def wait_live(self) -> None:
        """Return when every kind is followed; kinds that can't be are left behind after a while."""
        await self._discovered.wait()
        try:
            await within(self._client.clock, PATIENCE, self._all_live())
        except TimeoutError:
            silent = [resource.kind for resource, each in self._running.items() if not each.informer.synced]
            log.warning("not followed yet, and not waited for: %s", ", ".join(silent))

    async def _all_live(self) -> None:
        await asyncio.gather(*(monitor.informer.wait_live() for monitor in self._running.values()))

    async def stop(self) -> None:
        """Follow nothing any more."""
        await self._controller.stop()
        await self._stop(list(self._running))

    # Discovery

    async def _look(self, _: str) -> RequeueAfter:
        """See what is served now, and follow just that; less and less often while nothing happens."""
        pause, self._pause = self._pause, min(2 * self._pause, LONGEST)
        try:
            surface = await discover(self._client)
        except (KubeError, ApiError) as error:
            log.warning("discovery failed, so kinds stay as they are; again in %g s: %s", pause, error)
            return RequeueAfter(pause)
        await self._follow(surface)
        self._discovered.set()
        return RequeueAfter(pause)

    async def _follow(self, surface: DiscoveredResources) -> None:
        self.surface = surface
        wanted = {served.resource for served in surface.with_verbs("delete", "list", "watch")}
        wanted = {resource for resource in wanted if (resource.group, resource.plural) not in _IGNORED}
        for resource in wanted.difference(self._running):
            self._begin(resource)
        # A group that did not answer may still be there.
        gone = [each for each in self._running if each not in wanted and each.api_version not in surface.failed]
        await self._stop(gone)

    def _begin(self, resource: Resource) -> None:
        informer = Informer(ResourceClient(self._partials.listing, MetadataResource(resource)))
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
            self._pause = SHORTEST
            self._controller.queue.add_after(_DISCOVERY, SOON)
        for listener in self._listeners:
            listener(_node(resource, old), _node(resource, new))


def _node(resource: Resource, found: GcMetadata | None) -> GraphNode | None:
    return None if found is None else GraphNode(ObjectLocation(resource, found.namespace, found.name), found)
