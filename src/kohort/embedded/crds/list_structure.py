"""Validation of list and map types in schemas."""

from collections.abc import Mapping

from kohort.api.fields import Path, forbidden, invalid, not_supported, required
from kohort.embedded.crds.keywords import RawSchema, SchemaErrors

_LIST, _KEYS, _MAP = "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type"
_SCALARS = ("string", "integer", "number", "boolean")


def list_problems(schema: RawSchema, path: Path) -> SchemaErrors:
    """Errors of list and map types."""
    yield from _typed(schema, path, _MAP, "object")
    yield from _typed(schema, path, _LIST, "array")
    if schema.get(_MAP) not in (None, "atomic", "granular"):
        yield not_supported(path / _MAP, schema[_MAP], ("atomic", "granular"))
    kind = schema.get(_LIST)
    if kind not in (None, "atomic", "set", "map"):
        yield not_supported(path / _LIST, kind, ("atomic", "set", "map"))
    if schema.get(_KEYS) and kind is None:
        yield required(path / _LIST, f"must be map if {_KEYS} is non-empty")
    elif schema.get(_KEYS) and kind != "map":
        yield invalid(path / _LIST, kind, f"must be map if {_KEYS} is non-empty")
    if kind == "set":
        yield from _set_problems(schema, path)
    if kind == "map":
        yield from _keyed_problems(schema, path)


def _typed(schema: RawSchema, path: Path, extension: str, wanted: str) -> SchemaErrors:
    if schema.get(extension) is None or schema.get("type") == wanted:
        return
    detail = f"must be {wanted} if {extension} is specified"
    yield invalid(path / "type", schema["type"], detail) if schema.get("type") else required(path / "type", detail)


def _set_problems(schema: RawSchema, path: Path) -> SchemaErrors:
    items = schema.get("items") or {}
    detail = f"must be atomic as item of a list with {_LIST}=set"
    if items.get("type") == "array" and items.get(_LIST) not in (None, "atomic"):
        yield invalid(path / "items" / _LIST, items.get(_LIST), detail)
    if items.get("type") == "object" and items.get(_MAP) != "atomic":
        yield invalid(path / "items" / _MAP, items.get(_MAP), detail)
    if items.get("nullable"):
        yield forbidden(path / "items" / "nullable", f"cannot be nullable when {_LIST} is set")


def _keyed_problems(schema: RawSchema, path: Path) -> SchemaErrors:
    keys, items = list(schema.get(_KEYS) or ()), schema.get("items")
    if not keys:
        yield required(path / _KEYS, f"must not be empty if {_LIST} is map")
    if not isinstance(items, Mapping):
        yield required(path / "items", f"must have a schema if {_LIST} is map")
        return
    if items.get("type") != "object":
        detail = f"must be object if parent array's {_LIST} is map"
        yield invalid(path / "items" / "type", items.get("type") or "", detail)
    if items.get("nullable"):
        yield forbidden(path / "items" / "nullable", f"cannot be nullable when {_LIST} is map")
    if len(set(keys)) < len(keys):
        yield invalid(path / _KEYS, keys, "must not contain duplicate entries")
    for key in keys:
        yield from _key_problems(key, items, path, keys)


def _key_problems(key: str, items: RawSchema, path: Path, keys: list[str]) -> SchemaErrors:
    member = (items.get("properties") or {}).get(key)
    place = (path / "items" / "properties")[key]
    if member is None:
        yield invalid(path / _KEYS, keys, "entries must all be names of item properties")
        return
    if member.get("type") not in _SCALARS and not member.get("x-kubernetes-int-or-string"):
        detail = f"must be a scalar type if parent array's {_LIST} is map"
        yield invalid(place / "type", member.get("type") or "", detail)
    if key not in (items.get("required") or ()) and "default" not in member:
        detail = f"this property is in {_KEYS}, so it must have a default or be a required property"
        yield required(place / "default", detail)
    if member.get("nullable"):
        yield forbidden(place / "nullable", f"this property is in {_KEYS}, so it cannot be nullable")
