"""Decodes watch events: one JSON object per line, of any length, fragmented by the network.

A whole chunk is decoded at a time, which takes one event loop iteration per chunk instead of one per event.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import Generic, NamedTuple, TypeVar

import msgspec

from kohort.api.codec import decode, decode_json
from kohort.api.errors import DecodeError
from kohort.api.struct import View
from kohort.kube.errors import LostResponseError, StatusError
from kohort.kube.resource_types import Data, PartialObjectMetadata, ResourceType, UndecodableObject, unreadable_object

T = TypeVar("T")

MAX_FRAME = 64 * 1024 * 1024
"""Maximum bytes of a line: far above the size limit of objects."""


class WatchEventType(StrEnum):
    """The type of a watch event."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"


_TYPES: dict[str, WatchEventType] = {str(each): each for each in WatchEventType}


class WatchEvent(NamedTuple, Generic[T]):
    """A watch event; a bookmark has no object."""

    type: WatchEventType
    version: str
    object: T | UndecodableObject | None


class _Frame(View):
    type: str = ""
    object: msgspec.Raw = msgspec.Raw(b"null")


class LineSplitter:
    """Splits chunks into lines, and keeps the incomplete rest."""

    def __init__(self, limit: int = MAX_FRAME) -> None:
        self._limit = limit
        self._rest: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that a chunk completes."""
        head, newline, tail = chunk.partition(b"\n")
        if not newline:
            self._keep(chunk)
            return []
        first = b"".join((*self._rest, head)) if self._rest else head
        *whole, rest = tail.split(b"\n")
        self._rest, self._size = [], 0
        if rest:
            self._keep(rest)
        return [line for line in (first, *whole) if line and not line.isspace()]

    @property
    def is_cut(self) -> bool:
        """Whether an incomplete line is left."""
        return bool(self._rest)

    def _keep(self, part: bytes) -> None:
        self._rest.append(part)
        self._size += len(part)
        if self._size > self._limit:
            raise LostResponseError(f"a watch event exceeds {self._limit} bytes")


def decode_events(lines: list[bytes], kind: ResourceType[T]) -> Iterator[WatchEvent[T]]:
    """Decodes events; raises StatusError for an error event, LostResponseError for malformed events."""
    for line in lines:
        try:
            yield _change(decode(line, _Frame), kind)
        except DecodeError as error:
            raise LostResponseError(f"malformed watch event: {error}") from None


def _change(frame: _Frame, kind: ResourceType[T]) -> WatchEvent[T]:
    if frame.type == "ERROR":
        status = decode_json(frame.object)
        raise StatusError.from_status(status if isinstance(status, dict) else {})
    what = _TYPES.get(frame.type)
    if what is None:
        raise LostResponseError(f"unknown watch event type {frame.type[:40]!r}")
    if what is WatchEventType.BOOKMARK:
        return WatchEvent(what, decode(frame.object, PartialObjectMetadata).metadata.resource_version, None)
    return _object_change(what, frame.object, kind)


def _object_change(what: WatchEventType, data: Data, kind: ResourceType[T]) -> WatchEvent[T]:
    try:
        found = kind.read(data)
        return WatchEvent(what, kind.identity(found).version, found)
    except DecodeError as error:
        bad = unreadable_object(data, error)
        return WatchEvent(what, bad.identity.version, bad)
