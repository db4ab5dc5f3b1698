"""From the rows of a file to the state in memory.

Each row names the revision it supersedes: a row that got lost leaves a hole in that chain, and is noticed.
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
    """What a store knows: the present, the kept past, and what on disk nothing needs any more."""

    revision: int
    history: WatchCache
    decoded: DecodedCache
    shelves: StoreIndex = field(default_factory=StoreIndex)
    garbage: list[int] = field(default_factory=list)

    def replay(self, records: Iterable[RevisionRow], now: float) -> "RecoveredState":
        """Take in all rows of a file, oldest first."""
        for record in records:
            self._take(record, now)
            self.revision = max(self.revision, record.revision)
        return self

    def publish(self, change: StorageEvent) -> None:
        """Let a change show in the present."""
        if change.kind is WatchEventType.DELETED:
            self.shelves.remove(change.entry.key)
        else:
            self.shelves.put(change.entry)

    def _take(self, record: RevisionRow, now: float) -> None:
        key = record.key
        previous = self.shelves.get(key)
        change = StorageEvent(record.kind, StoredObject(key, record.revision, record.data, self.decoded), previous)
        if record.revision > self.history.oldest:
            _check_chain(record, key, previous)
            self.history.append(change, now)
        else:
            self.garbage += (entry.revision for entry in change.superseded)
        if change.kind is not WatchEventType.DELETED or previous:
            self.publish(change)


def _check_chain(record: RevisionRow, key: StorageKey, previous: StoredObject | None) -> None:
    found = previous.revision if previous else 0
    if found != record.previous:
        raise CorruptRowError(
            f"revision {record.revision} of {'/'.join(key)} supersedes revision {record.previous}, which is not there"
        )
