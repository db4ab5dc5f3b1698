"""Building blocks of programs: one maker per operation, each returns a function of the frame."""

import operator
from collections.abc import Callable, Sequence
from typing import Any

from kohort.embedded.cel.errors import EvaluationError, no_such_key, no_such_overload
from kohort.embedded.cel.overloads import Overloads
from kohort.embedded.cel.values import (
    NONE,
    NUMBERS,
    DurationValue,
    KeyedList,
    Optional,
    SetList,
    Timestamp,
    UInt,
    equal,
)

Frame = list[Any]
"""The budget, the variables, and the loop variables."""
EvaluationStep = Callable[[Frame], Any]


def constant(value: Any) -> EvaluationStep:
    """A literal."""
    return lambda _frame: value


def reading(slot: int) -> EvaluationStep:
    """A variable."""
    return operator.itemgetter(slot)


# Logic


def conjunction(left: EvaluationStep, right: EvaluationStep) -> EvaluationStep:
    """`&&`: false on either side decides, even against an error on the other."""
    return _absorbing(left, right, decisive=False)


def disjunction(left: EvaluationStep, right: EvaluationStep) -> EvaluationStep:
    """`||`: true on either side decides, even against an error on the other."""
    return _absorbing(left, right, decisive=True)


def _absorbing(left: EvaluationStep, right: EvaluationStep, *, decisive: bool) -> EvaluationStep:
    def decide(frame: Frame) -> bool:
        try:
            first = truth(left(frame))
        except EvaluationError:
            if _yields(right, frame, decisive):
                return decisive
            raise
        return decisive if first is decisive else truth(right(frame))

    return decide


def _yields(step: EvaluationStep, frame: Frame, wanted: object) -> bool:
    try:
        return step(frame) is wanted
    except EvaluationError:
        return False


def truth(value: Any) -> bool:
    """The value, checked to be a boolean."""
    if value is True or value is False:
        return bool(value)
    raise no_such_overload()


def negation(operand: EvaluationStep) -> EvaluationStep:
    """`!`."""
    return lambda frame: not truth(operand(frame))


def choosing(condition: EvaluationStep, chosen: EvaluationStep, other: EvaluationStep) -> EvaluationStep:
    """`?:`."""
    return lambda frame: chosen(frame) if truth(condition(frame)) else other(frame)


# Comparison


def equality(left: EvaluationStep, right: EvaluationStep) -> EvaluationStep:
    """`==`."""

    def compare(frame: Frame) -> bool:
        first, second = left(frame), right(frame)
        if type(first) is str and type(second) is str:
            return first == second
        frame[0].spend(size_of(first) >> 4)
        return equal(first, second)

    return compare


_ORDERED = frozenset({int, UInt, float, str, bytes, bool, Timestamp, DurationValue})
_ORDERS = {"_<_": operator.lt, "_<=_": operator.le, "_>_": operator.gt, "_>=_": operator.ge}


def comparing(left: EvaluationStep, right: EvaluationStep, sign: str) -> EvaluationStep:
    """`<`, `<=`, `>`, `>=`: of values of one type, or of numbers."""
    order = _ORDERS[sign]

    def compare(frame: Frame) -> bool:
        first, second = left(frame), right(frame)
        kind, other = type(first), type(second)
        if (kind is other and kind in _ORDERED) or (kind in NUMBERS and other in NUMBERS):
            return bool(order(first, second))
        raise no_such_overload()

    return compare


# Members


def selecting(operand: EvaluationStep, field: str) -> EvaluationStep:
    """`operand.field`."""

    def select(frame: Frame) -> Any:
        target = operand(frame)
        try:
            return target[field]
        except KeyError:
            raise no_such_key(field) from None
        except TypeError:
            return _looked_up(target, field)

    return select


