"""Sets of fields; in memory the same tree as `fieldsV1` in JSON.

A path is a member if its node is empty or has a `.`; other nodes only lead to members. Trees are shared, immutable and
in canonical order, so that reading and writing a set costs nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kohort.api.codec import Json
from kohort.embedded.managed_fields.path_elements import SELF, ElementError, canonical, display, sort_key

FieldTree = dict[str, Any]
LEAF: FieldTree = {}


def is_member(node: FieldTree) -> bool:
    """Whether the path of a node is a member of the set."""
    return not node or SELF in node


def as_member(node: FieldTree) -> FieldTree:
    """The node with its own path in the set."""
    return node if is_member(node) else {SELF: {}, **node}


@dataclass(frozen=True, slots=True)
class FieldSet:
    """A set of field paths of one object."""

    tree: FieldTree

    @classmethod
    def of(cls, *paths: str) -> "FieldSet":
        """The set of these paths, each such as `metadata.name`."""
        tree: FieldTree = {}
        for path in paths:
            node = LEAF
            for step in reversed(path.split(".")):
                node = {f"f:{step}": node}
            tree = _union_below(tree, node)
        return cls(tree)

    @classmethod
    def from_fields_v1(cls, fields: Json) -> "FieldSet":
        """Reads a set from a client; path elements of unknown kinds are dropped."""
        return cls(ordered(_read(fields, 0)))

    def __bool__(self) -> bool:
        return bool(self.tree)

    def __or__(self, other: "FieldSet") -> "FieldSet":
        return FieldSet(_union_below(self.tree, other.tree))

    def __sub__(self, other: "FieldSet") -> "FieldSet":
        """Without the paths of the other set; paths below them are kept."""
        if not self.tree or not other.tree:
            return self
        return FieldSet(_difference_below(self.tree, other.tree))

    def __and__(self, other: "FieldSet") -> "FieldSet":
        return FieldSet(_intersection_below(self.tree, other.tree))

    def without(self, other: "FieldSet") -> "FieldSet":
        """Without the paths of the other set and all paths below them."""
        return FieldSet(_cut_below(self.tree, other.tree))

    def paths(self) -> list[tuple[str, ...]]:
        """All paths in kube-apiserver's order: those of a level, then those below each."""
        return list(_paths(self.tree, ()))


EMPTY = FieldSet({})

MAX_DEPTH = 100
"""Deeper than any object; a set from a client must not exhaust the stack."""


def _read(fields: Json, depth: int) -> FieldTree:
    if not isinstance(fields, dict) or depth > MAX_DEPTH:
        raise ElementError("a set of fields is an object of objects")
    tree: FieldTree = {}
    for text, below in fields.items():
        element = text if text == SELF else canonical(text)
        if element is not None:
            tree[element] = _read(below, depth + 1)
    return LEAF if tree.keys() == {SELF} and depth else tree


def ordered(tree: FieldTree) -> FieldTree:
    """The tree in canonical order."""
    return {name: ordered(tree[name]) if tree[name] else LEAF for name in _in_order(tree)}


def _in_order(tree: FieldTree) -> list[str]:
    names = sorted(tree)
    if names and names[-1][:2] not in ("f:", SELF):
        names = sorted(tree, key=lambda name: (name != SELF, sort_key(name)))
    return names


def _union(one: FieldTree, other: FieldTree) -> FieldTree:
    if one is other:
        return one
    if not one:
        return as_member(other)
    if not other:
        return as_member(one)
    return _union_below(one, other)


def _union_below(one: FieldTree, other: FieldTree) -> FieldTree:
    if not one or not other:
        return one or other
    both = dict(one)
    for name, node in other.items():
        both[name] = _union(both[name], node) if name in both else node
    return both if len(both) == len(one) else {name: both[name] for name in _in_order(both)}


def _difference(one: FieldTree, other: FieldTree) -> FieldTree | None:
    """The remaining node, or None."""
    stays = is_member(one) and not is_member(other)
    below = _difference_below(one, other)
    below.pop(SELF, None)
    if not below:
        return LEAF if stays else None
    return {SELF: {}, **below} if stays else below


def _difference_below(one: FieldTree, other: FieldTree) -> FieldTree:
    left = dict(one)
    for name in one.keys() & other.keys():
        if name != SELF:
            rest = _difference(one[name], other[name])
            if rest is None:
                del left[name]
            else:
                left[name] = rest
    return left


def _intersection(one: FieldTree, other: FieldTree) -> FieldTree | None:
    belongs = is_member(one) and is_member(other)
    below = _intersection_below(one, other)
    below.pop(SELF, None)
    if not below:
        return LEAF if belongs else None
    return {SELF: {}, **below} if belongs else below


def _intersection_below(one: FieldTree, other: FieldTree) -> FieldTree:
    both: FieldTree = {}
    for name, node in one.items():
        if name in other:
            shared = _intersection(node, other[name])
            if shared is not None:
                both[name] = shared
    return both


def _cut_below(tree: FieldTree, cut: FieldTree) -> FieldTree:
    left: FieldTree = {}
    for name, node in tree.items():
        if name == SELF or name not in cut:
            left[name] = node
        elif not is_member(cut[name]):
            rest = _cut_below(node, cut[name])
            if rest or not node:
                left[name] = LEAF if rest.keys() == {SELF} else rest
    return left


def _paths(tree: FieldTree, above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    steps = [name for name in tree if name != SELF]
    for name in steps:
        if is_member(tree[name]):
            yield (*above, name)
    for name in steps:
        if tree[name]:
            yield from _paths(tree[name], (*above, name))


def display_path(path: tuple[str, ...]) -> str:
    """A path in the form of error messages: `.spec.template.spec.containers[name="web"].image`."""
    return "".join(map(display, path))
