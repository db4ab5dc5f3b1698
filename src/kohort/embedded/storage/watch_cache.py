"""Watch cache: events since the oldest available revision, per resource and namespace.

Watches share the events and differ in their position only: nothing is copied or queued per watch.
"""

import asyncio
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter

from kohort.embedded.storage.index import LocalKey, Past
from kohort.embedded.storage.stored_objects import ProgressEvent, StorageEvent, StoredObject

_revision = attrgetter("revision")


@dataclass(frozen=True, slots=True)
class Retention:
    """Limits of the watch cache; the first one reached applies."""

    seconds: float = 300
    changes: int = 100_000
    superseded_bytes: int = 64 * 1024 * 1024
    """Size of superseded objects."""


class ResourceHistory:
    """The cached events of one resource, in one namespace or in all."""

    __slots__ = ("_changes", "dropped", "readers", "waiting")

    def __init__(self) -> None:
        self._changes: deque[StorageEvent] = deque()
        self.waiting: set[asyncio.Future[None]] = set()
        """Futures of watches that have read everything."""
        self.dropped = 0
        """Number of compacted events: the position of the first available one."""
        self.readers = 0
        """Number of open watches; an empty history without any is removed."""

    @property
    def is_unused(self) -> bool:
        """Whether it has neither events nor watches."""
        return not self._changes and not self.readers

    def append(self, change: StorageEvent) -> None:
        """Appends an event."""
        self._changes.append(change)

    def drop(self) -> None:
        """Removes the oldest event."""
        self._changes.popleft()
        self.dropped += 1

    def position(self, revision: int) -> int:
        """The position of the first event after this revision."""
        return self.dropped + bisect_right(self._changes, revision, key=_revision)

    def read(self, position: int, limit: int) -> list[StorageEvent | ProgressEvent]:
        """The events from a position on, as a new list."""
        first, changes = position - self.dropped, self._changes
        return [changes[index] for index in range(first, min(first + limit, len(changes)))]

    def undo(self, revision: int) -> Past:
        """The state at this revision of the keys that have changed since."""
        past: dict[LocalKey, StoredObject | None] = {}
        for change in islice(self._changes, bisect_right(self._changes, revision, key=_revision), None):
            past.setdefault((change.entry.key.namespace, change.entry.key.name), change.previous)
        return past

    def wake(self) -> None:
        """Wakes all waiting watches."""
        for woken in self.waiting:
            if not woken.done():
                woken.set_result(None)


class WatchCache:
    """All cached events, and the histories that share them."""

    __slots__ = ("_bytes", "_changes", "_histories", "_retention", "oldest")

    def __init__(self, oldest: int, retention: Retention) -> None:
        self.oldest = oldest
        self._retention = retention
        self._changes: deque[tuple[float, StorageEvent]] = deque()
        self._histories: dict[tuple[str, str], ResourceHistory] = {}
        self._bytes = 0

    def append(self, change: StorageEvent, now: float) -> Sequence[ResourceHistory]:
        """Appends an event; returns the histories that contain it."""
        self._changes.append((now, change))
        self._bytes += _size(change)
        histories = self._histories_of(change)
        for history in histories:
            history.append(change)
        return histories

    def history(self, resource: str, namespace: str) -> ResourceHistory:
        """The history of a resource, in one namespace or in all."""
        found = self._histories.get((resource, namespace))
        if found is None:
            found = self._histories[resource, namespace] = ResourceHistory()
        return found

    def histories(self) -> Iterable[ResourceHistory]:
        """All histories."""
        return self._histories.values()

    def undo(self, resource: str, namespace: str, revision: int) -> Past:
        """The state at this revision of the keys that have changed since."""
        found = self._histories.get((resource, namespace))
        return found.undo(revision) if found else {}

    def leave(self, resource: str, namespace: str) -> None:
        """Unregisters a watch; an empty history is removed with the last."""
        self.history(resource, namespace).readers -= 1
        self._remove_unused((resource, namespace))

    def due(self, now: float) -> int:
        """The revision up to which the cache is to be compacted now."""
        over, size, floor = len(self._changes) - self._retention.changes, self._bytes, self.oldest
        for born, change in self._changes:
            too_old = now - born > self._retention.seconds
            if not too_old and over <= 0 and size <= self._retention.superseded_bytes:
                break
            over, size, floor = over - 1, size - _size(change), change.revision
        return floor

    def forget(self, before: int) -> list[int]:
        """Compacts events before a revision; returns the revisions that are garbage then."""
        garbage: list[int] = []
        while self._changes and self._changes[0][1].revision <= before:
            _, change = self._changes.popleft()
            self._bytes -= _size(change)
            garbage += (entry.revision for entry in change.superseded)
            for history in self._histories_of(change):
                history.drop()
            for namespace in {change.entry.key.namespace, ""}:
                self._remove_unused((change.entry.key.resource, namespace))
        self.oldest = max(self.oldest, before)
        return garbage

    def _histories_of(self, change: StorageEvent) -> Sequence[ResourceHistory]:
        key = change.entry.key
        everywhere = self.history(key.resource, "")
        return (everywhere, self.history(key.resource, key.namespace)) if key.namespace else (everywhere,)

    def _remove_unused(self, address: tuple[str, str]) -> None:
        if self._histories[address].is_unused:
            del self._histories[address]


def _size(change: StorageEvent) -> int:
    return sum(len(entry.data) for entry in change.superseded)
