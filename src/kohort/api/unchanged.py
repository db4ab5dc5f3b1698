"""What an update left as it was, in the eyes of an API server: such values are not judged again (API-75).

It compares only what the schema knows. An object with a member that the schema does not name counts as changed.
"""

from typing import Any

from kohort.api.codec import Json
from kohort.api.schema import Schema

MISSING: Any = object()
"""Stands for 'there was no former value here'."""


def is_unchanged(value: Json, old: Json, schema: Schema) -> bool:
    """Whether the value is the former one, whatever the order of its keyed items."""
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
    """Equal in types too: 1 is neither 1.0 nor true."""
    if isinstance(value, dict) and isinstance(old, dict):
        return value.keys() == old.keys() and all(_equal(member, old[name]) for name, member in value.items())
    if isinstance(value, list) and isinstance(old, list):
        return len(value) == len(old) and all(map(_equal, value, old))
    return type(value) is type(old) and bool(value == old)


# Items of lists


def is_keyed(schema: Schema) -> bool:
    """Whether items of the list are known by their keys."""
    return schema.merge is not None and schema.merge.list_type == "map"


def former_items(old: Json, schema: Schema) -> dict[Any, Json]:
    """Former items by key, the first of each; items of other lists have no identity and so no former value."""
    if not isinstance(old, list) or not is_keyed(schema):
        return {}
    found: dict[Any, Json] = {}
    for item in old:
        key = item_key(item, schema)
        if key is not None:
            found.setdefault(key, item)
    return found


def item_key(item: Json, schema: Schema) -> Any:
    """What tells the item from others, with the type of each part; None where a key is missing."""
    keys = schema.merge.keys if schema.merge else ()
    if not isinstance(item, dict) or any(not isinstance(item.get(key), str | int | float) for key in keys):
        return None
    return tuple((type(item[key]), item[key]) for key in keys)
