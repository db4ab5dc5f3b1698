"""Checks one value against one schema node: type, bounds and format; not its children.

Bounds of a value of the wrong type are checked too, because kube-apiserver reports both.
"""

import re
from collections.abc import Iterator
from datetime import date
from functools import cache
from typing import Any

from kohort.api.codec import Json
from kohort.api.fields import NO_VALUE, ROOT, ErrorKind, FieldError, Path
from kohort.api.markers import QUANTITY_REGEX, Bounds
from kohort.api.quantity import is_quantity
from kohort.api.schema import Schema

Trail = tuple[Any, ...]
"""The path to a node as a linked pair (parent, key); rendered only for errors."""

START: Trail = ()


def path_of(trail: Trail) -> Path:
    """The path in its printed form."""
    steps: list[str | int] = []
    while trail:
        trail, step = trail
        steps.append(step)
    path = ROOT
    for step in reversed(steps):
        path = path[step] if isinstance(step, int) else path / step
    return path


def error_at(trail: Trail, kind: ErrorKind, detail: str, value: Any = NO_VALUE) -> FieldError:
    """A schema error at this path."""
    return FieldError(path_of(trail), kind, detail, value, source="schema")


def node_errors(value: Json, schema: Schema, trail: Trail) -> Iterator[FieldError]:
    """Errors of the value itself."""
    yield from _type_errors(value, schema, trail)
    match value:
        case bool():
            pass
        case str():
            yield from _string_errors(value, schema, trail)
        case int() | float():
            yield from _number_errors(value, schema, trail)
        case list():
            yield from _size_errors(len(value), schema.bounds.min_items, schema.bounds.max_items, "items", trail)
        case dict():
            yield from _object_errors(value, schema, trail)
    if schema.enum and value not in schema.enum:
        names = ", ".join(f'"{name}"' for name in schema.enum)
        yield error_at(trail, ErrorKind.NOT_SUPPORTED, f"supported values: {names}", value)


# Types

_TYPES: dict[str, tuple[tuple[type, ...], str]] = {
    "object": ((dict,), "an object"),
    "array": ((list,), "a list"),
    "string": ((str,), "a text"),
    "boolean": ((bool,), "true or false"),
    "integer": ((), "a whole number"),
    "number": ((int, float), "a number"),
    "int-or-string": ((str,), "a whole number or a text"),
}
_WHOLE = ("integer", "int-or-string")
_FORMAT_LIMITS = {"int32": 2**31, "int64": 2**63}
_EXACT_FLOATS = 2**53


def _type_errors(value: Json, schema: Schema, trail: Trail) -> Iterator[FieldError]:
    if schema.type == "any" or _has_type(value, schema):
        return
    yield error_at(trail, ErrorKind.TYPE_INVALID, _type_problem(value, schema), value)
    if schema.type == "int-or-string":
        # kube-apiserver tries both types in turn, and reports that neither matches and why the first does not.
        yield error_at(START, ErrorKind.INVALID, "must be of one of the types that the schema names", value)
        yield from _type_errors(value, Schema("integer"), trail)
    if schema.type == "integer" and _is_number(value):
        yield error_at(trail, ErrorKind.INVALID, f"must fit into {schema.format or 'int64'}", value)


def _type_problem(value: Json, schema: Schema) -> str:
    if schema.type == "int-or-string" and _is_number(value) and isinstance(value, int):
        return "is too large for a quantity"
    return f"must be {_TYPES[schema.type][1]}"


def _has_type(value: Json, schema: Schema) -> bool:
    if isinstance(value, bool):
        return schema.type == "boolean"
    if schema.type in _WHOLE and _is_number(value):
        return _is_whole(value)
    if schema.type == "string" and schema.format and isinstance(value, list):
        return True  # as kube-apiserver, which checks the format only of strings
    return isinstance(value, _TYPES[schema.type][0])


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_whole(value: float) -> bool:
    """Whether Go decodes it as an integer: beyond 64 bits it is a float there."""
    if isinstance(value, int) and -_FORMAT_LIMITS["int64"] <= value < _FORMAT_LIMITS["int64"]:
        return True
    return abs(value) < _EXACT_FLOATS and float(value).is_integer()


# Bounds


def _string_errors(value: str, schema: Schema, trail: Trail) -> Iterator[FieldError]:
    """The first error of a string: one invalid string is one error, as in kube-apiserver."""
    bounds = schema.bounds
    if bounds.max_length is not None and len(value) > bounds.max_length:
        yield error_at(trail, ErrorKind.TOO_LONG, f"may not be longer than {bounds.max_length} characters")
    elif bounds.min_length is not None and len(value) < bounds.min_length:
        yield error_at(trail, ErrorKind.INVALID, f"must have at least {bounds.min_length} characters", value)
    elif schema.pattern and not matches(schema.pattern, value):
        yield error_at(trail, ErrorKind.INVALID, f"must match {schema.pattern}", value)
    elif schema.pattern == QUANTITY_REGEX and not is_quantity(value):
        yield error_at(trail, ErrorKind.TYPE_INVALID, "must be a quantity such as 500m, 4 or 16Gi", value)
    if schema.format == "date-time" and not _is_time(value):
        yield error_at(trail, ErrorKind.TYPE_INVALID, "must be a time such as 2026-01-31T12:00:00Z", value)


_TIME = re.compile(
    r"(\d{4})(-\d{2}-\d{2})T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(.\d+)?(Z|[+-]\d{2}:\d{2})(T.*)?\Z",
    re.ASCII | re.IGNORECASE | re.DOTALL,
)
"""What kube-apiserver accepts as a time: any offset, and anything after another T."""


def _is_time(value: str) -> bool:
    match = _TIME.match(value)
    if match is None:
        return False
    year = "2000" if match[1] == "0000" else match[1]  # Go supports year 0, a leap year
    try:
        date.fromisoformat(year + match[2])
    except ValueError:
        return False
    return True


def _number_errors(value: float, schema: Schema, trail: Trail) -> Iterator[FieldError]:
    bounds = schema.bounds
    limit = _FORMAT_LIMITS.get(schema.format)
    if limit and _is_whole(value) and not -limit <= value < limit:
        yield error_at(trail, ErrorKind.INVALID, f"must fit into {schema.format}", value)
    if bounds.minimum is not None and value < bounds.minimum:
        yield error_at(trail, ErrorKind.INVALID, f"must be at least {bounds.minimum}", value)
    if bounds.maximum is not None and value > bounds.maximum:
        yield error_at(trail, ErrorKind.INVALID, f"must be at most {bounds.maximum}", value)


def _object_errors(value: dict[str, Json], schema: Schema, trail: Trail) -> Iterator[FieldError]:
    bounds: Bounds = schema.bounds
    yield from _size_errors(len(value), bounds.min_properties, bounds.max_properties, "entries", trail)
    for name in schema.required:
        if name not in value:
            yield error_at((trail, name), ErrorKind.REQUIRED, "must be given")


def _size_errors(size: int, least: int | None, most: int | None, what: str, trail: Trail) -> Iterator[FieldError]:
    if most is not None and size > most:
        yield error_at(trail, ErrorKind.TOO_MANY, f"may have at most {most} {what}", size)
    if least is not None and size < least:
        yield error_at(trail, ErrorKind.INVALID, f"must have at least {least} {what}", size)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    # `$` must not match before a final newline: Kubernetes' expressions don't.
    return re.compile(pattern[:-1] + r"\Z" if pattern.endswith("$") else pattern)


def matches(pattern: str, text: str) -> bool:
    """Whether a text matches a schema pattern, with Kubernetes' semantics."""
    return _compiled(pattern).search(text) is not None
