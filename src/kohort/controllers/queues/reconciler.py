"""What all controllers of this room share: a queue of names, a pace, and who may write when.

Every replica looks, because gauges are told by all of them; only the leader writes, and only by caches that are live.
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
"""Objects of one kind that are looked at side by side: their writes wait for the API server, not for each other."""
FOLLOWING: Final = 15.0
"""Seconds between two looks of a replica that follows: they are for gauges alone, which Prometheus reads seldom."""


def key(name: str, namespace: str = "") -> ObjectKey:
    """The place of an object."""
    return ObjectKey(namespace, name)


class QueueReconciler(ABC, Generic[T]):
    """Keeps the objects of one kind as they should be."""

    def __init__(self, context: ControllerContext, informer: Informer[T], *sources: Informer[Any]) -> None:
        """The sources are what `keep` goes by besides the object itself and what the engine is told."""
        self.context = context
        self.informer = informer
        self._sources = (informer, *sources)
        name = informer.objects.kind.resource.kind.lower()
        self._queue: WorkQueue[ObjectKey] = WorkQueue(context.clock, name, metrics=context.client.metrics)
        self._pace = UpdateThrottle(self._queue, context.clock, context.strain)
        self._controller = Controller(name, self._queue, self._look, context.clock, context.client.metrics)

    @abstractmethod
    def subscribe(self) -> None:
        """Have the objects looked at that exist, and from now on whenever something happens that matters to them."""

    @abstractmethod
    async def keep(self, found: T, wanted: T) -> RequeueAfter | None:
        """Write what is not as it should be."""

    def judge(self, found: T) -> T:
        """The object as it should be, gauges set accordingly; most kinds have no status and no gauges."""
        return found

    def forget(self, gone: ObjectKey) -> None:
        """The object is gone, and its gauges go too."""

    def start(self) -> None:
        """Begin to look."""
        self.subscribe()
        self.context.when_leading(self._take_over)
        self._controller.start(WORKERS)

    def _take_over(self) -> None:
        """What was looked at for its gauges is looked at anew, to be written."""
        self.wake(self.informer.cache.all_keys())

    async def stop(self) -> None:
        """Bring to an end what has begun."""
        await self._controller.stop()

    def wake(self, keys: Iterable[ObjectKey]) -> None:
        """Look at these at once."""
        for each in keys:
            self._queue.add(each)

    def wake_soon(self, keys: Iterable[ObjectKey]) -> None:
        """Look at these in their time: what moved them moves again soon."""
        interval = INTERVAL if self.context.leads() else FOLLOWING
        for each in keys:
            self._pace.book(each, interval)

    def wake_itself(self, old: T | None, new: T | None) -> None:
        """The object came, changed or went; where only its status changed, that was probably our own doing."""
        found = new or old
        if found is None:
            return
        place = identity_of(found.metadata).key
        if old is not None and new is not None and _only_status_changed(old, new):
            self.wake_soon([place])
        else:
            self.wake([place])

    async def _look(self, place: ObjectKey) -> RequeueAfter | None:
        self._pace.begin(place)
        found = self.informer.cache.get(place)
        if found is None:
            self._pace.forget(place)
            self.forget(place)
            return None
        wanted = self.judge(found)
        if not self.context.leads():
            return None
        if not self._sees_all():
            return RequeueAfter(INTERVAL)
        try:
            return await self.keep(found, wanted)
        except StatusError as error:
            if error.is_not_found:
                return None
            raise

    def _sees_all(self) -> bool:
        """Whether nothing is looked at that may be long out of date."""
        return self.context.feed.is_live and all(source.synced for source in self._sources)


def _only_status_changed(old: CustomObject, new: CustomObject) -> bool:
    before, after = old.metadata, new.metadata
    return (
        0 < before.generation == after.generation
        and before.deletion_timestamp == after.deletion_timestamp
        and before.finalizers == after.finalizers
    )
