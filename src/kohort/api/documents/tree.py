"""Builds the values of a document, node by node, with the place of each.

All limits live here, whatever the notation: depth, number of values, duplicate keys, what aliases may add. An alias is
copied, so that no two parts of a value share state; its inner places stay those of the text that was written.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final

from kohort.api import codec
from kohort.api.codec import Json
from kohort.api.documents.places import FIRST_MARK, Children, Mark, Place, children_of, problem
from kohort.api.documents.scalars import key_text

MAX_DEPTH: Final = 200
MAX_VALUES: Final = 2_000_000
"""Values in one document, a List counting as one: some 40 MB of usual YAML."""
MAX_ALIAS_BYTES: Final = 3 * 1024 * 1024
"""JSON that aliases may add to a document."""


class _Merge(Enum):
    """Stands where a key would, while the value of a `<<` is read."""

    PENDING = "<<"


@dataclass(slots=True)
class _Frame:
    """A collection that is still open."""

    value: dict[str, Json] | list[Json]
    children: dict[str, Place] | list[Place]
    mark: Mark
    anchor: str | None
    key: str | _Merge | None = None
    key_mark: Mark = 0
    merged: frozenset[str] = frozenset()
    """Keys that only a merge brought, so that writing them out is no duplicate."""


@dataclass(frozen=True, slots=True)
class _Anchored:
    value: Json
    children: Children | None


class TreeBuilder:
    """Takes the nodes of one document after another in their order in the file."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._names: dict[str, str] = {}
        self._start()

    def _start(self) -> None:
        self._frames: list[_Frame] = []
        self._anchors: dict[str, _Anchored | None] = {}
        self._values = 0
        self._alias_bytes = 0
        self._root: tuple[Json, Place] = (None, FIRST_MARK)

    def finish(self) -> tuple[Json, Place]:
        """The document that is now complete; the next one begins."""
        root = self._root
        self._start()
        return root

    @property
    def awaits_key(self) -> bool:
        """Whether the next node is a key of a mapping."""
        return bool(self._frames) and self._frames[-1].key is None and type(self._frames[-1].value) is dict

    def open_mapping(self, mark: Mark, anchor: str | None = None) -> None:
        """A mapping begins."""
        self._open(_Frame({}, {}, mark, anchor))

    def open_sequence(self, mark: Mark, anchor: str | None = None) -> None:
        """A sequence begins."""
        self._open(_Frame([], [], mark, anchor))

    def _open(self, frame: _Frame) -> None:
        if len(self._frames) >= MAX_DEPTH:
            raise problem(f"nested deeper than {MAX_DEPTH} levels", self._file, frame.mark)
        if self.awaits_key:
            raise self._collection_as_key(frame.mark)
        if frame.anchor is not None:
            self._anchors[frame.anchor] = None
        self._frames.append(frame)

    def close(self) -> None:
        """The innermost collection ends."""
        frame = self._frames.pop()
        if frame.anchor is not None:
            self._anchors[frame.anchor] = _Anchored(frame.value, frame.children)
        self._add(frame.value, frame.mark, frame.children)

    def scalar(self, value: Json, mark: Mark, anchor: str | None = None) -> None:
        """A scalar, as a key, a member, an item or the whole document."""
        if anchor is not None:
            self._anchors[anchor] = _Anchored(value, None)
        self._add(value, mark, None)

    def merge_key(self, mark: Mark) -> None:
        """The key `<<`: what follows is taken into the mapping."""
        self._frames[-1].key = _Merge.PENDING
        self._frames[-1].key_mark = mark

    def alias(self, name: str, mark: Mark) -> None:
        """The value of an anchor, once more."""
        anchored = self._anchors.get(name)
        if anchored is None:
            reason = "contains itself" if name in self._anchors else f"has no anchor &{name} above it in this document"
            raise problem(f"alias *{name} {reason}", self._file, mark)
        if anchored.children is not None and self.awaits_key:
            raise self._collection_as_key(mark)
        self._alias_bytes += len(codec.encode(anchored.value))
        if self._alias_bytes > MAX_ALIAS_BYTES:
            limit = MAX_ALIAS_BYTES // 1024**2
            raise problem(f"aliases expand to more than {limit} MiB; write the values out", self._file, mark)
        self._add(self._copy(anchored.value, len(self._frames), mark), mark, anchored.children)

    def _copy(self, value: Json, depth: int, mark: Mark) -> Json:
        if not isinstance(value, dict | list):
            return value
        if depth >= MAX_DEPTH:
            raise problem(f"nested deeper than {MAX_DEPTH} levels by an alias", self._file, mark)
        if isinstance(value, list):
            return [self._copy(item, depth + 1, mark) for item in value]
        return {key: self._copy(member, depth + 1, mark) for key, member in value.items()}

    def _add(self, value: Json, mark: Mark, children: Children | None) -> None:
        self._values += 1
        if self._values > MAX_VALUES:
            raise problem(f"more than {MAX_VALUES} values in one document; split it with ---", self._file, mark)
        if not self._frames:
            self._root = value, (mark, children) if children else mark
            return
        frame = self._frames[-1]
        if isinstance(frame.value, list):
            frame.value.append(value)
            _items(frame).append((mark, children) if children else mark)
        elif frame.key is None:
            self._set_key(frame, value, mark)
        elif frame.key is _Merge.PENDING:
            self._merge(frame, value, children)
        else:
            frame.value[frame.key] = value
            _members(frame)[frame.key] = (frame.key_mark, children) if children else frame.key_mark
            frame.key = None
