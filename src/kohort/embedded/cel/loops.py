"""Comprehension macros as loops: each maker takes the range, the slots of its variables and the inner steps.

The budget is charged for all iterations before the first.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from kohort.embedded.cel.errors import EvaluationError, no_such_overload
from kohort.embedded.cel.library.lists import ordered
from kohort.embedded.cel.steps import EvaluationStep, Frame, map_key, truth
from kohort.embedded.cel.values import NONE, Optional

Slots = Sequence[int]
Rounds = Iterable[tuple[Any, ...]]
Loop = Callable[[EvaluationStep, Slots, Sequence[EvaluationStep]], EvaluationStep]


def _rounds(operand: EvaluationStep, count: int) -> Callable[[Frame], Rounds]:
    """The values of the loop variables per iteration."""
    make = _single if count == 1 else _pairs

    def rounds(frame: Frame) -> Rounds:
        collection = operand(frame)
        if not isinstance(collection, list | dict):
            raise no_such_overload()
        frame[0].spend(len(collection) + 1)
        return make(collection)

    return rounds


def _single(collection: list[Any] | dict[Any, Any]) -> Rounds:
    return ((item,) for item in collection)


def _pairs(collection: list[Any] | dict[Any, Any]) -> Rounds:
    return collection.items() if isinstance(collection, dict) else enumerate(collection)


def _deciding(*, decisive: bool) -> Loop:
    """`all` and `exists`: one decisive iteration determines the result, even if others fail."""

    def make(operand: EvaluationStep, slots: Slots, inner: Sequence[EvaluationStep]) -> EvaluationStep:
        rounds, (test,) = _rounds(operand, len(slots)), inner
        first, last = slots[0], slots[-1] + 1

        def loop(frame: Frame) -> bool:
            failure: EvaluationError | None = None
            for values in rounds(frame):
                frame[first:last] = values
                try:
                    if truth(test(frame)) is decisive:
                        return decisive
                except EvaluationError as error:
                    failure = failure or error
            if failure:
                raise failure
            return not decisive

        return loop

    return make


def _exists_one(operand: EvaluationStep, slots: Slots, inner: Sequence[EvaluationStep]) -> EvaluationStep:
    rounds, (test,) = _rounds(operand, len(slots)), inner
    first, last = slots[0], slots[-1] + 1

    def loop(frame: Frame) -> bool:
        found = 0
        for values in rounds(frame):
            frame[first:last] = values
            found += truth(test(frame))
        return found == 1

    return loop


def _filter(operand: EvaluationStep, slots: Slots, inner: Sequence[EvaluationStep]) -> EvaluationStep:
    (slot,), (test,) = slots, inner
    rounds = _rounds(operand, 1)

    def loop(frame: Frame) -> list[Any]:
        found: list[Any] = []
        for (item,) in rounds(frame):
            frame[slot] = item
            if truth(test(frame)):
                found.append(item)
        return found

    return loop


def _always(_frame: Frame) -> bool:
    return True


def _collected(
    operand: EvaluationStep, slots: Slots, inner: Sequence[EvaluationStep]
) -> Callable[[Frame], Iterable[tuple[Any, Any]]]:
    """The first variable and the result of each iteration that passes the filter."""
    *tests, transform = inner
    test = tests[0] if tests else _always
    rounds = _rounds(operand, len(slots))
    first, last = slots[0], slots[-1] + 1

    def loop(frame: Frame) -> Iterable[tuple[Any, Any]]:
        for values in rounds(frame):
            frame[first:last] = values
            if truth(test(frame)):
                yield values[0], transform(frame)

    return loop


def _to_list(operand: EvaluationStep, slots: Slots, inner: Sequence[EvaluationStep]) -> EvaluationStep:
    collected = _collected(operand, slots, inner)
    return lambda frame: [result for _, result in collected(frame)]


def _to_map(operand: EvaluationStep, slots: Slots, inner: Sequence[EvaluationStep]) -> EvaluationStep:
    collected = _collected(operand, slots, inner)
    return lambda frame: dict(collected(frame))


def _to_map_entries(operand: EvaluationStep, slots: Slots, inner: Sequence[EvaluationStep]) -> EvaluationStep:
    collected = _collected(operand, slots, inner)

    def loop(frame: Frame) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for _, entries in collected(frame):
            if not isinstance(entries, dict):
                raise no_such_overload()
            for key, value in entries.items():
                if key in found:
                    raise EvaluationError(f"insert failed: key '{key}' already exists")
                found[map_key(key)] = value
        return found

    return loop


def _sort_by(operand: EvaluationStep, slots: Slots, inner: Sequence[EvaluationStep]) -> EvaluationStep:
    (slot,), (key,) = slots, inner
    rounds = _rounds(operand, 1)

    def loop(frame: Frame) -> list[Any]:
        keyed: list[tuple[Any, Any]] = []
        for (item,) in rounds(frame):
            frame[slot] = item
            keyed.append((key(frame), item))
        order = ordered([each for each, _ in keyed])
        return [keyed[index][1] for index in order]

    return loop


def _opt_map(operand: EvaluationStep, slots: Slots, inner: Sequence[EvaluationStep]) -> EvaluationStep:
    (slot,), (transform,) = slots, inner

    def look(frame: Frame) -> Any:
        optional = operand(frame)
        if type(optional) is not Optional:
            raise no_such_overload()
        if not optional.content:
            return NONE
        frame[slot] = optional.value
        return Optional((transform(frame),))

    return look


def _opt_flat_map(operand: EvaluationStep, slots: Slots, inner: Sequence[EvaluationStep]) -> EvaluationStep:
    nested = _opt_map(operand, slots, inner)

    def flatten(frame: Frame) -> Any:
        outer = nested(frame)
        return outer.value if outer.content else NONE

    return flatten


LOOPS: dict[str, Loop] = {
    "all": _deciding(decisive=False),
    "exists": _deciding(decisive=True),
    "exists_one": _exists_one,
    "existsOne": _exists_one,
    "filter": _filter,
    "map": _to_list,
    "transformList": _to_list,
    "transformMap": _to_map,
    "transformMapEntry": _to_map_entries,
    "sortBy": _sort_by,
    "optMap": _opt_map,
    "optFlatMap": _opt_flat_map,
}
