"""What differs between two states of an object, as sets of fields.

A container that appears is a change of its own, beside all that it holds; one that was there stays whose it was.
"""

from typing import NamedTuple

import msgspec

from kohort.api.codec import Json
from kohort.embedded.managed_fields.field_schema import FieldSchema, NoKeyError
from kohort.embedded.managed_fields.field_sets import LEAF, FieldSet, Tree, as_member, ordered
from kohort.embedded.managed_fields.path_elements import SELF

Items = list[Json] | None
"""A null list is an empty one."""


class Changes(NamedTuple):
    """What an update did."""

    changed: FieldSet
    """Fields that came or got another value."""
    removed: FieldSet

    def __bool__(self) -> bool:
        return bool(self.changed or self.removed)


def compare(old: dict[str, Json], new: dict[str, Json], shape: FieldSchema) -> Changes:
    """All fields that differ."""
    changed, removed = _differences(old, new, shape)
    return Changes(FieldSet(ordered(changed)), FieldSet(ordered(removed)))


def _compare_objects(
    old: dict[str, Json], new: dict[str, Json], shape: FieldSchema, changed: Tree, removed: Tree
) -> None:
    for name, value in new.items():
        if name not in old:
            changed["f:" + name] = all_fields(value, shape.member(name))
        elif old[name] is not value:
            _compare_values("f:" + name, old[name], value, shape.member(name), changed, removed)
    if not old.keys() <= new.keys():
        for name in old.keys() - new.keys():
            removed["f:" + name] = all_fields(old[name], shape.member(name))


def _compare_values(step: str, old: Json, new: Json, shape: FieldSchema, changed: Tree, removed: Tree) -> None:
    kind = type(old if new is None else new)
    if kind is not dict and kind is not list and not isinstance(old, dict | list):
        if not same(old, new):
            changed[step] = LEAF
    elif type(old) is not kind and old is not None:
        _replace(step, old, new, shape, changed, removed)
    elif not old and not new:
        if type(old) is not type(new):
            changed[step] = LEAF
    elif _is_untouched(old, new):
        return
    elif kind is dict and not shape.is_atomic:
        _descend(step, *_differences(old, new, shape), changed, removed)
    elif kind is list and shape.is_divided:
        _compare_lists(step, old, new, shape, changed, removed)
    elif not same(old, new):
        changed[step] = LEAF


def _is_untouched(old: Json, new: Json) -> bool:
    """Equal for certain: the quick look decides most cases, the bytes tell true from 1."""
    return bool(old == new) and msgspec.json.encode(old) == msgspec.json.encode(new)


def _differences(old: dict[str, Json] | None, new: dict[str, Json] | None, shape: FieldSchema) -> tuple[Tree, Tree]:
    changed: Tree = {}
    removed: Tree = {}
    _compare_objects(old or {}, new or {}, shape, changed, removed)
    return changed, removed


def _descend(step: str, came: Tree, went: Tree, changed: Tree, removed: Tree) -> None:
    if came:
        changed[step] = came
    if went:
        removed[step] = went


def _replace(step: str, old: Json, new: Json, shape: FieldSchema, changed: Tree, removed: Tree) -> None:
    """A value of another kind: everything about it is new."""
    changed[step] = all_fields(new, shape)
    went = {name: node for name, node in all_fields(old, shape).items() if name != SELF}
    if went:
        removed[step] = went


def _compare_lists(step: str, old: Items, new: Items, shape: FieldSchema, changed: Tree, removed: Tree) -> None:
    try:
        before, after = grouped(old or [], shape), grouped(new or [], shape)
    except NoKeyError:
        if not same(old, new):
            changed[step] = LEAF
        return
    came: Tree = {}
    went: Tree = {}
    for element, items in after.items():
        _compare_items(element, before.get(element, []), items, shape.item, came, went)
    for element, items in before.items():
        if element not in after:
            went[element] = _item_fields(items, shape.item)
    _descend(step, came, went, changed, removed)


def _compare_items(
    step: str, old: list[Json], new: list[Json], shape: FieldSchema, changed: Tree, removed: Tree
) -> None:
    """Items with one name; more than one of a name are owned as one, whatever they hold."""
    if len(old) == len(new) == 1:
        if old[0] is not new[0]:
            _compare_values(step, old[0], new[0], shape, changed, removed)
    elif len(old) != len(new) or not same(old, new):
        changed[step] = _item_fields(new, shape)
        if old:
            removed[step] = _item_fields(old, shape)


Groups = dict[str, list[Json]]


def grouped(items: list[Json], shape: FieldSchema) -> Groups:
    """The items of a divided list by the step that leads to them."""
    groups: Groups = {}
    for item in items:
        groups.setdefault(shape.element(item), []).append(item)
    return groups


def _item_fields(items: list[Json], shape: FieldSchema) -> Tree:
    return all_fields(items[0], shape) if len(items) == 1 else LEAF


def all_fields(value: Json, shape: FieldSchema) -> Tree:
    """A node with every place in a value, containers and all."""
    if not value:
        return LEAF
    if type(value) is dict and not shape.is_atomic:
        return {SELF: {}, **{"f:" + name: all_fields(one, shape.member(name)) for name, one in value.items()}}
    if type(value) is list and shape.is_divided:
        try:
            groups = grouped(value, shape)
        except NoKeyError:
            return LEAF
        return {SELF: {}, **{element: _item_fields(items, shape.item) for element, items in groups.items()}}
    return LEAF


def applied_fields(config: dict[str, Json], shape: FieldSchema) -> FieldSet:
    """What a configuration claims: its leaves, its items, and the members of its maps."""
    return FieldSet(ordered(claims(config, shape) or {}))


def claims(value: Json, shape: FieldSchema) -> Tree | None:
    """A node with the claims on a value, None when there are none: an empty list of items claims nothing."""
    if type(value) is list and shape.is_divided:
        groups = grouped(value, shape)
        return {step: as_member(claims(items[0], shape.item) or LEAF) for step, items in groups.items()} or None
    if not value or type(value) is not dict or shape.is_atomic:
        return LEAF
    below: Tree = {}
    for name, one in value.items():
        node = claims(one, shape.member(name))
        if not shape.is_named(name):
            node = as_member(node or LEAF)
        if node is not None:
            below["f:" + name] = node
    return below or None


def same(one: Json, other: Json) -> bool:
    """Equality of JSON: 1 is 1.0, and true is not 1."""
    if type(one) is not type(other):
        numbers = (int, float)
        return type(one) in numbers and type(other) in numbers and one == other
    if type(one) is dict:
        return one.keys() == other.keys() and all(same(value, other[name]) for name, value in one.items())
    if type(one) is list:
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)
