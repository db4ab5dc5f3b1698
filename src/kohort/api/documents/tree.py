"""Builds the value of a document, node by node, with the position of each part.

Enforces all limits, independent of the notation: depth, number of values, duplicate keys, expansion of aliases. An
alias is copied, so that no two parts of a value share state; its inner positions are those of the anchor.
"""

import sys
from dataclasses import dataclass
from enum import Enum
from typing import Final

from kohort.api import codec
from kohort.api.codec import Json
from kohort.api.documents.positions import FIRST_MARK, Children, Mark, Position, inner_place, problem
from kohort.api.documents.scalars import key_text, shortest_number
from kohort.api.fields import shown_value

MAX_DEPTH: Final = 200
MAX_VALUES: Final = 2_000_000
"""Maximum number of values and keys in one document, a List being one document: some 20 MB of usual YAML."""
MAX_ALIAS_BYTES: Final = 3 * 1024 * 1024
"""Maximum size of JSON that aliases add to a document."""


class _Merge(Enum):
    """Placeholder of the key while the value of a `<<` is expected."""

    PENDING = "<<"


@dataclass(frozen=True, slots=True)
class _Node:
    """A complete value with an anchor; `children` is None for scalars."""

    value: Json
    children: Children | None = None
    height: int = 0


class _Sequence:
    """An incomplete sequence."""

    __slots__ = ("anchor", "children", "height", "mark", "value")

    def __init__(self, mark: Mark, anchor: str | None) -> None:
        self.value: list[Json] = []
        self.children: list[Position] = []
        self.mark = mark
        self.anchor = anchor
        self.height = 1
        """Levels below, which an alias adds to those above it."""

    def add(self, value: Json, mark: Mark, children: Children | None, height: int) -> None:
        self.value.append(shortest_number(value) if type(value) is float else value)
        self.children.append((mark, children) if children else mark)
        if height >= self.height:
            self.height = height + 1


class _Mapping:
    """An incomplete mapping; problems are ValueErrors."""

    __slots__ = ("anchor", "children", "height", "key", "key_mark", "mark", "merged", "value")

    def __init__(self, mark: Mark, anchor: str | None) -> None:
        self.value: dict[str, Json] = {}
        self.children: dict[str, Position] = {}
        self.mark = mark
        self.anchor = anchor
        self.height = 1
        self.key: str | _Merge | None = None
        self.key_mark = mark
        self.merged: set[str] = set()
        """Keys that were only merged, so that defining them is no duplicate."""

    def add(self, value: Json, mark: Mark, children: Children | None, height: int) -> None:
        key = self.key
        if key is None:
            self._add_key(value, mark)
            return
        if key is _Merge.PENDING:
            self._merge(value, mark, children)
            height -= 2 if isinstance(value, list) else 1
        else:
            self.value[key] = shortest_number(value) if type(value) is float else value
            self.children[key] = (self.key_mark, children) if children else self.key_mark
        self.key = None
        if height >= self.height:
            self.height = height + 1

    def _add_key(self, value: Json, mark: Mark) -> None:
        key = sys.intern(key_text(value))
        if key in self.value and key not in self.merged:
            raise ValueError(f"duplicate key {shown_value(key)}: each key may appear once in a mapping")
        self.key = key
        self.key_mark = mark

    def _merge(self, value: Json, mark: Mark, children: Children | None) -> None:
        """Merge a mapping, or several of which the first wins; as in Kubernetes, it overrides keys before it."""
        place = (mark, children) if children else mark
        sources = [(value, place)]
        if isinstance(value, list):
            sources = [(item, inner_place(place, index)) for index, item in enumerate(value)]
        if not all(isinstance(source, dict) for source, _ in sources):
            raise ValueError("<< takes a mapping, or a list of mappings, to merge")
        for source, source_place in reversed(sources):
            self.merged.update(key for key in source if key not in self.value)
            self.value.update(source)
            self.children.update((key, inner_place(source_place, key)) for key in source)


class TreeBuilder:
    """Takes the nodes of the documents in the order of the file."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._start()

    def _start(self) -> None:
        self._open: list[_Mapping | _Sequence] = []
        self._anchors: dict[str, _Node | None] = {}
        self._values = 0
        self._alias_bytes = 0
        self._root: tuple[Json, Position] = (None, FIRST_MARK)

    def finish(self) -> tuple[Json, Position]:
        """Returns the complete document, and starts the next one."""
        root = self._root
        self._start()
        return root

    def open_mapping(self, mark: Mark, anchor: str | None = None) -> None:
        """Start a mapping."""
        self._descend(_Mapping(mark, anchor))

    def open_sequence(self, mark: Mark, anchor: str | None = None) -> None:
        """Start a sequence."""
        self._descend(_Sequence(mark, anchor))

    def _descend(self, collection: _Mapping | _Sequence) -> None:
        if len(self._open) >= MAX_DEPTH:
            raise problem(f"nested deeper than {MAX_DEPTH} levels", self._file, collection.mark)
        if collection.anchor is not None:
            self._anchors[collection.anchor] = None
        self._open.append(collection)

    def close(self) -> None:
        """End the innermost collection."""
        done = self._open.pop()
        if done.anchor is not None:
            self._anchors[done.anchor] = _Node(done.value, done.children, done.height)
        self._add(done.value, done.mark, done.children, done.height)

    def scalar(self, value: Json, mark: Mark, anchor: str | None = None) -> None:
        """Add a scalar: a key, a member, an item or the whole document."""
        if anchor is not None:
            self._anchors[anchor] = _Node(value)
        self._add(value, mark, None, 0)

    def merge_key(self, mark: Mark) -> bool:
        """Handle a `<<`, whose value is merged into the mapping; False if no key is expected and it is a string."""
        mapping = self._open[-1] if self._open else None
        if not isinstance(mapping, _Mapping) or mapping.key is not None:
            return False
        mapping.key, mapping.key_mark = _Merge.PENDING, mark
        return True

    def alias(self, name: str, mark: Mark) -> None:
        """Add the value of an anchor."""
        node = self._anchors.get(name)
        if node is None:
            reason = "contains itself" if name in self._anchors else "has no anchor above it in its document"
            raise problem(f"alias {shown_value(name)} {reason}", self._file, mark)
        if len(self._open) + node.height > MAX_DEPTH:
            raise problem(f"alias makes the document deeper than {MAX_DEPTH} levels", self._file, mark)
        data = codec.encode(node.value)
        self._alias_bytes += len(data)
        if self._alias_bytes > MAX_ALIAS_BYTES:
            limit = MAX_ALIAS_BYTES // 1024**2
            raise problem(f"aliases expand to more than {limit} MiB; write the values out", self._file, mark)
        self._add(codec.decode_json(data), mark, node.children, node.height)

    def _add(self, value: Json, mark: Mark, children: Children | None, height: int) -> None:
        self._values += 1
        if self._values > MAX_VALUES:
            raise problem(f"more than {MAX_VALUES} values in one document; split it with ---", self._file, mark)
        if not self._open:
            self._root = value, (mark, children) if children else mark
            return
        try:
            self._open[-1].add(value, mark, children, height)
        except ValueError as error:
            raise problem(str(error), self._file, mark) from None
