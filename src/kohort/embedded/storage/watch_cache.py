"""The changes since the oldest revision kept, in one line for all and in one per resource and namespace.

Everybody who watches reads the same lines at a position of their own: nothing is copied or queued per watcher.
"""

import asyncio
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter

from kohort.embedded.storage.index import Past, Place
from kohort.embedded.storage.stored_objects import ProgressEvent, StorageEvent, StoredObject

_revision = attrgetter("revision")


@dataclass(frozen=True, slots=True)
class Retention:
    """How much of the past is kept: the first bound that is reached counts."""

    seconds: float = 300
    changes: int = 100_000
    superseded_bytes: int = 64 * 1024 * 1024
    """The size of states that only the past needs."""


class ResourceHistory:
    """The kept changes of one resource, in one namespace or in all of them."""

    __slots__ = ("_changes", "dropped", "readers", "waiting")

    def __init__(self) -> None:
        self._changes: deque[StorageEvent] = deque()
        self.waiting: set[asyncio.Future[None]] = set()
        """What those wait for who have read everything."""
        self.dropped = 0
        """How many changes are no longer kept: the position of the first that is."""
        self.readers = 0
        """How many watches stand here; a feed with none goes when it is empty."""

    @property
    def end(self) -> int:
        """The position of the next change to come."""
        return self.dropped + len(self._changes)

    @property
    def forsaken(self) -> bool:
        """Whether nothing is in it and nobody reads it."""
        return not self._changes and not self.readers

    def append(self, change: StorageEvent) -> None:
        """Take in a newer change."""
        self._changes.append(change)

    def drop(self) -> None:
        """Give up the oldest change."""
        self._changes.popleft()
        self.dropped += 1

    def position(self, revision: int) -> int:
        """Where the changes after this revision begin."""
        return self.dropped + bisect_right(self._changes, revision, key=_revision)

    def read(self, position: int, limit: int) -> list[StorageEvent | ProgressEvent]:
        """The changes from a position on, in a list that the reader may add to."""
        first, changes = position - self.dropped, self._changes
        return [changes[index] for index in range(first, min(first + limit, len(changes)))]

    def undo(self, revision: int) -> Past:
        """What was at this revision, at the places that have changed since."""
        past: dict[Place, StoredObject | None] = {}
        for change in islice(self._changes, bisect_right(self._changes, revision, key=_revision), None):
            past.setdefault((change.entry.key.namespace, change.entry.key.name), change.previous)
        return past

    def wake(self) -> None:
        """Wake everybody who waits here."""
        for woken in self.waiting:
            if not woken.done():
                woken.set_result(None)


class WatchCache:
    """All kept changes, and the feeds that share them."""

    __slots__ = ("_bytes", "_changes", "_feeds", "_retention", "oldest")

    def __init__(self, oldest: int, retention: Retention) -> None:
        self.oldest = oldest
        self._retention = retention
        self._changes: deque[tuple[float, StorageEvent]] = deque()
        self._feeds: dict[tuple[str, str], ResourceHistory] = {}
        self._bytes = 0

    def append(self, change: StorageEvent, now: float) -> Sequence[ResourceHistory]:
        """Take in a newer change; gives the feeds that got it."""
        self._changes.append((now, change))
        self._bytes += _size(change)
        feeds = self._feeds_of(change)
        for feed in feeds:
            feed.append(change)
        return feeds

    def feed(self, resource: str, namespace: str) -> ResourceHistory:
        """The feed of a resource, in one namespace or, when none is named, in all."""
        found = self._feeds.get((resource, namespace))
        if found is None:
            found = self._feeds[resource, namespace] = ResourceHistory()
        return found

    def feeds(self) -> Iterable[ResourceHistory]:
        """Every feed there is."""
        return self._feeds.values()

    def undo(self, resource: str, namespace: str, revision: int) -> Past:
        """What was at this revision, at the places that have changed since."""
        found = self._feeds.get((resource, namespace))
        return found.undo(revision) if found else {}

    def leave(self, resource: str, namespace: str) -> None:
        """One reader less; an empty feed goes with the last."""
        self.feed(resource, namespace).readers -= 1
        self._sweep((resource, namespace))

    def due(self, now: float) -> int:
        """The revision up to which the past is to be given up by now."""
        over, size, floor = len(self._changes) - self._retention.changes, self._bytes, self.oldest
        for born, change in self._changes:
            too_old = now - born > self._retention.seconds
            if not too_old and over <= 0 and size <= self._retention.superseded_bytes:
                break
            over, size, floor = over - 1, size - _size(change), change.revision
        return floor

    def forget(self, before: int) -> list[int]:
        """Give up what came before a revision; gives the revisions that nothing needs any more."""
        garbage: list[int] = []
        while self._changes and self._changes[0][1].revision <= before:
            _, change = self._changes.popleft()
            self._bytes -= _size(change)
            garbage += (entry.revision for entry in change.superseded)
            for feed in self._feeds_of(change):
                feed.drop()
            for namespace in {change.entry.key.namespace, ""}:
                self._sweep((change.entry.key.resource, namespace))
        self.oldest = max(self.oldest, before)
        return garbage

    def _feeds_of(self, change: StorageEvent) -> Sequence[ResourceHistory]:
        key = change.entry.key
        everywhere = self.feed(key.resource, "")
        return (everywhere, self.feed(key.resource, key.namespace)) if key.namespace else (everywhere,)

    def _sweep(self, address: tuple[str, str]) -> None:
        if self._feeds[address].forsaken:
            del self._feeds[address]


def _size(change: StorageEvent) -> int:
    return sum(len(entry.data) for entry in change.superseded)
