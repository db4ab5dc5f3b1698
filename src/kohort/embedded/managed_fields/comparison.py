"""The differences between two states of an object, as sets of fields.

An added container is a change of its own, in addition to its content.
"""

from typing import NamedTuple

import msgspec

from kohort.api.codec import Json
from kohort.embedded.managed_fields.field_schema import FieldSchema, NoKeyError
from kohort.embedded.managed_fields.field_sets import LEAF, FieldSet, FieldTree, as_member, ordered
from kohort.embedded.managed_fields.path_elements import SELF

Items = list[Json] | None
"""A null list is an empty one."""


class Changes(NamedTuple):
    """The changes of an update."""

    changed: FieldSet
    """Fields that were added or changed."""
    removed: FieldSet

    def __bool__(self) -> bool:
        return bool(self.changed or self.removed)


def compare(old: dict[str, Json], new: dict[str, Json], schema: FieldSchema) -> Changes:
    """All fields that differ."""
    changed, removed = _differences(old, new, schema)
    return Changes(FieldSet(ordered(changed)), FieldSet(ordered(removed)))


def _compare_objects(
    old: dict[str, Json], new: dict[str, Json], schema: FieldSchema, changed: FieldTree, removed: FieldTree
) -> None:
    for name, value in new.items():
        if name not in old:
            changed["f:" + name] = all_fields(value, schema.member(name))
        elif old[name] is not value:
            _compare_values("f:" + name, old[name], value, schema.member(name), changed, removed)
    if not old.keys() <= new.keys():
        for name in old.keys() - new.keys():
            removed["f:" + name] = all_fields(old[name], schema.member(name))


def _compare_values(
    step: str, old: Json, new: Json, schema: FieldSchema, changed: FieldTree, removed: FieldTree
) -> None:
    kind = type(old if new is None else new)
    if kind is not dict and kind is not list and not isinstance(old, dict | list):
        if not same(old, new):
            changed[step] = LEAF
    elif type(old) is not kind and old is not None:
        _replace(step, old, new, schema, changed, removed)
    elif not old and not new:
        if type(old) is not type(new):
            changed[step] = LEAF
    elif _is_untouched(old, new):
        return
    elif kind is dict and not schema.is_atomic:
        _descend(step, *_differences(old, new, schema), changed, removed)
    elif kind is list and schema.is_associative:
        _compare_lists(step, old, new, schema, changed, removed)
    elif not same(old, new):
        changed[step] = LEAF


def _is_untouched(old: Json, new: Json) -> bool:
    """Whether the values are equal for certain; the encoded bytes distinguish true from 1."""
    return bool(old == new) and msgspec.json.encode(old) == msgspec.json.encode(new)


def _differences(
    old: dict[str, Json] | None, new: dict[str, Json] | None, schema: FieldSchema
) -> tuple[FieldTree, FieldTree]:
    changed: FieldTree = {}
    removed: FieldTree = {}
    _compare_objects(old or {}, new or {}, schema, changed, removed)
    return changed, removed


def _descend(step: str, came: FieldTree, went: FieldTree, changed: FieldTree, removed: FieldTree) -> None:
    if came:
        changed[step] = came
    if went:
        removed[step] = went


def _replace(step: str, old: Json, new: Json, schema: FieldSchema, changed: FieldTree, removed: FieldTree) -> None:
    """A value of another type: all of its fields are changed."""
    changed[step] = all_fields(new, schema)
    went = {name: node for name, node in all_fields(old, schema).items() if name != SELF}
    if went:
        removed[step] = went


def _compare_lists(
    step: str, old: Items, new: Items, schema: FieldSchema, changed: FieldTree, removed: FieldTree
) -> None:
    try:
        before, after = items_by_element(old or [], schema), items_by_element(new or [], schema)
    except NoKeyError:
        if not same(old, new):
            changed[step] = LEAF
        return
    came: FieldTree = {}
    went: FieldTree = {}
    for element, items in after.items():
        _compare_items(element, before.get(element, []), items, schema.item, came, went)
    for element, items in before.items():
        if element not in after:
            went[element] = _item_fields(items, schema.item)
    _descend(step, came, went, changed, removed)


def _compare_items(
    step: str, old: list[Json], new: list[Json], schema: FieldSchema, changed: FieldTree, removed: FieldTree
) -> None:
    """Items with one key; duplicates are owned as one."""
    if len(old) == len(new) == 1:
        if old[0] is not new[0]:
            _compare_values(step, old[0], new[0], schema, changed, removed)
    elif len(old) != len(new) or not same(old, new):
        changed[step] = _item_fields(new, schema)
        if old:
            removed[step] = _item_fields(old, schema)


ItemGroups = dict[str, list[Json]]


def items_by_element(items: list[Json], schema: FieldSchema) -> ItemGroups:
    """The items of an associative list by path element."""
    groups: ItemGroups = {}
    for item in items:
        groups.setdefault(schema.element(item), []).append(item)
    return groups


def _item_fields(items: list[Json], schema: FieldSchema) -> FieldTree:
    return all_fields(items[0], schema) if len(items) == 1 else LEAF


def all_fields(value: Json, schema: FieldSchema) -> FieldTree:
    """A node with all fields of a value, containers included."""
    if not value:
        return LEAF
    if type(value) is dict and not schema.is_atomic:
        return {SELF: {}, **{"f:" + name: all_fields(one, schema.member(name)) for name, one in value.items()}}
    if type(value) is list and schema.is_associative:
        try:
            groups = items_by_element(value, schema)
        except NoKeyError:
            return LEAF
        return {SELF: {}, **{element: _item_fields(items, schema.item) for element, items in groups.items()}}
    return LEAF


def applied_fields(config: dict[str, Json], schema: FieldSchema) -> FieldSet:
    """The fields that a configuration applies: leaves, items, and members of maps."""
    return FieldSet(ordered(applied_node(config, schema) or {}))


def applied_node(value: Json, schema: FieldSchema) -> FieldTree | None:
    """A node with the applied fields of a value, or None; an empty list of items has none."""
    if type(value) is list and schema.is_associative:
        groups = items_by_element(value, schema)
        return {step: as_member(applied_node(items[0], schema.item) or LEAF) for step, items in groups.items()} or None
    if not value or type(value) is not dict or schema.is_atomic:
        return LEAF
    below: FieldTree = {}
    for name, one in value.items():
        node = applied_node(one, schema.member(name))
        if not schema.is_named(name):
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
