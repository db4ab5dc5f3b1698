"""Removes fields that an apply dropped and no other manager owns.

A container is removed with its last content; content without an owner keeps it.
"""

from typing import NamedTuple

from kohort.api.codec import Json, JsonObject
from kohort.embedded.managed_fields.comparison import applied_node
from kohort.embedded.managed_fields.field_schema import FieldSchema, NoKeyError
from kohort.embedded.managed_fields.field_sets import FieldSet, FieldTree, is_member


class _Step(NamedTuple):
    """A path element, and whether the schema lists it by name, as a struct does."""

    element: str
    is_named: bool


class _Position(NamedTuple):
    """Position of the traversal: the fields applied last time and those owned now, below it."""

    last: FieldTree
    owned: FieldTree
    was_not_applied: bool = True
    """Whether no path from here up was applied last time."""
    is_kept: bool = True
    """Whether every path from here up is owned now or was not applied last time."""

    def below(self, step: _Step) -> "_Position":
        spared = self.was_not_applied and not _has(self.last, step)
        kept = self.is_kept and (spared or _has(self.owned, step))
        return _Position(self.last.get(step.element) or {}, self.owned.get(step.element) or {}, spared, kept)


def _has(tree: FieldTree, step: _Step) -> bool:
    """Whether a path counts as owned; a struct member does if any path below it is."""
    node = tree.get(step.element)
    return node is not None and (step.is_named or is_member(node))


_GONE: Json = object()
_EMPTIED: Json = object()


class Pruned(NamedTuple):
    """The object after pruning, as stored and as seen by field ownership."""

    obj: JsonObject
    seen: JsonObject
    """Like `obj`, but an emptied container is null: its path is still owned."""


def pruned(obj: JsonObject, last: FieldSet, owned: FieldSet, schema: FieldSchema) -> Pruned:
    """The object without fields that were applied last time and are not owned now."""
    if not last:
        return Pruned(obj, obj)
    marked = _pruned_object(obj, _Position(last.tree, owned.tree), schema)
    return Pruned(_without_marks(marked), _with_nulls(marked))


def _pruned(value: Json, place: _Position, schema: FieldSchema) -> Json:
    if not place.last or not value:
        return value
    if isinstance(value, dict) and not schema.is_atomic:
        return _pruned_object(value, place, schema) or _EMPTIED
    if isinstance(value, list) and schema.is_associative:
        return _pruned_list(value, place, schema) or _EMPTIED
    return value


def _pruned_object(value: JsonObject, place: _Position, schema: FieldSchema) -> JsonObject:
    left: JsonObject = {}
    for name, one in value.items():
        kept = _pruned_child(one, place, _Step("f:" + name, schema.is_named(name)), schema.member(name))
        if kept is not _GONE:
            left[name] = kept
    return left


def _pruned_list(value: list[Json], place: _Position, schema: FieldSchema) -> list[Json]:
    try:
        steps = [_Step(schema.element(item), is_named=False) for item in value]
    except NoKeyError:
        return value
    left = (_pruned_child(item, place, step, schema.item) for step, item in zip(steps, value, strict=True))
    return [item for item in left if item is not _GONE]


def _pruned_child(value: Json, place: _Position, step: _Step, schema: FieldSchema) -> Json:
    below = place.below(step)
    was_applied = _has(place.last, step)
    if was_applied and not below.is_kept and applied_node(value, schema) is not None:
        return _GONE
    left = _pruned(value, below, schema)
    if was_applied and left is not value and left is not _EMPTIED and applied_node(left, schema) is None:
        return _GONE
    return left


def _without_marks(value: Json) -> Json:
    if isinstance(value, dict):
        return {name: _without_marks(one) for name, one in value.items() if one is not _EMPTIED}
    if isinstance(value, list):
        return [_without_marks(item) for item in value if item is not _EMPTIED]
    return value


def _with_nulls(value: Json) -> Json:
    if isinstance(value, dict):
        return {name: _with_nulls(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_with_nulls(item) for item in value]
    return None if value is _EMPTIED else value
