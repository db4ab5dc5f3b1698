"""Informers: one cache per kind and scope, shared by everybody who wants to know.

Nobody polls and nobody lists for himself: readers ask the cache, subscribe to changes, and ask how fresh it is.
"""

import asyncio
from collections.abc import Iterator
from typing import Any, Generic, TypeVar, overload

from kohort.api.codec import Json
from kohort.api.core.objects import ObjectView
from kohort.api.kinds import CustomObject
from kohort.api.meta import ObjectKey
from kohort.api.resource import Resource
from kohort.kube.client import Client
from kohort.kube.indexer import Indexer, IndexFunction
from kohort.kube.notifying_store import Handler, NotifyingStore
from kohort.kube.options import EVERYTHING, ListScope
from kohort.kube.reflector import USUAL, Reflector, WatchSettings
from kohort.kube.resource_client import ResourceClient
from kohort.kube.resource_types import ResourceType, UndecodableObject
from kohort.kube.sync_status import SyncStatus, SyncTracker

T = TypeVar("T")
S = TypeVar("S", bound=CustomObject | ObjectView)


class Informer(Generic[T]):
    """What a server has of one kind, kept up to date."""

    def __init__(
        self, objects: ResourceClient[T], scope: ListScope = EVERYTHING, settings: WatchSettings = USUAL
    ) -> None:
        self.objects = objects
        self.scope = scope
        self._standing = SyncTracker(objects.client.clock)
        self._mirror = NotifyingStore(objects.kind, objects.client.metrics)
        self._reflector = Reflector(objects, scope, self._mirror, self._standing, settings)

    @property
    def cache(self) -> Indexer[T]:
        """The objects; shared, so read only."""
        return self._mirror.cache

    @property
    def freshness(self) -> SyncStatus:
        """Whether the cache follows the server now; if not, since when and why."""
        return self._standing.freshness

    @property
    def synced(self) -> bool:
        """Whether the cache is live now; not whether it once was."""
        return self.freshness.is_live

    @property
    def unreadable(self) -> dict[ObjectKey, UndecodableObject]:
        """Objects on the server that can't be read; the cache has their last readable state, if there was one."""
        return self._mirror.unreadable

    def subscribe(self, handler: Handler[T]) -> None:
        """Have a handler called with (old, new) for each change, at first with (None, obj) for all that is there."""
        self._mirror.subscribe(handler)

    def index(self, name: str, values: IndexFunction[T]) -> None:
        """Make objects findable under the values that a function gives."""
        self.cache.index(name, values)

    async def wait_live(self) -> None:
        """Return as soon as the cache is live."""
        await self._standing.wait_live()

    async def run(self) -> None:
        """Follow the server until cancelled."""
        await self._reflector.run()


class SharedInformerFactory:
    """All informers of a process: each kind and scope is watched once."""

    def __init__(self, client: Client, settings: WatchSettings = USUAL) -> None:
        self._client = client
        self._settings = settings
        self._informers: dict[tuple[ResourceType[Any], ListScope], Informer[Any]] = {}
        self._tasks: dict[tuple[ResourceType[Any], ListScope], asyncio.Task[None]] = {}
        self._started = False

    @overload
    def of(self, kind: ResourceType[T], scope: ListScope = ...) -> Informer[T]: ...
    @overload
    def of(self, kind: type[S], scope: ListScope = ...) -> Informer[S]: ...
    @overload
    def of(self, kind: Resource, scope: ListScope = ...) -> Informer[dict[str, Json]]: ...
    def of(self, kind: Any, scope: ListScope = EVERYTHING) -> Informer[Any]:
        """The informer of a kind; made at the first question, and started at once when the others are."""
        objects = self._client.of(kind)
        key = (objects.kind, scope)
        informer = self._informers.get(key)
        if informer is None:
            informer = self._informers[key] = Informer(objects, scope, self._settings)
            if self._started:
                self._tasks[key] = asyncio.create_task(informer.run())
        return informer

    def __iter__(self) -> Iterator[Informer[Any]]:
        """All informers."""
        return iter(self._informers.values())

    def start(self) -> None:
        """Start following the server with every informer."""
        self._started = True
        for key, informer in self._informers.items():
            if key not in self._tasks:
                self._tasks[key] = asyncio.create_task(informer.run())

    async def wait_live(self) -> None:
        """Return when each has been live, at a moment of its own."""
        await asyncio.gather(*(informer.wait_live() for informer in self._informers.values()))

    def not_live(self) -> dict[str, SyncStatus]:
        """What health checks report: the kinds whose cache does not follow the server, with reason."""
        return {
            informer.objects.kind.resource.kind: informer.freshness
            for informer in self._informers.values()
            if not informer.synced
        }

    async def stop(self) -> None:
        """End all watches."""
        self._started = False
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        self._tasks.clear()
