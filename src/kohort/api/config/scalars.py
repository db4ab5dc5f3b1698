"""Durations, quantities and numbers of a configuration, in canonical form.

A file may contain `90s` or `1m30s`, `0.5` or `"0.5"`; the result has one form of each.
"""

from collections.abc import Callable
from math import isfinite

from kohort.api.codec import Json
from kohort.api.config.common import DURATION_FORMAT
from kohort.api.fields import ROOT, ErrorKind, FieldError, Path, invalid
from kohort.api.schema import Schema
from kohort.api.times import TimeError, format_duration, parse_duration

Change = Callable[[Json, Schema, Path], Json]


def canonical(value: Json, schema: Schema) -> tuple[Json, list[FieldError]]:
    """The value with canonical durations and quantities, and errors of invalid durations and integers."""
    errors: list[FieldError] = []

    def rewrite(scalar: Json, schema: Schema, path: Path) -> Json:
        try:
            return _canonical(scalar, schema)
        except (TimeError, ValueError) as error:
            errors.append(FieldError(path, ErrorKind.TYPE_INVALID, str(error)))
            return scalar

    return _each(value, schema, ROOT, rewrite), errors


def _canonical(scalar: Json, schema: Schema) -> Json:
    match scalar:
        case str() if schema.format == DURATION_FORMAT:
            return format_duration(parse_duration(scalar))
        case float() if not isfinite(scalar):
            raise ValueError(f"must be a finite number: {scalar}")
        case float() if schema.type == "int-or-string":
            return repr(scalar)
        case float() if schema.type == "integer":
            raise ValueError(f"must be a whole number, without a decimal point: {scalar}")
    return scalar


def range_errors(value: Json, schema: Schema) -> list[FieldError]:
    """Errors of durations below the minimum of their fields."""
    errors: list[FieldError] = []

    def check(scalar: Json, schema: Schema, path: Path) -> Json:
        least = schema.bounds.minimum
        if schema.format == DURATION_FORMAT and least is not None and parse_duration(scalar) < least:
            errors.append(invalid(path, scalar, "must not be negative"))
        return scalar

    _each(value, schema, ROOT, check)
    return errors


def _each(value: Json, schema: Schema, path: Path, change: Change) -> Json:
    """The value with each scalar replaced by `change`."""
    if isinstance(value, dict):
        return {
            name: _each(member, schema.properties.get(name) or schema.additional or schema, path / name, change)
            for name, member in value.items()
        }
    if isinstance(value, list):
        return [_each(item, schema.items or schema, path[index], change) for index, item in enumerate(value)]
    return change(value, schema, path)
