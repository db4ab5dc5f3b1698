"""Lists that a schema calls sets or maps hold nothing twice."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from kohort.api.codec import Json
from kohort.api.fields import ErrorKind
from kohort.embedded.crds.checks import Finding
from kohort.embedded.crds.places import START, MapKey, Trail


def repeated(value: Json, schema: Mapping[str, Any], trail: Trail = START) -> Iterator[Finding]:
    """Every item of a set or map that stands there already."""
    if isinstance(value, list) and isinstance(schema.get("items"), Mapping):
        yield from _repeated_items(value, schema, trail)
        for index, item in enumerate(value):
            yield from repeated(item, schema["items"], (trail, index))
    elif isinstance(value, dict):
        named, additional = schema.get("properties") or {}, schema.get("additionalProperties")
        for name, member in value.items():
            if name in named:
                yield from repeated(member, named[name], (trail, name))
            elif isinstance(additional, Mapping):
                yield from repeated(member, additional, (trail, MapKey(name)))


def has_unique_lists(schema: Mapping[str, Any]) -> bool:
    """Whether there is such a list anywhere below, so that it is worth looking."""
    if schema.get("x-kubernetes-list-type") in ("set", "map"):
        return True
    below = [*(schema.get("properties") or {}).values(), schema.get("items"), schema.get("additionalProperties")]
    return any(isinstance(each, Mapping) and has_unique_lists(each) for each in below)


def _repeated_items(items: list[Json], schema: Mapping[str, Any], trail: Trail) -> Iterator[Finding]:
    kind = schema.get("x-kubernetes-list-type")
    if kind not in ("set", "map") or len(items) < 2:
        return
    seen: set[Any] = set()
    for index, item in enumerate(items):
        identity = map_identity(item, schema) if kind == "map" else item
        key = (type(identity) is bool, identity) if isinstance(identity, str | int | float) else _frozen(identity)
        if key in seen:
            yield Finding((trail, index), ErrorKind.DUPLICATE, "", identity)
        seen.add(key)


def _frozen(value: Json) -> bytes:
    return msgspec.json.encode(value, order="deterministic")


def map_identity(item: Json, schema: Mapping[str, Any]) -> Json:
    """What tells an item from the others: its keys with their values, defaults included."""
    if not isinstance(item, dict):
        return item
    members = (schema.get("items") or {}).get("properties") or {}
    keys = schema.get("x-kubernetes-list-map-keys") or ()
    found = {key: item.get(key, (members.get(key) or {}).get("default")) for key in keys}
    return {key: value for key, value in found.items() if value is not None}
