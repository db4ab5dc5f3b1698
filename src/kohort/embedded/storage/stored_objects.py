"""Stored data: keys, objects at a revision, and events.

The bytes are the object; the decoded form takes five times the memory and is cached for recently used objects only.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from kohort.api.codec import Json, JsonObject, decode_json
from kohort.kube.watch_events import WatchEventType


class StorageKey(NamedTuple):
    """Storage key of an object; the namespace is empty for cluster-scoped ones."""

    resource: str
    namespace: str
    name: str


class DecodedCache:
    """Objects whose decoded form is cached, oldest first; bounded by the size of their bytes."""

    __slots__ = ("_bytes", "_entries", "_limit")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._entries: deque[StoredObject] = deque()
        self._bytes = 0

    def admit(self, entry: "StoredObject", value: JsonObject) -> None:
        """Caches the decoded form, and evicts the oldest ones."""
        entry.decoded = value
        self._entries.append(entry)
        self._bytes += len(entry.data)
        while self._bytes > self._limit:
            oldest = self._entries.popleft()
            oldest.decoded = None
            self._bytes -= len(oldest.data)


class StoredObject(msgspec.Struct, gc=False, eq=False):
    """One object at one revision, its `metadata.resourceVersion`; immutable."""

    key: StorageKey
    revision: int
    data: bytes
    keep: DecodedCache
    decoded: JsonObject | None = None

    @property
    def object(self) -> JsonObject:
        """The object as JSON values, decoded on demand."""
        if self.decoded is not None:
            return self.decoded
        value: JsonObject = decode_json(self.data)
        self.keep.admit(self, value)
        return value


class StorageEvent(msgspec.Struct, gc=False, eq=False, frozen=True):
    """One committed write; a deletion carries the last state with the revision of the deletion."""

    kind: WatchEventType
    entry: StoredObject
    previous: StoredObject | None

    @property
    def revision(self) -> int:
        """The revision of this event."""
        return self.entry.revision

    @property
    def superseded(self) -> "Sequence[StoredObject]":
        """The objects that are garbage once this event is compacted."""
        gone = (self.previous,) if self.previous else ()
        return (*gone, self.entry) if self.kind is WatchEventType.DELETED else gone


class ProgressEvent(msgspec.Struct, gc=False, frozen=True):
    """All events up to this revision have been read: the content of a bookmark."""

    revision: int


class StorageList(msgspec.Struct, gc=False, frozen=True):
    """A page of objects at one revision, and the number that remain."""

    entries: Sequence[StoredObject]
    revision: int
    remaining: int


def with_revision(obj: Mapping[str, Json], revision: int) -> JsonObject:
    """A copy of the object with its resourceVersion."""
    metadata = {**(obj.get("metadata") or {}), "resourceVersion": str(revision)}
    return {**obj, "metadata": metadata}
