"""Rebuilds the state in memory from the rows of a file.

Each row names the revision it supersedes, so that a missing row is detected.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from kohort.embedded.storage.index import StoreIndex
from kohort.embedded.storage.records import CorruptRowError, RevisionRow
from kohort.embedded.storage.stored_objects import DecodedCache, StorageEvent, StorageKey, StoredObject
from kohort.embedded.storage.watch_cache import WatchCache
from kohort.kube.watch_events import WatchEventType


@dataclass
class RecoveredState:
    """Recovered state: index, watch cache, and superseded revisions still in the file."""

    revision: int
    watch_cache: WatchCache
    decoded: DecodedCache
    index: StoreIndex = field(default_factory=StoreIndex)
    garbage: list[int] = field(default_factory=list)

    def replay(self, records: Iterable[RevisionRow], now: float) -> "RecoveredState":
        """Reads all rows of a file, oldest first."""
        for record in records:
            self._take(record, now)
            self.revision = max(self.revision, record.revision)
        return self

    def publish(self, change: StorageEvent) -> None:
        """Applies an event to the index."""
        if change.kind is WatchEventType.DELETED:
            self.index.remove(change.entry.key)
        else:
            self.index.put(change.entry)

    def _take(self, record: RevisionRow, now: float) -> None:
        key = record.key
        previous = self.index.get(key)
        change = StorageEvent(record.kind, StoredObject(key, record.revision, record.data, self.decoded), previous)
        if record.revision > self.watch_cache.oldest:
            _check_chain(record, key, previous)
            self.watch_cache.append(change, now)
        else:
            self.garbage += (entry.revision for entry in change.superseded)
        if change.kind is not WatchEventType.DELETED or previous:
            self.publish(change)


def _check_chain(record: RevisionRow, key: StorageKey, previous: StoredObject | None) -> None:
    found = previous.revision if previous else 0
    if found != record.previous:
        raise CorruptRowError(
            f"revision {record.revision} of {'/'.join(key)} supersedes revision {record.previous}, which is missing"
        )
