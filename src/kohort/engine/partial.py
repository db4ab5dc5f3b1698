"""Partial admission (SCH-560 to SCH-562): the largest size, between what is asked and the least accepted, that works."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from kohort.engine.records import PodSetDemand

Found = TypeVar("Found")


def can_shrink(demands: Sequence[PodSetDemand]) -> bool:
    """Whether some pod set accepts fewer pods than it asks for."""
    return any(demand.min_count is not None and demand.min_count < demand.count for demand in demands)


def search(demands: Sequence[PodSetDemand], attempt: Callable[[list[int]], Found | None]) -> Found | None:
    """The answer of the first size that works, found by bisection: a smaller size is taken to work as well."""
    deltas = [demand.count - (demand.count if demand.min_count is None else demand.min_count) for demand in demands]
    total = sum(deltas)
    best: Found | None = None
    low, high = 0, total + 1
    while low < high:
        middle = (low + high) // 2
        counts = [demand.count - delta * middle // total for demand, delta in zip(demands, deltas, strict=True)]
        found = attempt(counts) if middle <= total else None
        if found is None:
            low = middle + 1
        else:
            best, high = found, middle
    return best
