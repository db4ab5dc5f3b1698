"""The base of all controllers of this package: a work queue, throttling, and the conditions for writing.

Every replica reconciles, because all set gauges; only the leader writes, and only while its caches are synced.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Final, Generic, TypeVar

from kohort.api.kinds import CustomObject
from kohort.api.meta import ObjectKey
from kohort.controllers.context import ControllerContext
from kohort.controllers.queues.throttle import INTERVAL, UpdateThrottle
from kohort.kube.controller import Controller, RequeueAfter
from kohort.kube.errors import StatusError
from kohort.kube.informer import Informer
from kohort.kube.resource_types import identity_of
from kohort.kube.workqueue import WorkQueue

T = TypeVar("T", bound=CustomObject)

WORKERS: Final = 4
"""Concurrent reconciles of one kind: writes wait for the API server, not for each other."""
FOLLOWER_INTERVAL: Final = 15.0
"""Seconds between two reconciles of an object in a follower, which only sets gauges."""


def object_key(name: str, namespace: str = "") -> ObjectKey:
    """The key of an object."""
    return ObjectKey(namespace, name)


class QueueReconciler(ABC, Generic[T]):
    """Reconciles the objects of one kind."""

    def __init__(self, context: ControllerContext, informer: Informer[T], *sources: Informer[Any]) -> None:
        """`sources` are further informers on which writes depend, besides those of the engine."""
        self.context = context
        self.informer = informer
        self._sources = (informer, *sources)
        name = informer.objects.kind.resource.kind.lower()
        self._queue: WorkQueue[ObjectKey] = WorkQueue(context.clock, name, metrics=context.client.metrics)
        self._throttle = UpdateThrottle(self._queue, context.clock, context.server_load)
        self._controller = Controller(name, self._queue, self._reconcile, context.clock, context.client.metrics)

    @abstractmethod
    def subscribe(self) -> None:
        """Subscribe to all events that affect objects of this kind, and enqueue existing objects."""

    @abstractmethod
    async def write(self, found: T, wanted: T) -> RequeueAfter | None:
        """Write the differences between the found and the desired object."""

    def desired(self, found: T) -> T:
        """The desired object; sets gauges too. By default the object itself."""
        return found

    def forget(self, gone: ObjectKey) -> None:
        """Remove the gauges of a deleted object."""

    def start(self) -> None:
        """Start reconciling."""
        self.subscribe()
        self.context.on_started_leading(self._enqueue_all)
        self._controller.start(WORKERS)

    def _enqueue_all(self) -> None:
        """Reconcile all objects again as the leader, to write them."""
        self.enqueue(self.informer.cache.all_keys())

    async def stop(self) -> None:
        """Stop after reconciles in flight."""
        await self._controller.stop()

    def enqueue(self, keys: Iterable[ObjectKey]) -> None:
        """Enqueue objects at once."""
        for each in keys:
            self._queue.add(each)

    def enqueue_throttled(self, keys: Iterable[ObjectKey]) -> None:
        """Enqueue objects with throttling, for events that come in bursts."""
        interval = INTERVAL if self.context.leads() else FOLLOWER_INTERVAL
        for each in keys:
            self._throttle.schedule(each, interval)

    def enqueue_changed(self, old: T | None, new: T | None) -> None:
        """Enqueue a created, changed or deleted object; throttled if only its status changed, as by an own write."""
        found = new or old
        if found is None:
            return
        key = identity_of(found.metadata).key
        if old is not None and new is not None and _only_status_changed(old, new):
            self.enqueue_throttled([key])
        else:
            self.enqueue([key])

    async def _reconcile(self, key: ObjectKey) -> RequeueAfter | None:
        self._throttle.started(key)
        found = self.informer.cache.get(key)
        if found is None:
            self._throttle.forget(key)
            self.forget(key)
            return None
        wanted = self.desired(found)
        if not self.context.leads():
            return None
        if not self._caches_synced():
            return RequeueAfter(INTERVAL)
        try:
            return await self.write(found, wanted)
        except StatusError as error:
            if error.is_not_found:
                return None
            raise

    def _caches_synced(self) -> bool:
        """Whether no source is stale."""
        return self.context.feed.is_synced and all(source.synced for source in self._sources)


def _only_status_changed(old: CustomObject, new: CustomObject) -> bool:
    before, after = old.metadata, new.metadata
    return (
        0 < before.generation == after.generation
        and before.deletion_timestamp == after.deletion_timestamp
        and before.finalizers == after.finalizers
    )
