"""A cache that tells its readers what changed: every object's calls form one chain, from its coming to its going.

Handlers get (old, new): (None, new) for a new object, (old, new) for a changed one, (old, None) for one that is gone.
A name that was taken by another object in between is told as going and coming.
"""

import logging
from collections.abc import Callable
from typing import Generic, TypeVar

from kohort.api.meta import ObjectKey
from kohort.kube.indexer import Indexer
from kohort.kube.metrics import MetricsSink
from kohort.kube.resource_types import ResourceType, UndecodableObject
from kohort.kube.watch_events import WatchEvent, WatchEventType

log = logging.getLogger(__name__)

T = TypeVar("T")

Handler = Callable[[T | None, T | None], None]


class NotifyingStore(Generic[T]):
    """The state of one kind, changed by lists and watches."""

    def __init__(self, kind: ResourceType[T], metrics: MetricsSink) -> None:
        self._kind = kind
        self._metrics = metrics
        self._handlers: list[Handler[T]] = []
        self.cache: Indexer[T] = Indexer()
        self.unreadable: dict[ObjectKey, UndecodableObject] = {}
        """Objects that can't be read; the cache keeps the last state of them that could."""

    def subscribe(self, handler: Handler[T]) -> None:
        """Tell a handler of everything that is there, and from now on of each change."""
        self._handlers.append(handler)
        for obj in self.cache:
            self._tell(handler, None, obj)

    def put(self, obj: T) -> None:
        """The object is there, in this state."""
        key, uid, version = self._kind.identity(obj)
        if self.unreadable:
            self.unreadable.pop(key, None)
        old = self.cache.get(key)
        if old is None:
            self._set(key, None, obj)
            return
        _, old_uid, old_version = self._kind.identity(old)
        if old_uid != uid:
            self.drop(key, old)
            self._set(key, None, obj)
        elif old_version != version:
            self._set(key, old, obj)

    def drop(self, key: ObjectKey, last: T) -> None:
        """The object is gone; `last` is the last state that is known of it."""
        self.cache.remove(key)
        self._tell_all(last, None)

    def set_aside(self, bad: UndecodableObject) -> None:
        """The object is there in a shape that can't be read."""
        key = bad.identity.key
        if self.unreadable.get(key) != bad:
            log.error("%s %s can't be read and is left as it was: %s", self._kind.resource.kind, key, bad.why)
            self._metrics.count("kube_unreadable_objects", {"kind": self._kind.resource.kind})
        self.unreadable[key] = bad

    def keep_only(self, keys: set[ObjectKey]) -> None:
        """After a list: whatever it did not name is gone."""
        for key in self.cache.all_keys():
            last = self.cache.get(key) if key not in keys else None
            if last is not None:
                self.drop(key, last)
        self.unreadable = {key: bad for key, bad in self.unreadable.items() if key in keys}

    def apply(self, change: WatchEvent[T]) -> None:
        """One event of a watch."""
        if change.type is WatchEventType.DELETED:
            self._gone(change)
        elif isinstance(change.object, UndecodableObject):
            self.set_aside(change.object)
        elif change.object is not None:
            self.put(change.object)

    def _gone(self, change: WatchEvent[T]) -> None:
        final = change.object
        if final is None:
            return
        key = final.identity.key if isinstance(final, UndecodableObject) else self._kind.identity(final).key
        self.unreadable.pop(key, None)
        known = self.cache.get(key)
        if known is not None:
            self.drop(key, known if isinstance(final, UndecodableObject) else final)

    def _set(self, key: ObjectKey, old: T | None, new: T) -> None:
        self.cache.put(key, new)
        self._tell_all(old, new)

    def _tell_all(self, old: T | None, new: T | None) -> None:
        for handler in self._handlers:
            self._tell(handler, old, new)

    def _tell(self, handler: Handler[T], old: T | None, new: T | None) -> None:
        """A handler that fails must not keep the others, nor the cache, from going on."""
        try:
            handler(old, new)
        except Exception:
            log.exception("a handler of %s events failed", self._kind.resource.kind)
            self._metrics.count("kube_handler_failures", {"kind": self._kind.resource.kind})
