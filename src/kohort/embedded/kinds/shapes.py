"""What values a schema of a built-in kind takes, in the form in which objects are read fast.

A shape is made from its schema once, when an object first reaches it, and shared by all places that refer to it.
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
    """The kind of one value, and the shapes below it."""

    def __init__(self, raw: Mapping[str, Any], name: str = "") -> None:
        self._raw = raw
        self.name = name
        """The last word of the definition's name (`PodSpec`); empty where the schema is none of its own."""
        self.kind = _SPECIAL.get(name) or _kind(raw)

    @cached_property
    def members(self) -> dict[str, "ValueShape"]:
        """The named members of an object."""
        return {name: shape_of(raw) for name, raw in self._raw.get("properties", {}).items()}

    @cached_property
    def below(self) -> "ValueShape":
        """What the items of a list, or the values of a map, look like."""
        return shape_of(self._raw["items"] if self.kind == "list" else self._raw["additionalProperties"])

    @property
    def short_name(self) -> str:
        """The struct's name in the errors people know: `PodSpec`."""
        return self.name.rpartition(".")[2]

    @property
    def go_type(self) -> str:
        """The type's name in the errors people know: `int32`, `[]v1.Container`, `map[string]string`."""
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
    """The shape of a schema; one that is referred to is made once."""
    reference = raw.get("$ref")
    if reference is None:
        return ValueShape(raw)
    name = reference.rpartition("/")[2]
    shape = _shared.get(name)
    if shape is None:
        shape = _shared[name] = ValueShape(DEFINITIONS[name], name)
    return shape


class SchemaReach:
    """Where in objects certain schemas may be found: everything else is never entered."""

    def __init__(self, schemas: frozenset[str]) -> None:
        self.schemas = schemas
        self._members: dict[str, dict[str, ValueShape]] = {}

    def below(self, shape: ValueShape) -> dict[str, ValueShape]:
        """Those members of an object at or below which one of the schemas stands."""
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
