"""Decodes objects by their schema: wrong types are rejected, unknown fields reported, values canonicalized.

Errors have kube-apiserver's texts, which name Go types.
"""

import binascii
import re
from base64 import b64decode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from kohort.api.codec import Json
from kohort.api.quantity import QuantityError, canonical
from kohort.api.times import TimeError, format_micro_time, format_time, parse_time
from kohort.embedded.kinds.shapes import ValueShape, shape_of
from kohort.embedded.resources import ServedResource
from kohort.kube.errors import StatusError, bad_request

_QUANTITY_LIKE = re.compile(r"[+-]?[0-9.]+[eEinumkKMGTP]*[-+]?[0-9]*")
_QUANTITY_RULE = r"quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_NOTHING: Mapping[str, Json] = MappingProxyType({})
_RANGES = {"int32": 2**31, "int64": 2**63}

_ValuePath = tuple[Any, ...]
"""Path of a value as a linked pair (parent, step); rendered for errors only."""


@dataclass(frozen=True, slots=True)
class ReadObject:
    """A decoded object, and its unknown fields."""

    object: dict[str, Json]
    unknown: tuple[str, ...] = ()
    """One message per unknown field: `unknown field "spec.foo"`."""


class _Mismatch(Exception):  # noqa: N818 - never leaves this module
    """A value of the wrong type."""


def read_object(resource: ServedResource, obj: dict[str, Json], former: Mapping[str, Json] = _NOTHING) -> ReadObject:
    """The object without unknown fields and nulls, quantities and times in canonical form; raises on wrong types.

    Parts shared with the former state were decoded when it was written, and are skipped.
    """
    if resource.schema is None:
        return ReadObject(obj)
    shape = shape_of(resource.schema.raw)
    unknown: list[str] = []
    given = {name: value for name, value in obj.items() if value is None or value is not former.get(name)}
    try:
        known = _object(given, shape, shape, (), unknown)
    except _Mismatch as problem:
        raise unreadable(resource, str(problem)) from None
    if len(given) < len(obj):
        known = {name: known.get(name, value) for name, value in obj.items() if name in known or name not in given}
    return ReadObject(known, tuple(unknown))


def strict_error(resource: ServedResource, unknown: tuple[str, ...]) -> StatusError:
    """The error for unknown fields under strict field validation."""
    return unreadable(resource, f"strict decoding error: {', '.join(unknown)}")


def unreadable(resource: ServedResource, why: str) -> StatusError:
    """The error for a body that is not an object of the kind."""
    kind = resource.kind
    return bad_request(f'{kind} in version "{resource.version}" cannot be handled as a {kind}: {why}')


def _read(value: Json, shape: ValueShape, struct: ValueShape, trail: _ValuePath, unknown: list[str]) -> Json:
    reader = _READERS.get(shape.kind)
    return value if reader is None else reader(value, shape, struct, trail, unknown)


def _object(
    value: Json, shape: ValueShape, struct: ValueShape, trail: _ValuePath, unknown: list[str]
) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise _mismatch(value, shape, struct, trail)
    found: dict[str, Json] = {}
    members = shape.members
    for name, member in value.items():
        below = members.get(name)
        if below is None:
            unknown.append(f'unknown field "{_path((trail, name))}"')
        elif member is not None:
            found[name] = _read(member, below, shape, (trail, name), unknown)
    return found


def _map(value: Json, shape: ValueShape, struct: ValueShape, trail: _ValuePath, unknown: list[str]) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise _mismatch(value, shape, struct, trail)
    below, zero = shape.below, _zero(shape.below)
    return {
        name: zero if member is None else _read(member, below, struct, (trail, name), unknown)
        for name, member in value.items()
    }


def _list(value: Json, shape: ValueShape, struct: ValueShape, trail: _ValuePath, unknown: list[str]) -> list[Json]:
    if not isinstance(value, list):
        raise _mismatch(value, shape, struct, trail)
    below, zero = shape.below, _zero(shape.below)
    return [
        zero if item is None else _read(item, below, struct, (trail, index), unknown)
        for index, item in enumerate(value)
    ]


_ZEROS: dict[str, Json] = {"boolean": False, "int32": 0, "int64": 0, "number": 0, "quantity": "0"}


def _zero(shape: ValueShape) -> Json:
    """The zero value that replaces a null."""
    if shape.kind in ("object", "map"):
        return {}
    return [] if shape.kind == "list" else _ZEROS.get(shape.kind, "")


