"""Schemas of structs: their annotations and markers as a tree of nodes.

Everything else derives from this tree: pruning, defaulting and validation (`structural`), CRDs (`crds`) and reference
pages (`reference`).
"""

import builtins
import types
import typing
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from typing import Any, Literal, get_args, get_origin

import msgspec

from kohort.api import markers as m
from kohort.api.codec import Json, to_json
from kohort.api.rules import Rule
from kohort.api.struct import Struct, View

SchemaType = Literal["object", "array", "string", "integer", "number", "boolean", "int-or-string", "any"]

NO_DEFAULT: Any = object()
NO_BOUNDS = m.Bounds()


@dataclass(frozen=True, slots=True)
class Schema:
    """A schema node: the type of a value, its bounds, and its children."""

    type: SchemaType
    struct: "builtins.type | None" = None
    """The struct of this node; its name is used in the reference pages."""
    properties: dict[str, "Schema"] = field(default_factory=dict)
    attributes: dict[str, str] = field(default_factory=dict)
    """Attribute name in the struct by JSON name."""
    required: tuple[str, ...] = ()
    additional: "Schema | None" = None
    items: "Schema | None" = None
    preserves_unknown: bool = False
    default: Any = NO_DEFAULT
    enum: tuple[str, ...] = ()
    pattern: str = ""
    format: str = ""
    bounds: m.Bounds = NO_BOUNDS
    merge: m.Merge | None = None
    rules: tuple[Rule, ...] = ()

    @property
    def has_default(self) -> bool:
        """Whether an absent value is defaulted."""
        return self.default is not NO_DEFAULT


@cache
def schema_of(struct: type) -> Schema:
    """The schema of a struct; cached and shared."""
    hints = typing.get_type_hints(struct, include_extras=True)
    properties: dict[str, Schema] = {}
    attributes: dict[str, str] = {}
    required: list[str] = []
    for info in msgspec.structs.fields(struct):
        node = _node(hints[info.name])
        marks = _marks(hints[info.name])
        if info.required or m.Required() in marks:
            required.append(info.encode_name)
        elif not issubclass(struct, View) and m.NoSchemaDefault() not in marks:
            node = _with_default(node, info)
        properties[info.encode_name] = node
        attributes[info.encode_name] = info.name
    if hasattr(struct, "wire_head"):
        properties = {"apiVersion": Schema("string"), "kind": Schema("string"), **properties}
    return Schema(
        type="object",
        struct=struct,
        properties=properties,
        attributes=attributes,
        required=tuple(required),
        preserves_unknown=issubclass(struct, View),
        rules=struct.schema_rules if issubclass(struct, Struct) else (),
    )


def _with_default(node: Schema, info: msgspec.structs.FieldInfo) -> Schema:
    """The node with the struct's default, unless that stands for absent (None or empty)."""
    default = info.default if info.default is not msgspec.NODEFAULT else info.default_factory()
    if default is None or default in ("", (), {}):
        return node
    return replace(node, default=to_json(default))


def _marks(hint: Any) -> tuple[Any, ...]:
    """All markers of a field, including those inside `X | None` and nested `Annotated`."""
    if get_origin(hint) is typing.Annotated:
        inner, *marks = get_args(hint)
        return (*_marks(inner), *marks)
    if get_origin(hint) in (typing.Union, types.UnionType):
        return tuple(mark for part in get_args(hint) for mark in _marks(part))
    return ()


def _node(hint: Any) -> Schema:
    node = _typed(_bare(hint), _marks(hint))
    for mark in _marks(hint):
        node = _marked(node, mark)
    return node


def _bare(hint: Any) -> Any:
    """The hint without `Annotated` and `| None`."""
    if get_origin(hint) is typing.Annotated:
        return _bare(get_args(hint)[0])
    if get_origin(hint) in (typing.Union, types.UnionType):
        parts = [part for part in get_args(hint) if part is not type(None)]
        return _bare(parts[0]) if len(parts) == 1 else hint
    return hint


_SCALARS: dict[Any, Schema] = {
    str: Schema("string"),
    bool: Schema("boolean"),
    int: Schema("integer"),
    float: Schema("number"),
    datetime: Schema("string", format="date-time"),
    Any: Schema("any", preserves_unknown=True),
}


def _typed(hint: Any, marks: tuple[Any, ...]) -> Schema:
    held = next((mark.view for mark in marks if isinstance(mark, m.Holds)), None)
    if held is not None:
        return schema_of(held)
    if m.IntOrString() in marks and get_origin(hint) in (typing.Union, types.UnionType):
        return Schema("int-or-string")
    if hint in _SCALARS:
        return _SCALARS[hint]
    origin, args = get_origin(hint), get_args(hint)
    if origin is Literal:
        return Schema("string", enum=tuple(str(value) for value in args))
    if origin is tuple:
        return Schema("array", items=_node(args[0]))
    if origin is dict:
        return Schema("object", additional=_node(args[1]))
    if isinstance(hint, type) and issubclass(hint, Struct):
        return schema_of(hint)
    raise TypeError(f"no schema for the type {hint!r}")


def _marked(node: Schema, mark: Any) -> Schema:
    match mark:
        case m.Bounds():
            return replace(node, bounds=_tighter(node.bounds, mark))
        case m.Pattern(regex):
            return replace(node, pattern=regex)
        case m.OneOf(values):
            return replace(node, enum=values)
        case m.Format(name):
            return replace(node, format=name)
        case m.Default(value):
            return replace(node, default=value)
        case m.Merge():
            return replace(node, merge=mark)
        case Rule():
            return replace(node, rules=(*node.rules, mark))
    return node


def _tighter(old: m.Bounds, new: m.Bounds) -> m.Bounds:
    """The new bounds if given, else the old ones."""
    given = {name: getattr(new, name) for name in m.Bounds.__slots__ if getattr(new, name) is not None}
    return replace(old, **given)


def has_rules(schema: Schema) -> bool:
    """Whether the tree contains a rule."""
    below = [*schema.properties.values(), *(node for node in (schema.additional, schema.items) if node)]
    return bool(schema.rules) or any(has_rules(node) for node in below)


def default_json(schema: Schema) -> Json:
    """A copy of the default that may be changed."""
    return msgspec.json.decode(msgspec.json.encode(schema.default))
