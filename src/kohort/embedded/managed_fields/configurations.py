"""Whether an applied configuration fits the schema: an owner must be able to say what he owns.

Only what ownership needs is checked here; validation proper comes after the merge.
"""

import json
from collections.abc import Mapping
from typing import Any

from kohort.api.codec import Json
from kohort.embedded.managed_fields.comparison import grouped
from kohort.embedded.managed_fields.field_schema import FieldSchema, NoKeyError
from kohort.embedded.managed_fields.path_elements import shown
from kohort.kube.errors import StatusError, bad_request

MAX_SHOWN = 100


class _MisfitError(ValueError):
    """Something in the configuration that its schema has no place for."""


def check_configuration(config: Mapping[str, Any], api_version: str, kind: str, shape: FieldSchema) -> None:
    """Refuse what can't be applied, in the server's words."""
    metadata = config.get("metadata") or {}
    if metadata.get("managedFields"):
        raise bad_request("metadata.managedFields must be nil")
    given = (config.get("apiVersion"), config.get("kind"))
    if given != (api_version, kind or given[1]):
        raise bad_request(f"invalid object type: {_kind_text(config)}")
    try:
        _check(config, shape, "")
    except _MisfitError as misfit:
        about = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}; {_kind_text(config)}"
        raise StatusError(500, "", f"failed to create typed patch object ({about}): {misfit}") from None


def _kind_text(config: Mapping[str, Any]) -> str:
    version = str(config.get("apiVersion", ""))
    return f"{version if '/' in version else '/' + version}, Kind={config.get('kind', '')}"


def _check(value: Json, shape: FieldSchema, path: str) -> None:
    if value is None or shape.node is None:
        return
    expected = _expected(shape)
    if expected and (not isinstance(value, _TYPES[expected]) or (expected == "numeric" and isinstance(value, bool))):
        raise _MisfitError(f"{path}: expected {_NAMES.get(expected, expected)}, got {_got(value, expected)}")
    if isinstance(value, dict):
        _check_members(value, shape, path)
    elif isinstance(value, list):
        _check_items(value, shape, path)


def _check_members(value: Mapping[str, Json], shape: FieldSchema, path: str) -> None:
    node = shape.node
    for name, one in value.items():
        if node is not None and _is_unknown(shape, name):
            raise _MisfitError(f"{path}.{name}: field not declared in schema")
        _check(one, shape.member(name), f"{path}.{name}")


def _is_unknown(shape: FieldSchema, name: str) -> bool:
    node = shape.node
    return node is not None and bool(node.properties) and not node.preserves_unknown and node.member(name) is None


def _check_items(value: list[Json], shape: FieldSchema, path: str) -> None:
    if not shape.is_divided:
        for index, item in enumerate(value):
            _check(item, shape.item, f"{path}[{index}]")
        return
    for element, items in _groups(value, shape, path).items():
        if len(items) > 1:
            raise _MisfitError(f"{path}: duplicate entries for key {shown(element)}")
        _check(items[0], shape.item, f"{path}{shown(element)}")


def _groups(value: list[Json], shape: FieldSchema, path: str) -> dict[str, list[Json]]:
    for index, item in enumerate(value):
        if item is None:
            without = "without keys" if shape.list_type == "set" else "with keys"
            raise _MisfitError(
                f"{path}: element {index}: associative list {without} has an element that's an explicit null"
            )
        try:
            shape.element(item)
        except NoKeyError:
            keys = " ".join(json.dumps(name) for name, _ in shape.keys)
            raise _MisfitError(
                f"{path}: element {index}: associative list with keys has an element that omits all key fields "
                f"[{keys}] (and doesn't have default values for any key fields)"
            ) from None
    return grouped(value, shape)


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


def _expected(shape: FieldSchema) -> str:
    """What kind of value the schema wants; empty when it takes several."""
    if shape.node is None or shape.node.is_int_or_string:
        return ""
    return _BY_SCHEMA.get(shape.node.type, "")


def _got(value: Json, expected: str) -> str:
    text = str(value)[:MAX_SHOWN]
    if expected in ("map", "list"):
        return f"&{{{text}}}"
    return f"&value.valueUnstructured{{Value:{json.dumps(value)[:MAX_SHOWN]}}}"