def _string(value: Json, shape: ValueShape, struct: ValueShape, trail: _ValuePath, _: list[str]) -> Json:
    if not isinstance(value, str):
        raise _mismatch(value, shape, struct, trail)
    return value


def _boolean(value: Json, shape: ValueShape, struct: ValueShape, trail: _ValuePath, _: list[str]) -> Json:
    if not isinstance(value, bool):
        raise _mismatch(value, shape, struct, trail)
    return value


def _integer(value: Json, shape: ValueShape, struct: ValueShape, trail: _ValuePath, _: list[str]) -> Json:
    limit = _RANGES[shape.kind]
    if isinstance(value, bool) or not isinstance(value, int) or not -limit <= value < limit:
        raise _mismatch(value, shape, struct, trail)
    return value


def _number(value: Json, shape: ValueShape, struct: ValueShape, trail: _ValuePath, _: list[str]) -> Json:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _mismatch(value, shape, struct, trail)
    return value


def _int_or_string(value: Json, shape: ValueShape, struct: ValueShape, trail: _ValuePath, unknown: list[str]) -> Json:
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and -(2**31) <= value < 2**31:
        return value
    raise _Mismatch(f"json: cannot unmarshal {_json_name(value)} into Go value of type int32")


def _quantity(value: Json, shape: ValueShape, struct: ValueShape, trail: _ValuePath, _: list[str]) -> Json:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise _Mismatch(_QUANTITY_RULE)
    try:
        return canonical(value)
    except QuantityError:
        is_close = _QUANTITY_LIKE.fullmatch(str(value)) is not None
        raise _Mismatch("unable to parse quantity's suffix" if is_close else _QUANTITY_RULE) from None


def _time(value: Json, shape: ValueShape, struct: ValueShape, trail: _ValuePath, _: list[str]) -> Json:
    if not isinstance(value, str):
        raise _Mismatch(f"json: cannot unmarshal {_json_name(value)} into Go value of type string")
    try:
        moment = parse_time(value)
    except TimeError:
        form = "2006-01-02T15:04:05Z07:00"
        raise _Mismatch(f'parsing time "{value}" as "{form}": cannot parse "{value}" as "2006"') from None
    return format_time(moment) if shape.kind == "time" else format_micro_time(moment)


def _bytes(value: Json, shape: ValueShape, struct: ValueShape, trail: _ValuePath, _: list[str]) -> Json:
    if not isinstance(value, str):
        raise _mismatch(value, shape, struct, trail)
    text = value.replace("\n", "").replace("\r", "")
    try:
        b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise _Mismatch(f"illegal base64 data at input byte {_first_alien(text)}") from None
    return text


_ALIEN = re.compile(r"[^A-Za-z0-9+/]")


def _first_alien(text: str) -> int:
    """Offset of the first invalid base64 character, counted as Go does."""
    match = _ALIEN.search(text)
    return match.start() if match else len(text) // 4 * 4


_READERS: dict[str, Callable[[Json, ValueShape, ValueShape, _ValuePath, list[str]], Json]] = {
    "object": _object,
    "map": _map,
    "list": _list,
    "string": _string,
    "boolean": _boolean,
    "int32": _integer,
    "int64": _integer,
    "number": _number,
    "int-or-string": _int_or_string,
    "quantity": _quantity,
    "time": _time,
    "micro-time": _time,
    "bytes": _bytes,
}


def _mismatch(value: Json, shape: ValueShape, struct: ValueShape, trail: _ValuePath) -> _Mismatch:
    names = [step for step in _steps(trail) if isinstance(step, str)]
    # A map key is not a field: the error refers to the map.
    while len(names) > 1 and not _is_field(struct, names[-1]):
        names.pop()
    place = ".".join([struct.short_name, *names])
    what = f"Go struct field {place}" if names else "Go value"
    return _Mismatch(f"json: cannot unmarshal {_json_name(value)} into {what} of type {shape.go_type}")


def _is_field(struct: ValueShape, name: str) -> bool:
    return name in struct.members


_JSON_NAMES = {"str": "string", "dict": "object", "list": "array"}


def _json_name(value: Json) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return f"number {value}" if isinstance(value, float) or abs(value) >= 2**31 else "number"
    return _JSON_NAMES.get(type(value).__name__, "null")


def _steps(trail: _ValuePath) -> list[str | int]:
    steps: list[str | int] = []
    while trail:
        trail, step = trail
        steps.append(step)
    return steps[::-1]


def _path(trail: _ValuePath) -> str:
    text = ""
    for step in _steps(trail):
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text
