"""The writes that are not committed yet: what the next write to a key builds on, what falls with a failed batch.

Nobody but writers sees them: a read, a watch, even a refusal rests on what is committed.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from kohort.embedded.storage.stored_objects import StorageEvent, StorageKey, StoredObject
from kohort.kube.watch_events import WatchEventType

MOST_IN_A_BATCH = 1000
"""Writes in one transaction: a commit stays short, and those who wait for it with it."""


@dataclass(frozen=True, slots=True, eq=False)
class UncommittedWrite:
    """A change on its way to the disk."""

    change: StorageEvent
    base: int
    """The revision of the pending write that it builds on, or 0 when it builds on what is committed."""
    settled: asyncio.Future[StoredObject]

    @property
    def after(self) -> StoredObject | None:
        """What will be under the key."""
        return None if self.change.kind is WatchEventType.DELETED else self.change.entry

    @property
    def size(self) -> int:
        """What it takes of the room for pending writes."""
        return len(self.change.entry.data)


class UncommittedWrites:
    """All writes between acceptance and commit, in the order of their revisions."""

    __slots__ = ("_newest", "_waiting", "size")

    def __init__(self) -> None:
        self._newest: dict[StorageKey, UncommittedWrite] = {}
        self._waiting: list[UncommittedWrite] = []
        self.size = 0
        """Bytes of all of them."""

    def newest(self, key: StorageKey) -> UncommittedWrite | None:
        """The last write to this key that is not decided."""
        return self._newest.get(key)

    @property
    def any_waiting(self) -> bool:
        """Whether there is a next batch."""
        return bool(self._waiting)

    def all(self) -> Sequence[UncommittedWrite]:
        """The last undecided write to each key."""
        return list(self._newest.values())

    def add(self, write: UncommittedWrite) -> None:
        """Line up one more."""
        self._newest[write.change.entry.key] = write
        self._waiting.append(write)
        self.size += write.size

    def next_batch(self) -> Sequence[UncommittedWrite]:
        """Those to be committed together now; they stay pending until `settle`."""
        batch, self._waiting = self._waiting[:MOST_IN_A_BATCH], self._waiting[MOST_IN_A_BATCH:]
        return batch

    def settle(self, batch: Sequence[UncommittedWrite]) -> None:
        """Forget writes that are decided."""
        for write in batch:
            self.size -= write.size
            if self._newest.get(write.change.entry.key) is write:
                del self._newest[write.change.entry.key]

    def fallen(self, batch: Sequence[UncommittedWrite]) -> Sequence[UncommittedWrite]:
        """The failed batch and all that builds on it, out of the line."""
        lost = {write.change.revision for write in batch}
        fallen, standing = [*batch], []
        for write in self._waiting:
            if write.base in lost:
                lost.add(write.change.revision)
                fallen.append(write)
            else:
                standing.append(write)
        self._waiting = standing
        return fallen
