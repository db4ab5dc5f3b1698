"""Validation ratcheting: unchanged values are not validated again, since the schema may have become stricter.

A path is comparable with the former object down to the first list whose items have no identity.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from kohort.api.codec import Json
from kohort.embedded.crds.lists import map_identity
from kohort.embedded.crds.value_paths import ValuePath, steps_of

MISSING: Any = object()
"""Placeholder of an absent former value."""


def is_unchanged(trail: ValuePath, new: Json, old: Json, schema: Mapping[str, Any], tied: int | None = None) -> bool:
    """Whether the value at a path, or an ancestor of it, is unchanged; `tied` bounds the compared steps."""
    steps = steps_of(trail)[:tied]
    return any(_same(value, former) for value, former in _pairs(steps, new, old, schema))


def _pairs(steps: list[str | int], new: Json, old: Json, schema: Mapping[str, Any]) -> Iterator[tuple[Json, Json]]:
    """New and former value at each step, as far as comparable."""
    yield new, old
    for depth, step in enumerate(steps):
        if depth == 0 and step in ("apiVersion", "kind"):
            return
        old = former(old, new, step, schema)
        new = new[step] if isinstance(step, int) or (isinstance(new, dict) and step in new) else MISSING
        if old is MISSING or new is MISSING:
            return
        schema = below(schema, step)
        yield new, old


def below(schema: Mapping[str, Any], step: str | int) -> Mapping[str, Any]:
    """The schema of a member or item."""
    if isinstance(step, int):
        return schema.get("items") or {}
    named = (schema.get("properties") or {}).get(step)
    additional = schema.get("additionalProperties")
    return named or (additional if isinstance(additional, Mapping) else {})


def former(old: Json, new: Json, step: str | int, schema: Mapping[str, Any]) -> Json:
    """The former value of a member or item."""
    if isinstance(step, str):
        return old.get(step, MISSING) if isinstance(old, dict) else MISSING
    if not isinstance(old, list) or schema.get("x-kubernetes-list-type") != "map":
        return MISSING
    wanted = map_identity(new[step], schema)
    return next((item for item in old if map_identity(item, schema) == wanted), MISSING)


def _same(value: Json, former_value: Json) -> bool:
    """Equality that distinguishes true from 1."""
    if type(value) is not type(former_value):
        return bool(value == former_value) and bool not in (type(value), type(former_value))
    if isinstance(value, dict):
        return value.keys() == former_value.keys() and all(_same(value[key], former_value[key]) for key in value)
    if isinstance(value, list):
        return len(value) == len(former_value) and all(map(_same, value, former_value))
    return bool(value == former_value)
