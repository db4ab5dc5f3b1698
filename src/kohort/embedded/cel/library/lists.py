"""List functions: Kubernetes' library and CEL's lists extension."""

import operator
from collections.abc import Callable
from typing import Any

from kohort.embedded.cel.budget import check_size
from kohort.embedded.cel.errors import EvaluationError, no_such_overload
from kohort.embedded.cel.library.arithmetic import integer, span, unsigned
from kohort.embedded.cel.overloads import ANY, function, method
from kohort.embedded.cel.values import NONE, NUMBERS, DurationValue, Optional, Timestamp, UInt, equal

_ORDERED = (bool, str, bytes, Timestamp, DurationValue)


def _comparable(items: list[Any]) -> list[Any]:
    """The items, checked to be comparable with each other."""
    kinds = set(map(type, items))
    if kinds <= NUMBERS or (len(kinds) == 1 and kinds.pop() in _ORDERED):
        return items
    raise no_such_overload()


def ordered(items: list[Any]) -> list[int]:
    """The sorted order of the items, as indices."""
    return sorted(range(len(items)), key=_comparable(items).__getitem__)


@method("isSorted", list)
def _is_sorted(items: list[Any]) -> bool:
    return all(map(operator.le, _comparable(items), items[1:])) if items else True


def _extreme(name: str, choose: Callable[[list[Any]], Any]) -> None:
    @method(name, list)
    def _find(items: list[Any]) -> Any:
        if not items:
            raise EvaluationError(f"{name} called on empty list")
        return choose(_comparable(items))


_extreme("min", min)
_extreme("max", max)

_SUMS: dict[type, Callable[[list[Any]], Any]] = {
    int: lambda items: integer(sum(items)),
    UInt: lambda items: unsigned(sum(items)),
    float: lambda items: float(sum(items)),
    DurationValue: lambda items: span(sum(item.nanos for item in items)),
}


@method("sum", list)
def _sum(items: list[Any]) -> Any:
    kinds = set(map(type, items)) or {int}
    if len(kinds) > 1 or not kinds <= _SUMS.keys():
        raise no_such_overload()
    return _SUMS[kinds.pop()](items)


@method("indexOf", list, ANY)
def _index(items: list[Any], wanted: Any) -> int:
    return next((index for index, item in enumerate(items) if equal(item, wanted)), -1)


@method("lastIndexOf", list, ANY)
def _last_index(items: list[Any], wanted: Any) -> int:
    return next((index for index in reversed(range(len(items))) if equal(items[index], wanted)), -1)


# The lists extension

method("reverse", list)(lambda items: items[::-1])
method("sort", list)(lambda items: sorted(_comparable(items)) if items else [])
method("first", list)(lambda items: Optional((items[0],)) if items else NONE)
method("last", list)(lambda items: Optional((items[-1],)) if items else NONE)


@method("slice", list, int, int)
def _slice(items: list[Any], start: int, end: int) -> list[Any]:
    if start < 0 or end < 0:
        raise EvaluationError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        raise EvaluationError(f"cannot slice({start}, {end}), start index must be less than or equal to end index")
    if end > len(items):
        raise EvaluationError(f"cannot slice({start}, {end}), list is length {len(items)}")
    return items[start:end]


@method("flatten", list)
def _flatten(items: list[Any]) -> list[Any]:
    return _flatten_deep(items, 1)


@method("flatten", list, int)
def _flatten_deep(items: list[Any], depth: int) -> list[Any]:
    if depth < 0:
        raise EvaluationError("level must be non-negative")
    if depth == 0 or not any(isinstance(item, list) for item in items):
        return items
    check_size(sum(len(item) if isinstance(item, list) else 1 for item in items))
    opened = [inner for item in items for inner in (item if isinstance(item, list) else (item,))]
    return _flatten_deep(opened, depth - 1)


@method("distinct", list)
def _distinct(items: list[Any]) -> list[Any]:
    found: list[Any] = []
    for item in items:
        if not any(equal(item, each) for each in found):
            found.append(item)
    return found


@function("lists.range", int)
def _range(count: int) -> list[int]:
    check_size(count)
    return list(range(count))
