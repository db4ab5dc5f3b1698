"""Apply removes what a manager no longer wants: its fields of last time that it dropped and nobody else owns.

A container goes with the last thing in it; what lies in it and was never anybody's keeps it.
"""

from typing import NamedTuple

from kohort.api.codec import Json, JsonObject
from kohort.embedded.managed_fields.comparison import claims
from kohort.embedded.managed_fields.field_schema import FieldSchema, NoKeyError
from kohort.embedded.managed_fields.field_sets import FieldSet, Tree, is_member


class _Step(NamedTuple):
    """A step down, and whether the schema knows it by name, as a struct does its members."""

    element: str
    is_named: bool


class _Place(NamedTuple):
    """Where the walk stands: what was applied last time and what is owned now, from here down."""

    last: Tree
    owned: Tree
    was_spared: bool = True
    """Whether nothing from here up was applied last time."""
    is_kept: bool = True
    """Whether every place from here up is owned now or was spared."""

    def below(self, step: _Step) -> "_Place":
        spared = self.was_spared and not _has(self.last, step)
        kept = self.is_kept and (spared or _has(self.owned, step))
        return _Place(self.last.get(step.element) or {}, self.owned.get(step.element) or {}, spared, kept)


def _has(tree: Tree, step: _Step) -> bool:
    """Whether a place counts as owned: a struct's member does as soon as anything below it is."""
    node = tree.get(step.element)
    return node is not None and (step.is_named or is_member(node))


_GONE: Json = object()
_EMPTIED: Json = object()


class Pruned(NamedTuple):
    """The object after pruning, as it will be stored and as ownership sees it."""

    obj: JsonObject
    seen: JsonObject
    """As `obj`, but a container that lost all it held is null here: its owners still own the place."""


def pruned(obj: JsonObject, last: FieldSet, owned: FieldSet, shape: FieldSchema) -> Pruned:
    """The object without what was applied last time and is nobody's now."""
    if not last:
        return Pruned(obj, obj)
    marked = _pruned_object(obj, _Place(last.tree, owned.tree), shape)
    return Pruned(_without_marks(marked), _with_nulls(marked))


def _pruned(value: Json, place: _Place, shape: FieldSchema) -> Json:
    if not place.last or not value:
        return value
    if isinstance(value, dict) and not shape.is_atomic:
        return _pruned_object(value, place, shape) or _EMPTIED
    if isinstance(value, list) and shape.is_divided:
        return _pruned_list(value, place, shape) or _EMPTIED
    return value


def _pruned_object(value: JsonObject, place: _Place, shape: FieldSchema) -> JsonObject:
    left: JsonObject = {}
    for name, one in value.items():
        kept = _pruned_child(one, place, _Step("f:" + name, shape.is_named(name)), shape.member(name))
        if kept is not _GONE:
            left[name] = kept
    return left


def _pruned_list(value: list[Json], place: _Place, shape: FieldSchema) -> list[Json]:
    try:
        steps = [_Step(shape.element(item), is_named=False) for item in value]
    except NoKeyError:
        return value
    left = (_pruned_child(item, place, step, shape.item) for step, item in zip(steps, value, strict=True))
    return [item for item in left if item is not _GONE]


def _pruned_child(value: Json, place: _Place, step: _Step, shape: FieldSchema) -> Json:
    below = place.below(step)
    was_applied = _has(place.last, step)
    if was_applied and not below.is_kept and claims(value, shape) is not None:
        return _GONE
    left = _pruned(value, below, shape)
    if was_applied and left is not value and left is not _EMPTIED and claims(left, shape) is None:
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
