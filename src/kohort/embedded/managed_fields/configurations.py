"""Checks an applied configuration against the schema, as far as field ownership requires it.

Validation proper follows after the merge.
"""

import json
from collections.abc import Mapping
from typing import Any

from kohort.api.codec import Json
from kohort.embedded.managed_fields.comparison import items_by_element
from kohort.embedded.managed_fields.field_schema import FieldSchema, NoKeyError
from kohort.embedded.managed_fields.path_elements import display
from kohort.kube.errors import StatusError, bad_request

MAX_SHOWN = 100


class _MisfitError(ValueError):
    """A part of the configuration does not match the schema."""


def check_configuration(config: Mapping[str, Any], api_version: str, kind: str, schema: FieldSchema) -> None:
    """Rejects a configuration that cannot be applied, with kube-apiserver's message."""
    metadata = config.get("metadata") or {}
    if metadata.get("managedFields"):
        raise bad_request("metadata.managedFields must be nil")
    given = (config.get("apiVersion"), config.get("kind"))
    if given != (api_version, kind or given[1]):
        raise bad_request(f"invalid object type: {_kind_text(config)}")
    try:
        _check(config, schema, "")
    except _MisfitError as misfit:
        about = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}; {_kind_text(config)}"
        raise StatusError(500, "", f"failed to create typed patch object ({about}): {misfit}") from None


def _kind_text(config: Mapping[str, Any]) -> str:
    version = str(config.get("apiVersion", ""))
    return f"{version if '/' in version else '/' + version}, Kind={config.get('kind', '')}"


def _check(value: Json, schema: FieldSchema, path: str) -> None:
    if value is None or schema.node is None:
        return
    expected = _expected(schema)
    if expected and (not isinstance(value, _TYPES[expected]) or (expected == "numeric" and isinstance(value, bool))):
        raise _MisfitError(f"{path}: expected {_NAMES.get(expected, expected)}, got {_got(value, expected)}")
    if isinstance(value, dict):
        _check_members(value, schema, path)
    elif isinstance(value, list):
        _check_items(value, schema, path)


def _check_members(value: Mapping[str, Json], schema: FieldSchema, path: str) -> None:
    node = schema.node
    for name, one in value.items():
        if node is not None and _is_unknown(schema, name):
            raise _MisfitError(f"{path}.{name}: field not declared in schema")
        _check(one, schema.member(name), f"{path}.{name}")


def _is_unknown(schema: FieldSchema, name: str) -> bool:
    node = schema.node
    return node is not None and bool(node.properties) and not node.preserves_unknown and node.member(name) is None


def _check_items(value: list[Json], schema: FieldSchema, path: str) -> None:
    if not schema.is_associative:
        for index, item in enumerate(value):
            _check(item, schema.item, f"{path}[{index}]")
        return
    for element, items in _groups(value, schema, path).items():
        if len(items) > 1:
            raise _MisfitError(f"{path}: duplicate entries for key {display(element)}")
        _check(items[0], schema.item, f"{path}{display(element)}")


def _groups(value: list[Json], schema: FieldSchema, path: str) -> dict[str, list[Json]]:
    for index, item in enumerate(value):
        if item is None:
            without = "without keys" if schema.list_type == "set" else "with keys"
            raise _MisfitError(
                f"{path}: element {index}: associative list {without} has an element that's an explicit null"
            )
        try:
            schema.element(item)
        except NoKeyError:
            keys = " ".join(json.dumps(name) for name, _ in schema.keys)
            raise _MisfitError(
                f"{path}: element {index}: associative list with keys has an element that omits all key fields "
                f"[{keys}] (and doesn't have default values for any key fields)"
            ) from None
    return items_by_element(value, schema)


_TYPES: dict[str, tuple[type, ...]] = {
    "map": (dict,),
    "list": (list,),
    "string": (str,),
    "numeric": (int, float),
    "boolean": (bool,),
}
_BY_SCHEMA = {
    "object": "map",
    "array": "list",
    "string": "string",
    "integer": "numeric",
    "number": "numeric",
    "boolean": "boolean",
}
_NAMES = {"numeric": "numeric (int or float)"}


def _expected(schema: FieldSchema) -> str:
    """The expected type; empty if the schema allows several."""
    if schema.node is None or schema.node.is_int_or_string:
        return ""
    return _BY_SCHEMA.get(schema.node.type, "")


def _got(value: Json, expected: str) -> str:
    text = str(value)[:MAX_SHOWN]
    if expected in ("map", "list"):
        return f"&{{{text}}}"
    return f"&value.valueUnstructured{{Value:{json.dumps(value)[:MAX_SHOWN]}}}"
