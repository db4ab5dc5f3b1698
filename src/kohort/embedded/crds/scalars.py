"""Validation of scalars: length, pattern, format, range, enum."""

import json
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from kohort.api.codec import Json
from kohort.api.fields import NO_VALUE, ErrorKind
from kohort.embedded.cel.regex import RegexError, compile_pattern
from kohort.embedded.crds.formats import format_check


class ScalarProblem(NamedTuple):
    """An error of a value; `{}` in the message is replaced by the path."""

    kind: ErrorKind
    detail: str
    value: Any
    is_placeless: bool = False
    """Whether the path is in the message only."""


_ScalarCheck = Callable[[Json], ScalarProblem | None]

_LIMITS = {"int32": 2**31, "int64": 2**63}


def counted(count: int, what: str) -> str:
    """`1 item`, `2 items`."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def not_whole(schema: Mapping[str, Any]) -> ScalarProblem:
    """kube-apiserver's additional message for a fraction where an integer is required."""
    form = f"with format {schema['format']}" if schema.get("format") in _LIMITS else "(default format)"
    return ScalarProblem(
        ErrorKind.INVALID, f"Checked value must be of type integer {form} in {{}}", "", is_placeless=True
    )


def scalar_problems(schema: Mapping[str, Any]) -> list[_ScalarCheck]:
    """The checks of a string or number, in kube-apiserver's order."""
    found = [_text_problem(schema), _format_problem(schema), *_number_problems(schema), _enum_problem(schema)]
    return [each for each in found if each]


def _text_problem(schema: Mapping[str, Any]) -> _ScalarCheck | None:
    """A string has one error: length, then pattern."""
    most, least, pattern = schema.get("maxLength"), schema.get("minLength"), schema.get("pattern")
    if most is None and least is None and not pattern:
        return None
    shape = _compiled(pattern)

    def problem(value: Json) -> ScalarProblem | None:
        if type(value) is not str:
            return None
        if most is not None and len(value) > most:
            return ScalarProblem(ErrorKind.TOO_LONG, f"may not be more than {counted(most, 'byte')}", NO_VALUE)
        if least is not None and len(value) < least:
            return ScalarProblem(ErrorKind.INVALID, f"{{}} in body should be at least {least} chars long", value)
        if shape is not None and not shape(value):
            return ScalarProblem(ErrorKind.INVALID, f"{{}} in body should match '{pattern}'", value)
        return None

    return problem


def _compiled(pattern: str | None) -> Callable[[str], bool] | None:
    if not pattern:
        return None
    try:
        return compile_pattern(pattern).matches
    except RegexError:
        # The definition was accepted by an older version; an invalid pattern matches every value.
        return None


def _format_problem(schema: Mapping[str, Any]) -> _ScalarCheck | None:
    name = schema.get("format")
    check = format_check(str(name)) if name else None
    if check is None or schema.get("type") not in ("string", None):
        return None

    def problem(value: Json) -> ScalarProblem | None:
        if type(value) is not str or check(value):
            return None
        return ScalarProblem(ErrorKind.TYPE_INVALID, f'{{}} in body must be of type {name}: "{value}"', value)

    return problem


def _number_problems(schema: Mapping[str, Any]) -> list[_ScalarCheck | None]:
    return [_range_problem(schema), _multiple_problem(schema), _maximum_problem(schema), _minimum_problem(schema)]


def _is_number(value: Json) -> bool:
    return type(value) is int or type(value) is float


def _range_problem(schema: Mapping[str, Any]) -> _ScalarCheck | None:
    name = str(schema.get("format") or "")
    limit = _LIMITS.get(name)
    if limit is None or schema.get("type") not in ("integer", "number"):
        return None

    def problem(value: Json) -> ScalarProblem | None:
        if not _is_number(value) or -limit <= value < limit:
            return None
        detail = f"Checked value must be of type {schema['type']} with format {name} in {{}}"
        return ScalarProblem(ErrorKind.INVALID, detail, "", is_placeless=True)

    return problem


def _multiple_problem(schema: Mapping[str, Any]) -> _ScalarCheck | None:
    unit = schema.get("multipleOf")
    if not unit:
        return None

    def problem(value: Json) -> ScalarProblem | None:
        if not _is_number(value) or math.isclose(value / unit, round(value / unit), rel_tol=1e-12, abs_tol=1e-12):
            return None
        return ScalarProblem(ErrorKind.INVALID, f"{{}} in body should be a multiple of {_shown(unit)}", value)

    return problem


def _maximum_problem(schema: Mapping[str, Any]) -> _ScalarCheck | None:
    return _bound_problem(schema.get("maximum"), schema.get("exclusiveMaximum"), "less than", operator.lt)


def _minimum_problem(schema: Mapping[str, Any]) -> _ScalarCheck | None:
    return _bound_problem(schema.get("minimum"), schema.get("exclusiveMinimum"), "greater than", operator.gt)


def _bound_problem(
    limit: Json, is_exclusive: Json, relation: str, is_inside: Callable[[Json, Json], bool]
) -> _ScalarCheck | None:
    if limit is None:
        return None
    words = relation if is_exclusive else f"{relation} or equal to"

    def problem(value: Json) -> ScalarProblem | None:
        if not _is_number(value) or is_inside(value, limit) or (value == limit and not is_exclusive):
            return None
        return ScalarProblem(ErrorKind.INVALID, f"{{}} in body should be {words} {_shown(limit)}", value)

    return problem


def shown_number(value: Any) -> Any:
    """The value in the form of errors: integral numbers without a fraction."""
    return int(value) if type(value) is float and value.is_integer() else value


def _shown(number: float) -> str:
    return str(shown_number(float(number)))


def _enum_problem(schema: Mapping[str, Any]) -> _ScalarCheck | None:
    allowed = schema.get("enum")
    if not allowed:
        return None
    texts = frozenset(each for each in allowed if type(each) is str)
    names = ", ".join(f'"{each if isinstance(each, str) else json.dumps(each)}"' for each in allowed)

    def problem(value: Json) -> ScalarProblem | None:
        if (type(value) is str and value in texts) or any(_is_same(value, each) for each in allowed):
            return None
        return ScalarProblem(ErrorKind.NOT_SUPPORTED, f"supported values: {names}", value)

    return problem


def _is_same(value: Json, other: Json) -> bool:
    return bool(value == other) and (type(value) is bool) == (type(other) is bool)
