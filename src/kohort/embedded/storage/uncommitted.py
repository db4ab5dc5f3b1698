"""Writes that are not committed yet: base of the next write to a key, and dependents of a failed batch.

Only writers see them: reads, watches and conflicts depend on committed state alone.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from kohort.embedded.storage.stored_objects import StorageEvent, StorageKey, StoredObject
from kohort.kube.watch_events import WatchEventType

MAX_BATCH = 1000
"""Writes in one transaction, so that commits stay short."""


@dataclass(frozen=True, slots=True, eq=False)
class UncommittedWrite:
    """A write that is not committed yet."""

    change: StorageEvent
    base: int
    """The revision of the uncommitted write it depends on; 0 if it depends on committed state."""
    settled: asyncio.Future[StoredObject]

    @property
    def after(self) -> StoredObject | None:
        """The state of the key after the write."""
        return None if self.change.kind is WatchEventType.DELETED else self.change.entry

    @property
    def size(self) -> int:
        """Bytes counted against the limit of pending writes."""
        return len(self.change.entry.data)


class UncommittedWrites:
    """All accepted and uncommitted writes, in the order of their revisions."""

    __slots__ = ("_newest", "_waiting", "size")

    def __init__(self) -> None:
        self._newest: dict[StorageKey, UncommittedWrite] = {}
        self._waiting: list[UncommittedWrite] = []
        self.size = 0
        """Total size in bytes."""

    def newest(self, key: StorageKey) -> UncommittedWrite | None:
        """The last uncommitted write to this key."""
        return self._newest.get(key)

    @property
    def has_waiting(self) -> bool:
        """Whether there is a next batch."""
        return bool(self._waiting)

    def all(self) -> Sequence[UncommittedWrite]:
        """The last uncommitted write to each key."""
        return list(self._newest.values())

    def add(self, write: UncommittedWrite) -> None:
        """Appends a write."""
        self._newest[write.change.entry.key] = write
        self._waiting.append(write)
        self.size += write.size

    def next_batch(self) -> Sequence[UncommittedWrite]:
        """The writes to commit together; they stay pending until `settle`."""
        batch, self._waiting = self._waiting[:MAX_BATCH], self._waiting[MAX_BATCH:]
        return batch

    def settle(self, batch: Sequence[UncommittedWrite]) -> None:
        """Removes committed or failed writes."""
        for write in batch:
            self.size -= write.size
            if self._newest.get(write.change.entry.key) is write:
                del self._newest[write.change.entry.key]

    def remove_failed(self, batch: Sequence[UncommittedWrite]) -> Sequence[UncommittedWrite]:
        """Removes the failed batch and all writes that depend on it."""
        lost = {write.change.revision for write in batch}
        remove_failed, standing = [*batch], []
        for write in self._waiting:
            if write.base in lost:
                lost.add(write.change.revision)
                remove_failed.append(write)
            else:
                standing.append(write)
        self._waiting = standing
        return remove_failed
