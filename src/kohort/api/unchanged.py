"""Detects values that an update did not change: they are not validated again (API-75).

Only members of the schema are compared. An object with an unknown member counts as changed.
"""

from typing import Any

from kohort.api.codec import Json
from kohort.api.schema import Schema

MISSING: Any = object()
"""Marks that there was no old value."""


def is_unchanged(value: Json, old: Json, schema: Schema) -> bool:
    """Whether the value equals the old one, independent of the order of keyed items."""
    if isinstance(value, dict) and isinstance(old, dict):
        return len(value) == len(old) and all(_same_member(name, value, old, schema) for name in value)
    if isinstance(value, list) and isinstance(old, list):
        return len(value) == len(old) and _same_items(value, old, schema)
    return type(value) is type(old) and bool(value == old)


def _same_member(name: str, value: Json, old: Json, schema: Schema) -> bool:
    below = schema.properties.get(name) or schema.additional
    return below is not None and name in old and is_unchanged(value[name], old[name], below)


def _same_items(value: list[Json], old: list[Json], schema: Schema) -> bool:
    if not is_keyed(schema) or schema.items is None:
        return _equal(value, old)
    former = former_items(old, schema)
    return all(is_unchanged(item, former.get(item_key(item, schema), MISSING), schema.items) for item in value)


def _equal(value: Json, old: Json) -> bool:
    """Equality including types: 1 is neither 1.0 nor true."""
    if isinstance(value, dict) and isinstance(old, dict):
        return value.keys() == old.keys() and all(_equal(member, old[name]) for name, member in value.items())
    if isinstance(value, list) and isinstance(old, list):
        return len(value) == len(old) and all(map(_equal, value, old))
    return type(value) is type(old) and bool(value == old)


# Items of lists


def is_keyed(schema: Schema) -> bool:
    """Whether items of the list are identified by keys."""
    return schema.merge is not None and schema.merge.list_type == "map"


def former_items(old: Json, schema: Schema) -> dict[Any, Json]:
    """Old items by key, the first of each; items of other lists have no identity and so no old value."""
    if not isinstance(old, list) or not is_keyed(schema):
        return {}
    found: dict[Any, Json] = {}
    for item in old:
        key = item_key(item, schema)
        if key is not None:
            found.setdefault(key, item)
    return found


def item_key(item: Json, schema: Schema) -> Any:
    """The key of an item with the type of each part; None if a key is missing."""
    keys = schema.merge.keys if schema.merge else ()
    if not isinstance(item, dict) or any(not isinstance(item.get(key), str | int | float) for key in keys):
        return None
    return tuple((type(item[key]), item[key]) for key in keys)
