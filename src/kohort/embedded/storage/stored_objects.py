"""What the store holds: keys, objects at a revision, and the changes between them.

The bytes are the object; the decoded form is kept only for those used lately, because it takes five times the memory.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from kohort.api.codec import Json, JsonObject, decode_json
from kohort.kube.watch_events import WatchEventType


class StorageKey(NamedTuple):
    """Where an object lives; the namespace of a cluster-scoped one is empty."""

    resource: str
    namespace: str
    name: str


class DecodedCache:
    """The entries whose decoded object is at hand, oldest first; bounded by the size of their bytes."""

    __slots__ = ("_bytes", "_entries", "_limit")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._entries: deque[StoredObject] = deque()
        self._bytes = 0

    def admit(self, entry: "StoredObject", value: JsonObject) -> None:
        """Keep the decoded object beside its entry, and let go of those kept longest."""
        entry.decoded = value
        self._entries.append(entry)
        self._bytes += len(entry.data)
        while self._bytes > self._limit:
            oldest = self._entries.popleft()
            oldest.decoded = None
            self._bytes -= len(oldest.data)


class StoredObject(msgspec.Struct, gc=False, eq=False):
    """One object at one revision, which its `metadata.resourceVersion` names; nobody may change it."""

    key: StorageKey
    revision: int
    data: bytes
    keep: DecodedCache
    decoded: JsonObject | None = None

    @property
    def object(self) -> JsonObject:
        """The object as plain JSON, decoded when it is not at hand."""
        if self.decoded is not None:
            return self.decoded
        value: JsonObject = decode_json(self.data)
        self.keep.admit(self, value)
        return value


class StorageEvent(msgspec.Struct, gc=False, eq=False, frozen=True):
    """One committed write; a deletion carries the last state under the revision of the deletion."""

    kind: WatchEventType
    entry: StoredObject
    previous: StoredObject | None

    @property
    def revision(self) -> int:
        """The revision that this change made."""
        return self.entry.revision

    @property
    def superseded(self) -> "Sequence[StoredObject]":
        """The states that nothing needs any more once this change lies in the compacted past."""
        gone = (self.previous,) if self.previous else ()
        return (*gone, self.entry) if self.kind is WatchEventType.DELETED else gone


class ProgressEvent(msgspec.Struct, gc=False, frozen=True):
    """Everything up to this revision has been told: what a bookmark says."""

    revision: int


class StorageList(msgspec.Struct, gc=False, frozen=True):
    """A page of objects as they were at one revision, and how many more follow it."""

    entries: Sequence[StoredObject]
    revision: int
    remaining: int


def stamped(obj: Mapping[str, Json], revision: int) -> JsonObject:
    """The object with its revision in it; what was handed over stays as it was."""
    metadata = {**(obj.get("metadata") or {}), "resourceVersion": str(revision)}
    return {**obj, "metadata": metadata}
