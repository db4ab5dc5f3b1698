"""Type conversions, `type()`, `dyn()` and `size()`."""

import math
import re
from typing import Any

from kohort.embedded.cel.errors import EvaluationError
from kohort.embedded.cel.library.arithmetic import INT_RANGE, UINT_RANGE
from kohort.embedded.cel.library.times import duration_text, timestamp_text
from kohort.embedded.cel.overloads import ANY, function, method
from kohort.embedded.cel.values import SECOND, DurationValue, Timestamp, TypeValue, UInt, type_name

function("dyn", ANY)(lambda value: value)
function("type", ANY)(lambda value: TypeValue(type_name(value)))

_kind: type
for _kind in (str, bytes, list, dict):
    function("size", _kind)(len)
    method("size", _kind)(len)


# Numbers


def _ranged(value: int, limits: tuple[int, int], make: type) -> Any:
    if limits[0] <= value <= limits[1]:
        return make(value)
    raise EvaluationError("integer overflow" if make is int else "unsigned integer overflow")


_DIGITS = re.compile(r"[+-]?[0-9]+")


def _parsed(text: str, limits: tuple[int, int], make: type) -> Any:
    if not _DIGITS.fullmatch(text):
        raise EvaluationError(f"type conversion error from 'string' to '{'int' if make is int else 'uint'}'")
    return _ranged(int(text), limits, make)


def _cut(value: float, limits: tuple[int, int], make: type) -> Any:
    if not math.isfinite(value):
        raise EvaluationError("integer overflow")
    return _ranged(int(value), limits, make)


for _make, _limits in ((int, INT_RANGE), (UInt, UINT_RANGE)):
    _name = "int" if _make is int else "uint"
    for _kind in (int, UInt):
        function(_name, _kind)(lambda value, limits=_limits, make=_make: _ranged(value, limits, make))
    function(_name, float)(lambda value, limits=_limits, make=_make: _cut(value, limits, make))
    function(_name, str)(lambda value, limits=_limits, make=_make: _parsed(value, limits, make))

function("int", Timestamp)(lambda value: value.nanos // SECOND)
function("int", DurationValue)(lambda value: value.nanos)

for _kind in (int, UInt, float):
    function("double", _kind)(float)


@function("double", str)
def _double(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise EvaluationError("type conversion error from 'string' to 'double'") from None


# Texts


@function("string", float)
def double_text(value: float) -> str:
    """The shortest decimal that round-trips, with an exponent from a million on."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("+Inf" if value > 0 else "-Inf")
    sign, digits, point = _decimal(value)
    exponent = point - 1
    if exponent < -4 or exponent >= 6:
        rest = f".{digits[1:]}" if digits[1:] else ""
        return f"{sign}{digits[0]}{rest}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
    if point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    whole, fraction = digits[:point].ljust(point, "0"), digits[point:]
    return f"{sign}{whole}.{fraction}" if fraction else f"{sign}{whole}"


def _decimal(value: float) -> tuple[str, str, int]:
    """Sign, significant digits, and position of the decimal point."""
    mantissa, _, exponent = f"{abs(value)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    sign = "-" if math.copysign(1, value) < 0 else ""
    return (sign, digits.rstrip("0"), point) if digits.rstrip("0") else (sign, "0", 1)


@function("string", bytes)
def _decoded(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from None


function("string", str)(lambda value: value)
function("string", bool)(lambda value: "true" if value else "false")
function("string", int)(str)
function("string", UInt)(lambda value: str(int(value)))
function("string", Timestamp)(timestamp_text)
function("string", DurationValue)(duration_text)

function("bytes", str)(lambda value: value.encode())
function("bytes", bytes)(lambda value: value)

_BOOLEANS = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}

function("bool", bool)(lambda value: value)


@function("bool", str)
def _bool(text: str) -> bool:
    if text not in _BOOLEANS:
        raise EvaluationError("type conversion error from 'string' to 'bool'")
    return _BOOLEANS[text]