def has_member(operand: EvaluationStep, field: str) -> EvaluationStep:
    """`has(operand.field)`."""

    def test(frame: Frame) -> bool:
        target = operand(frame)
        if isinstance(target, dict):
            return field in target
        if type(target) is Optional:
            return bool(target.content) and isinstance(target.value, dict) and field in target.value
        raise no_such_overload()

    return test


def indexing(operand: EvaluationStep, key: EvaluationStep) -> EvaluationStep:
    """`operand[key]`."""
    return lambda frame: _looked_up(operand(frame), key(frame))


def _looked_up(target: Any, key: Any) -> Any:
    if type(target) is Optional:
        return _optionally(target, key)
    if isinstance(target, dict):
        return _entry(target, key)
    if isinstance(target, list):
        return _item(target, key)
    raise no_such_overload()


def _entry(target: dict[Any, Any], key: Any) -> Any:
    try:
        if key not in target or type(key) is bool:
            return next(value for name, value in target.items() if equal(name, key))
        return target[key]
    except StopIteration:
        raise no_such_key(key) from None
    except TypeError:
        raise EvaluationError("unsupported key type") from None


def _item(target: list[Any], key: Any) -> Any:
    if type(key) not in NUMBERS or key != int(key):
        raise no_such_overload()
    if not 0 <= key < len(target):
        raise EvaluationError(f"index out of bounds: {key}")
    return target[int(key)]


def optional_indexing(operand: EvaluationStep, key: EvaluationStep) -> EvaluationStep:
    """`operand[?key]` and `operand.?field`."""
    return lambda frame: _optionally(operand(frame), key(frame))


def _optionally(target: Any, key: Any) -> Optional:
    if type(target) is Optional:
        return _optionally(target.value, key) if target.content else NONE
    if isinstance(target, dict):
        return Optional((target[map_key(key)],)) if map_key(key) in target else NONE
    if isinstance(target, list):
        return Optional((_item(target, key),)) if type(key) in NUMBERS and 0 <= key < len(target) else NONE
    raise no_such_overload()


# Literals


def listing(items: Sequence[tuple[EvaluationStep, bool]]) -> EvaluationStep:
    """`[a, ?b]`."""
    if not any(is_optional for _, is_optional in items):
        steps = [step for step, _ in items]
        return lambda frame: [step(frame) for step in steps]

    def make(frame: Frame) -> list[Any]:
        found: list[Any] = []
        for step, is_optional in items:
            found += _content(step(frame)) if is_optional else (step(frame),)
        return found

    return make


def mapping(entries: Sequence[tuple[EvaluationStep, EvaluationStep, bool]]) -> EvaluationStep:
    """`{a: b, ?c: d}`."""

    def make(frame: Frame) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for key_step, step, is_optional in entries:
            key = map_key(key_step(frame))
            if key in found:
                raise EvaluationError(f"Failed with repeated key: {key}")
            for value in _content(step(frame)) if is_optional else (step(frame),):
                found[key] = value
        return found

    return make


def map_key(key: Any) -> Any:
    """The value, checked to be a valid map key."""
    if type(key) not in (str, int, UInt, bool):
        raise EvaluationError("unsupported key type")
    return key


def _content(value: Any) -> tuple[Any, ...]:
    if type(value) is Optional:
        return value.content
    raise no_such_overload()


# Calls


_SIZED = frozenset({str, bytes, list, dict, SetList, KeyedList})


def size_of(value: Any) -> int:
    """Number of items or characters, for cost accounting."""
    return len(value) if type(value) in _SIZED else 0


def calling(overloads: Overloads, arguments: Sequence[EvaluationStep]) -> EvaluationStep:
    """A function call, resolved by argument types."""
    known, choose = overloads.known, overloads.choose

    def call(frame: Frame) -> Any:
        values = [argument(frame) for argument in arguments]
        types = tuple(map(type, values))
        result = (known.get(types) or choose(types))(*values)
        frame[0].spend((size_of(result) >> 2) + (sum(map(size_of, values)) >> 4) + 1)
        return result

    return call
