"""A cache that notifies handlers of changes; the calls for an object form one sequence from creation to deletion.

Handlers get (None, new) for a new object, (old, new) for a changed one, (old, None) for a deleted one.
An object that was re-created under its name is reported as deleted and new.
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

EventHandler = Callable[[T | None, T | None], None]


class NotifyingStore(Generic[T]):
    """The cache of one resource, updated by lists and watches."""

    def __init__(self, kind: ResourceType[T], metrics: MetricsSink) -> None:
        self._kind = kind
        self._metrics = metrics
        self._handlers: list[EventHandler[T]] = []
        self.cache: Indexer[T] = Indexer()
        self.unreadable: dict[ObjectKey, UndecodableObject] = {}
        """Objects that could not be decoded; the cache keeps their last decodable version."""

    def subscribe(self, handler: EventHandler[T]) -> None:
        """Call a handler for all existing objects, and from now on for each change."""
        self._handlers.append(handler)
        for obj in self.cache:
            self._notify(handler, None, obj)

    def unsubscribe(self, handler: EventHandler[T]) -> None:
        """Do not call a handler any more."""
        self._handlers.remove(handler)

    def put(self, obj: T) -> None:
        """Add or update an object."""
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
        """Delete an object; `last` is its last known version."""
        self.cache.remove(key)
        self._notify_all(last, None)

    def set_undecodable(self, bad: UndecodableObject) -> None:
        """Record an object that could not be decoded."""
        key = bad.identity.key
        if self.unreadable.get(key) != bad:
            log.error(
                "%s %s: cannot decode object, keeping the previous version: %s", self._kind.resource.kind, key, bad.why
            )
            self._metrics.count("kube_unreadable_objects", {"kind": self._kind.resource.kind})
        self.unreadable[key] = bad

    def keep_only(self, keys: set[ObjectKey]) -> None:
        """Delete the objects that a list did not contain."""
        for key in self.cache.all_keys():
            last = self.cache.get(key) if key not in keys else None
            if last is not None:
                self.drop(key, last)
        self.unreadable = {key: bad for key, bad in self.unreadable.items() if key in keys}

    def apply(self, change: WatchEvent[T]) -> None:
        """Apply a watch event."""
        if change.type is WatchEventType.DELETED:
            self._gone(change)
        elif isinstance(change.object, UndecodableObject):
            self.set_undecodable(change.object)
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
        self._notify_all(old, new)

    def _notify_all(self, old: T | None, new: T | None) -> None:
        for handler in self._handlers:
            self._notify(handler, old, new)

    def _notify(self, handler: EventHandler[T], old: T | None, new: T | None) -> None:
        """Call a handler; if it fails, other handlers and the cache must not be affected."""
        try:
            handler(old, new)
        except Exception:
            log.exception("%s: event handler failed", self._kind.resource.kind)
            self._metrics.count("kube_handler_failures", {"kind": self._kind.resource.kind})
