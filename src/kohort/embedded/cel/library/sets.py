"""The sets library."""

from typing import Any

from kohort.embedded.cel.overloads import function
from kohort.embedded.cel.values import equal


@function("sets.contains", list, list)
def _contains(items: list[Any], parts: list[Any]) -> bool:
    return all(any(equal(part, item) for item in items) for part in parts)


@function("sets.intersects", list, list)
def _intersects(left: list[Any], right: list[Any]) -> bool:
    return any(equal(item, each) for item in left for each in right)


@function("sets.equivalent", list, list)
def _equivalent(left: list[Any], right: list[Any]) -> bool:
    return _contains(left, right) and _contains(right, left)
