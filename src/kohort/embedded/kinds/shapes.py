"""Value types of built-in schemas, compiled for fast decoding.

A shape is created from its schema on first use, and shared by all references.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from kohort.embedded.kinds.definitions import DEFINITIONS

_SPECIAL = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "quantity",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "int-or-string",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": "time",
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": "micro-time",
}
_GO_TYPES = {
    "quantity": "resource.Quantity",
    "int-or-string": "intstr.IntOrString",
    "time": "v1.Time",
    "micro-time": "v1.MicroTime",
    "string": "string",
    "bytes": "[]uint8",
    "boolean": "bool",
    "int32": "int32",
    "int64": "int64",
    "number": "float64",
}


class ValueShape:
    """The type of one value, and the shapes below it."""

    def __init__(self, raw: Mapping[str, Any], name: str = "") -> None:
        self._raw = raw
        self.name = name
        """The last segment of the definition's name (`PodSpec`); empty for an inline schema."""
        self.kind = _SPECIAL.get(name) or _kind(raw)

    @cached_property
    def members(self) -> dict[str, "ValueShape"]:
        """The named members of an object."""
        return {name: shape_of(raw) for name, raw in self._raw.get("properties", {}).items()}

    @cached_property
    def below(self) -> "ValueShape":
        """The shape of list items or map values."""
        return shape_of(self._raw["items"] if self.kind == "list" else self._raw["additionalProperties"])

    @property
    def short_name(self) -> str:
        """The Go struct's name in errors: `PodSpec`."""
        return self.name.rpartition(".")[2]

    @property
    def go_type(self) -> str:
        """The Go type's name in errors: `int32`, `[]v1.Container`, `map[string]string`."""
        if self.kind == "list":
            return f"[]{self.below.go_type}"
        if self.kind == "map":
            return f"map[string]{self.below.go_type}"
        return _GO_TYPES.get(self.kind) or ".".join(self.name.rsplit(".", 2)[1:])


def _kind(raw: Mapping[str, Any]) -> str:
    if raw.get("x-kubernetes-preserve-unknown-fields"):
        return "any"
    match _type(raw), raw.get("format", ""):
        case "object", _:
            return _object_kind(raw)
        case "array", _:
            return "list"
        case "string", "byte":
            return "bytes"
        case "integer", form:
            return form or "int64"
        case known, _:
            return known or _object_kind(raw)


def _type(raw: Mapping[str, Any]) -> str:
    kind = raw.get("type", "")
    return str(kind[0] if isinstance(kind, list) else kind)


def _object_kind(raw: Mapping[str, Any]) -> str:
    if "properties" in raw:
        return "object"
    return "map" if "additionalProperties" in raw else "any"


_shared: dict[str, ValueShape] = {}


def shape_of(raw: Mapping[str, Any]) -> ValueShape:
    """The shape of a schema; cached for references."""
    reference = raw.get("$ref")
    if reference is None:
        return ValueShape(raw)
    name = reference.rpartition("/")[2]
    shape = _shared.get(name)
    if shape is None:
        shape = _shared[name] = ValueShape(DEFINITIONS[name], name)
    return shape


class SchemaReach:
    """Paths to certain schemas within objects, so that everything else is skipped."""

    def __init__(self, schemas: frozenset[str]) -> None:
        self.schemas = schemas
        self._members: dict[str, dict[str, ValueShape]] = {}

    def below(self, shape: ValueShape) -> dict[str, ValueShape]:
        """The members at or below which one of the schemas occurs."""
        found = self._members.get(shape.name)
        if found is None:
            found = {name: below for name, below in shape.members.items() if self._leads(below, frozenset())}
            self._members[shape.name] = found
        return found

    def _leads(self, shape: ValueShape, seen: frozenset[str]) -> bool:
        if shape.kind in ("list", "map"):
            return self._leads(shape.below, seen)
        if shape.kind != "object" or shape.name in seen:
            return False
        if shape.name in self.schemas:
            return True
        return any(self._leads(below, seen | {shape.name}) for below in shape.members.values())
