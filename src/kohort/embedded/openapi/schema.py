"""Converts OpenAPI nodes to the schema trees of `kohort.api`, for pruning and type checks of built-in kinds.

A definition is converted once per call and shared. Custom resources have their own validator (`kohort.embedded.crds`),
since their schemas use more keywords.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from kohort.api.markers import Bounds, ListType, Merge
from kohort.api.schema import NO_DEFAULT, Schema, SchemaType
from kohort.embedded.openapi.node import SchemaNode

ANYTHING = Schema("any", preserves_unknown=True)

_BOUNDS = {
    "minimum": "minimum",
    "maximum": "maximum",
    "min_length": "minLength",
    "max_length": "maxLength",
    "min_items": "minItems",
    "max_items": "maxItems",
    "min_properties": "minProperties",
    "max_properties": "maxProperties",
}


def to_schema(node: SchemaNode) -> Schema:
    """The schema tree of a node; a recursive definition is open from there on."""
    return _Conversion().schema(node)


class _Conversion:
    """One conversion: converted definitions, and those in progress."""

    def __init__(self) -> None:
        self.done: dict[str, Schema] = {}
        self.open: set[str] = set()

    def schema(self, node: SchemaNode) -> Schema:
        name = _definition(node.raw)
        if name is None:
            return self._converted(node)
        if name in self.open:
            return ANYTHING
        key = name + _beside(node.raw)
        if key not in self.done:
            self.open.add(name)
            self.done[key] = _opened(self._converted(node))
            self.open.remove(name)
        return self.done[key]

    def _converted(self, node: SchemaNode) -> Schema:
        kind = _type(node)
        if kind == "any":
            return ANYTHING
        raw = node.resolved
        return Schema(
            type=kind,
            properties={name: self.schema(below) for name, below in node.properties.items()},
            required=tuple(raw.get("required") or ()),
            additional=self.schema(node.additional) if node.additional else None,
            items=self.schema(node.items) if node.items else None,
            preserves_unknown=node.preserves_unknown,
            default=raw.get("default", NO_DEFAULT),
            enum=tuple(raw.get("enum") or ()),
            pattern=str(raw.get("pattern", "")),
            format=str(raw.get("format", "")),
            bounds=_bounds(raw),
            merge=_merge(node),
        )


def _opened(schema: Schema) -> Schema:
    """A definition without properties (RawExtension, FieldsV1) is any object."""
    names_none = schema.type == "object" and not schema.properties and schema.additional is None
    return replace(schema, preserves_unknown=True) if names_none else schema


def _definition(raw: Mapping[str, Any]) -> str | None:
    parts = raw.get("allOf")
    if isinstance(parts, list) and len(parts) == 1:
        raw = {**parts[0], **raw}
    reference = raw.get("$ref")
    return str(reference) if reference else None


def _beside(raw: Mapping[str, Any]) -> str:
    """Keywords that override the referenced definition, e.g. different defaults."""
    return repr({name: value for name, value in raw.items() if name not in ("$ref", "allOf", "description")})


def _type(node: SchemaNode) -> SchemaType:
    if node.is_int_or_string:
        return "int-or-string"
    if node.type:
        return cast("SchemaType", node.type)
    alternatives = node.resolved.get("oneOf") or node.resolved.get("anyOf") or ()
    types = {SchemaNode(each, node.definitions).type for each in alternatives}
    if types == {"string", "integer"}:
        return "int-or-string"
    return "object" if node.properties else "any"


def _bounds(raw: Mapping[str, Any]) -> Bounds:
    return Bounds(**{ours: raw[theirs] for ours, theirs in _BOUNDS.items() if theirs in raw})


def _merge(node: SchemaNode) -> Merge | None:
    if "x-kubernetes-list-type" in node.resolved:
        return Merge(cast("ListType", node.list_type), node.list_map_keys)
    return Merge("atomic") if node.is_atomic_map else None
