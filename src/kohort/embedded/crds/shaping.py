"""Shapes custom resources: applies defaults, drops nulls and unknown fields, in one pass.

A schema is compiled once to closures, since this runs on every write.
"""

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

from kohort.api.codec import Json
from kohort.embedded.crds.value_paths import MapKey, ValuePath

Shape = Callable[[Json, ValuePath, list[ValuePath]], Json]
"""Shapes a value; takes its path and the list of unknown paths to append to."""


def kept(value: Json, _trail: ValuePath, _unknown: list[ValuePath]) -> Json:
    """The unchanged value."""
    return value


def shape_of(schema: Mapping[str, Any]) -> Shape:
    """The shaping function of a schema."""
    names_members = schema.get("properties") or isinstance(schema.get("additionalProperties"), Mapping)
    if schema.get("x-kubernetes-preserve-unknown-fields") and not names_members:
        return kept
    if schema.get("type") == "integer":
        return _whole
    if "items" in schema:
        return _list_shape(shape_of(schema["items"]), schema["items"])
    if schema.get("type") == "object" or "properties" in schema:
        return _object_shape(schema)
    return _scalar


def _whole(value: Json, trail: ValuePath, unknown: list[ValuePath]) -> Json:
    """JSON may encode an integer as `1.0`."""
    return int(value) if type(value) is float and value.is_integer() else _scalar(value, trail, unknown)


def _scalar(value: Json, trail: ValuePath, unknown: list[ValuePath]) -> Json:
    """Members of what should be a scalar are kept; validation reports the wrong type."""
    if type(value) is dict:
        unknown += [(trail, name) for name in value]
        return {}
    if type(value) is list:
        return [_scalar(item, (trail, index), unknown) for index, item in enumerate(value)]
    return value


def _list_shape(item: Shape, schema: Mapping[str, Any]) -> Shape:
    if item is kept:
        return kept
    null = None if schema.get("nullable") else schema.get("default")

    def shape(value: Json, trail: ValuePath, unknown: list[ValuePath]) -> Json:
        if type(value) is not list:
            return _scalar(value, trail, unknown)
        filled = (deepcopy(null) if each is None else each for each in value) if null is not None else value
        return [item(each, (trail, index), unknown) for index, each in enumerate(filled)]

    return shape


def _object_shape(schema: Mapping[str, Any]) -> Shape:
    named = {name: shape_of(below) for name, below in (schema.get("properties") or {}).items()}
    defaults = {
        name: below["default"] for name, below in (schema.get("properties") or {}).items() if "default" in below
    }
    nullable = {name for name, below in (schema.get("properties") or {}).items() if below.get("nullable")}
    unnamed = _unnamed_shape(schema)

    def shape(value: Json, trail: ValuePath, unknown: list[ValuePath]) -> Json:
        if type(value) is not dict:
            return _scalar(value, trail, unknown)
        made: dict[str, Json] = {}
        for name, member in value.items():
            below = named.get(name)
            if below is None:
                unnamed(name, member, trail, unknown, made)
            elif member is not None or name in nullable:
                made[name] = below(member, (trail, name), unknown)
        for name, default in defaults.items():
            if name not in made:
                made[name] = named[name](deepcopy(default), (trail, name), unknown)
        return made

    return shape


Unnamed = Callable[[str, Json, ValuePath, list[ValuePath], dict[str, Json]], None]


def _unnamed_shape(schema: Mapping[str, Any]) -> Unnamed:
    """Handling of members that the schema does not name."""
    additional = schema.get("additionalProperties")
    if isinstance(additional, Mapping):
        return _map_value_shape(shape_of(additional), additional)
    if additional or schema.get("x-kubernetes-preserve-unknown-fields"):
        return _keep
    return _drop


def _keep(name: str, member: Json, _trail: ValuePath, _unknown: list[ValuePath], made: dict[str, Json]) -> None:
    made[name] = member


def _drop(name: str, _member: Json, trail: ValuePath, unknown: list[ValuePath], _made: dict[str, Json]) -> None:
    unknown.append((trail, name))


def _map_value_shape(below: Shape, schema: Mapping[str, Any]) -> Unnamed:
    nullable, default = schema.get("nullable"), schema.get("default")

    def add(name: str, member: Json, trail: ValuePath, unknown: list[ValuePath], made: dict[str, Json]) -> None:
        if member is None and not nullable:
            member = deepcopy(default)
        if member is not None or nullable:
            made[name] = below(member, (trail, MapKey(name)), unknown)

    return add
