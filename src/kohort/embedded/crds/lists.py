"""Uniqueness of items in sets and maps."""

from collections.abc import Mapping
from typing import Any

import msgspec

from kohort.api.codec import Json
from kohort.api.fields import ErrorKind
from kohort.embedded.crds.checks import Findings, SchemaCheck, SchemaViolation
from kohort.embedded.crds.value_paths import MapKey, ValuePath


def uniqueness_of(schema: Mapping[str, Any]) -> SchemaCheck | None:
    """The search for duplicate items; None if the schema has no such lists."""
    if isinstance(schema.get("items"), Mapping):
        return _list_check(schema)
    return _object_check(schema)


def _list_check(schema: Mapping[str, Any]) -> SchemaCheck | None:
    below = uniqueness_of(schema["items"])
    is_unique = schema.get("x-kubernetes-list-type") in ("set", "map")
    if not is_unique and below is None:
        return None

    def check(value: Json, trail: ValuePath, found: Findings) -> None:
        if not isinstance(value, list):
            return
        if is_unique and len(value) > 1:
            _find_repeated(value, schema, trail, found)
        if below is not None:
            for index, item in enumerate(value):
                below(item, (trail, index), found)

    return check


def _object_check(schema: Mapping[str, Any]) -> SchemaCheck | None:
    members = schema.get("properties") or {}
    checks = {name: uniqueness_of(each) for name, each in members.items()}
    named = {name: each for name, each in checks.items() if each}
    additional = schema.get("additionalProperties")
    unnamed = uniqueness_of(additional) if isinstance(additional, Mapping) else None
    if not named and unnamed is None:
        return None

    def check(value: Json, trail: ValuePath, found: Findings) -> None:
        if not isinstance(value, dict):
            return
        for name, below in named.items():
            if name in value:
                below(value[name], (trail, name), found)
        if unnamed is not None:
            for name in value.keys() - members.keys():
                unnamed(value[name], (trail, MapKey(name)), found)

    return check


def _find_repeated(items: list[Json], schema: Mapping[str, Any], trail: ValuePath, found: Findings) -> None:
    is_map = schema.get("x-kubernetes-list-type") == "map"
    seen: set[str | bytes] = set()
    for index, item in enumerate(items):
        identity = map_identity(item, schema) if is_map else item
        key = identity if type(identity) is str else _frozen(identity)
        if key in seen:
            found.append(SchemaViolation((trail, index), ErrorKind.DUPLICATE, "", identity))
        seen.add(key)


def _frozen(value: Json) -> bytes:
    return msgspec.json.encode(value, order="deterministic")


def map_identity(item: Json, schema: Mapping[str, Any]) -> Json:
    """The identity of a map item: its keys with their values, including defaults."""
    if not isinstance(item, dict):
        return item
    members = (schema.get("items") or {}).get("properties") or {}
    keys = schema.get("x-kubernetes-list-map-keys") or ()
    found = {key: item.get(key, (members.get(key) or {}).get("default")) for key in keys}
    return {key: value for key, value in found.items() if value is not None}
