"""Operators on numbers, times and collections. 64-bit integer overflow is an error."""

import math
from typing import Any

from kohort.embedded.cel.budget import check_size
from kohort.embedded.cel.errors import EvaluationError
from kohort.embedded.cel.overloads import ANY, function
from kohort.embedded.cel.values import DurationValue, KeyedList, SetList, Timestamp, UInt, equal, keyed

INT_RANGE = (-(2**63), 2**63 - 1)
UINT_RANGE = (0, 2**64 - 1)
_YEAR_ONE = -62_135_596_800 * 10**9
_YEAR_9999 = 253_402_300_799_999_999_999


def integer(value: int) -> int:
    """The value, checked as int64."""
    if INT_RANGE[0] <= value <= INT_RANGE[1]:
        return value
    raise EvaluationError("integer overflow")


def unsigned(value: int) -> UInt:
    """The value, checked as uint64."""
    if UINT_RANGE[0] <= value <= UINT_RANGE[1]:
        return UInt(value)
    raise EvaluationError("unsigned integer overflow")


def instant(nanos: int) -> Timestamp:
    """A timestamp, checked to be between the years 1 and 9999."""
    if _YEAR_ONE <= nanos <= _YEAR_9999:
        return Timestamp(nanos)
    raise EvaluationError("timestamp overflow")


def span(nanos: int) -> DurationValue:
    """A duration, checked as int64 nanoseconds."""
    if INT_RANGE[0] <= nanos <= INT_RANGE[1]:
        return DurationValue(nanos)
    raise EvaluationError("duration overflow")


def _quotient(left: int, right: int) -> int:
    """Division truncated towards zero."""
    if right == 0:
        raise EvaluationError("division by zero")
    whole = abs(left) // abs(right)
    return whole if (left < 0) == (right < 0) else -whole


def _remainder(left: int, right: int) -> int:
    if right == 0:
        raise EvaluationError("modulus by zero")
    return left - right * _quotient(left, right)


function("_+_", int, int)(lambda left, right: integer(left + right))
function("_-_", int, int)(lambda left, right: integer(left - right))
function("_*_", int, int)(lambda left, right: integer(left * right))
function("_/_", int, int)(lambda left, right: integer(_quotient(left, right)))
function("_%_", int, int)(lambda left, right: integer(_remainder(left, right)))
function("-_", int)(lambda value: integer(-value))

function("_+_", UInt, UInt)(lambda left, right: unsigned(int(left) + int(right)))
function("_-_", UInt, UInt)(lambda left, right: unsigned(int(left) - int(right)))
function("_*_", UInt, UInt)(lambda left, right: unsigned(int(left) * int(right)))
function("_/_", UInt, UInt)(lambda left, right: unsigned(_quotient(int(left), int(right))))
function("_%_", UInt, UInt)(lambda left, right: unsigned(_remainder(int(left), int(right))))

function("_+_", float, float)(lambda left, right: left + right)
function("_-_", float, float)(lambda left, right: left - right)
function("_*_", float, float)(lambda left, right: left * right)
function("-_", float)(lambda value: -value)


@function("_/_", float, float)
def _divide(left: float, right: float) -> float:
    if right:
        return left / right
    if left == 0 or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1, right)


function("_+_", Timestamp, DurationValue)(lambda left, right: instant(left.nanos + right.nanos))
function("_+_", DurationValue, Timestamp)(lambda left, right: instant(left.nanos + right.nanos))
function("_-_", Timestamp, DurationValue)(lambda left, right: instant(left.nanos - right.nanos))
function("_-_", Timestamp, Timestamp)(lambda left, right: span(left.nanos - right.nanos))
function("_+_", DurationValue, DurationValue)(lambda left, right: span(left.nanos + right.nanos))
function("_-_", DurationValue, DurationValue)(lambda left, right: span(left.nanos - right.nanos))


# Collections


@function("_+_", str, str)
@function("_+_", bytes, bytes)
def _join(left: Any, right: Any) -> Any:
    check_size(len(left) + len(right))
    return left + right


@function("_+_", SetList, list)
def _unite(left: SetList, right: list[Any]) -> SetList:
    return SetList([*left, *(item for item in right if not any(equal(item, each) for each in left))])


@function("_+_", KeyedList, list)
def _merge(left: KeyedList, right: list[Any]) -> KeyedList:
    """Merged maps; entries of the right replace those of the left, in the left's order."""
    replacing = {left.identity(item): item for item in right}
    kept = [replacing.pop(left.identity(item), item) for item in left]
    return keyed([*kept, *replacing.values()], left.keys)


@function("_+_", list, list)
def _append(left: list[Any], right: list[Any]) -> list[Any]:
    check_size(len(left) + len(right))
    return [*left, *right]


@function("_in_", ANY, list)
def _in_list(item: Any, items: list[Any]) -> bool:
    if type(item) is str:
        return item in items
    return any(equal(item, each) for each in items)


@function("_in_", ANY, dict)
def _in_map(key: Any, entries: dict[Any, Any]) -> bool:
    if isinstance(key, list | dict):
        raise EvaluationError("unsupported key type")
    return key in entries and (type(key) is not bool or any(each is key for each in entries))
