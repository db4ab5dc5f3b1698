"""Informers: one cache per resource and scope, shared by all controllers.

Readers use the cache, subscribe to changes and check whether it is synced; none of them lists or polls by itself.
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
from kohort.kube.notifying_store import EventHandler, NotifyingStore
from kohort.kube.options import EVERYTHING, ListScope
from kohort.kube.reflector import DEFAULT_WATCH, Reflector, WatchSettings
from kohort.kube.resource_client import ResourceClient
from kohort.kube.resource_types import ResourceType, UndecodableObject
from kohort.kube.sync_status import SyncStatus, SyncTracker

T = TypeVar("T")
S = TypeVar("S", bound=CustomObject | ObjectView)


class Informer(Generic[T]):
    """A cache of one resource, kept up to date by a reflector."""

    def __init__(
        self, objects: ResourceClient[T], scope: ListScope = EVERYTHING, settings: WatchSettings = DEFAULT_WATCH
    ) -> None:
        self.objects = objects
        self.scope = scope
        self._tracker = SyncTracker(objects.client.clock)
        self._running = asyncio.Lock()
        self._store = NotifyingStore(objects.kind, objects.client.metrics)
        self._reflector = Reflector(objects, scope, self._store, self._tracker, settings)

    @property
    def cache(self) -> Indexer[T]:
        """The indexer; its objects are shared and must not be changed."""
        return self._store.cache

    @property
    def sync_status(self) -> SyncStatus:
        """Whether the cache is synced; if not, since when and why."""
        return self._tracker.sync_status

    @property
    def synced(self) -> bool:
        """Whether the cache is synced now; False again when the watch is lost."""
        return self.sync_status.is_synced

    @property
    def unreadable(self) -> dict[ObjectKey, UndecodableObject]:
        """Objects that could not be decoded; the cache has their last decodable version, if any."""
        return self._store.unreadable

    def subscribe(self, handler: EventHandler[T]) -> None:
        """Add a handler that is called with (old, new) for each change, and with (None, obj) for existing objects."""
        self._store.subscribe(handler)

    def unsubscribe(self, handler: EventHandler[T]) -> None:
        """Do not call a handler any more."""
        self._store.unsubscribe(handler)

    def index(self, name: str, values: IndexFunction[T]) -> None:
        """Add an index."""
        self.cache.index(name, values)

    async def wait_for_sync(self) -> None:
        """Wait until the cache is synced."""
        await self._tracker.wait_for_sync()

    async def run(self) -> None:
        """List and watch until cancelled; waits until an earlier run has ended."""
        async with self._running:
            await self._reflector.run()

    def clear(self) -> None:
        """Drop all objects, as deleted ones."""
        self._store.keep_only(set())


class SharedInformerFactory:
    """All informers of a process: each resource and scope is watched once."""

    def __init__(self, client: Client, settings: WatchSettings = DEFAULT_WATCH) -> None:
        self._client = client
        self._settings = settings
        self._informers: dict[tuple[ResourceType[Any], ListScope], Informer[Any]] = {}
        self._tasks: dict[tuple[ResourceType[Any], ListScope], asyncio.Task[None]] = {}
        self._paused: set[tuple[ResourceType[Any], ListScope]] = set()
        """Informers of resources that are not served."""
        self._ending: set[asyncio.Task[None]] = set()
        """Cancelled tasks that have not ended yet."""
        self._started = False

    @overload
    def of(self, kind: ResourceType[T], scope: ListScope = ...) -> Informer[T]: ...
    @overload
    def of(self, kind: type[S], scope: ListScope = ...) -> Informer[S]: ...
    @overload
    def of(self, kind: Resource, scope: ListScope = ...) -> Informer[dict[str, Json]]: ...
    def of(self, kind: Any, scope: ListScope = EVERYTHING) -> Informer[Any]:
        """The informer of a resource, created on first use; started immediately if the factory has started."""
        objects = self._client.of(kind)
        key = (objects.kind, scope)
        informer = self._informers.get(key)
        if informer is None:
            informer = self._informers[key] = Informer(objects, scope, self._settings)
            if self._started:
                self._tasks[key] = asyncio.create_task(informer.run())
        return informer

    def pause(self, informer: Informer[Any]) -> None:
        """Stop the watch of a resource that is not served; its objects count as deleted."""
        key = (informer.objects.kind, informer.scope)
        if key in self._paused:
            return
        self._paused.add(key)
        task = self._tasks.pop(key, None)
        if task is not None:
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)
            task.cancel()
        informer.clear()

    def resume(self, informer: Informer[Any]) -> None:
        """Watch again a resource whose watch was paused."""
        key = (informer.objects.kind, informer.scope)
        if key not in self._paused:
            return
        self._paused.discard(key)
        if self._started:
            self._tasks[key] = asyncio.create_task(informer.run())

    def __iter__(self) -> Iterator[Informer[Any]]:
        """All informers."""
        return iter(self._informers.values())

    def start(self) -> None:
        """Start all informers."""
        self._started = True
        for key, informer in self._informers.items():
            if key not in self._tasks and key not in self._paused:
                self._tasks[key] = asyncio.create_task(informer.run())

    async def wait_for_sync(self) -> None:
        """Wait until each informer has been synced once."""
        await asyncio.gather(*(informer.wait_for_sync() for informer in self._watching()))

    def not_synced(self) -> dict[str, SyncStatus]:
        """Sync status of the informers that are not synced, by kind, for health checks."""
        return {
            informer.objects.kind.resource.kind: informer.sync_status
            for informer in self._watching()
            if not informer.synced
        }

    def _watching(self) -> list[Informer[Any]]:
        return [informer for key, informer in self._informers.items() if key not in self._paused]

    async def stop(self) -> None:
        """Stop all watches."""
        self._started = False
        tasks = [*self._tasks.values(), *self._ending]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._tasks.clear()
