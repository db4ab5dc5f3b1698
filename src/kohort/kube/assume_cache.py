"""An informer's objects, overlaid with own writes that the watch has not shown yet (kube-scheduler's assume cache).

A controller that acts right after its own write needs the result of that write, or it would repeat it.
"""

from collections.abc import Callable, Iterator
from typing import Final, Generic, TypeVar

from kohort.api.meta import ObjectKey
from kohort.kube.indexer import Indexer
from kohort.kube.informer import Informer
from kohort.kube.resource_types import ObjectIdentity

T = TypeVar("T")

MAX_ASSUMED: Final = 10_000
"""Own writes that are kept; the watch shows nearly all within a second."""
MAX_ASSUMED_SECONDS: Final = 60.0
"""Seconds after which an own write that no watch has shown is dropped: created and deleted between two lists."""


def is_newer(one: str, other: str) -> bool:
    """Whether one resourceVersion is later than another; API servers number the states of a resource upwards."""
    if one.isdecimal() and other.isdecimal():
        return int(one) > int(other)
    return one != other


class AssumeCache(Generic[T]):
    """The newest known state of each object: the watch's, or an own write that is ahead of it."""

    def __init__(self, informer: Informer[T], identity: Callable[[T], ObjectIdentity]) -> None:
        self._informer = informer
        self._identity = identity
        self._clock = informer.objects.client.clock
        self._assumed: Indexer[T] = Indexer()
        self._since: dict[ObjectKey, float] = {}
        """When each entry of `_assumed` was written, the oldest first."""
        self._deleted: dict[str, None] = {}
        """UIDs of the latest deleted objects, which a late response must not bring back."""
        self._followers: list[Callable[[ObjectKey, T | None], None]] = []
        informer.subscribe(self._observe)

    def get(self, key: tuple[str, str]) -> T | None:
        """The newest known state of an object."""
        self._drop_expired()
        return self._assumed.get(key) or self._informer.cache.get(key)

    def __iter__(self) -> Iterator[T]:
        """All objects in their newest known states."""
        self._drop_expired()
        keys = dict.fromkeys((*self._informer.cache.all_keys(), *self._assumed.all_keys()))
        return (found for key in keys if (found := self.get(key)) is not None)

    def follow(self, follower: Callable[[ObjectKey, T | None], None]) -> None:
        """Call a function with each new state, from the watch or an own write, and never with an older one.

        It is called with None for a deleted object, and at once for every object.
        """
        self._followers.append(follower)
        for each in self:
            follower(self._identity(each).key, each)

    def assume(self, written: T) -> None:
        """Use the response to an own write until the watch shows it or something later."""
        key, uid, version = self._identity(written)
        known = self.get(key)
        if uid in self._deleted or (known is not None and not is_newer(version, self._identity(known).version)):
            return
        self._assumed.put(key, written)
        self._since.pop(key, None)
        self._since[key] = self._clock.now()
        self._notify(key, written)
        if len(self._since) > MAX_ASSUMED:
            self._expire(next(iter(self._since)))

    def _observe(self, old: T | None, new: T | None) -> None:
        shown = new or old
        if shown is None:
            return
        key, uid, version = self._identity(shown)
        if new is None:
            self._record_deletion(uid)
        assumed = self._assumed.get(key)
        if assumed is not None:
            _, assumed_uid, assumed_version = self._identity(assumed)
            is_deleted = new is None and uid == assumed_uid
            if not is_deleted and is_newer(assumed_version, version):
                return
            self._drop(key)
            if new is not None and not is_newer(version, assumed_version):
                return
        self._notify(key, new)

    def _record_deletion(self, uid: str) -> None:
        self._deleted[uid] = None
        if len(self._deleted) > MAX_ASSUMED:
            del self._deleted[next(iter(self._deleted))]

    def _drop_expired(self) -> None:
        latest = self._clock.now() - MAX_ASSUMED_SECONDS
        while self._since and self._informer.synced:
            key, since = next(iter(self._since.items()))
            if since > latest:
                return
            self._expire(key)

    def _expire(self, key: ObjectKey) -> None:
        """Return to the watch's state."""
        self._drop(key)
        self._notify(key, self._informer.cache.get(key))

    def _drop(self, key: ObjectKey) -> None:
        self._assumed.remove(key)
        del self._since[key]

    def _notify(self, key: ObjectKey, found: T | None) -> None:
        for follower in self._followers:
            follower(key, found)
