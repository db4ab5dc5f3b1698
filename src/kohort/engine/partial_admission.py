"""Partial admission (SCH-560 to SCH-562): the largest count that fits, down to the minimum count."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from kohort.engine.requests.demand import PodSetDemand

Found = TypeVar("Found")


def can_shrink(demands: Sequence[PodSetDemand]) -> bool:
    """Whether a pod set has a minimum count below its count."""
    return any(demand.min_count is not None and demand.min_count < demand.spec_count for demand in demands)


def search(demands: Sequence[PodSetDemand], attempt: Callable[[list[int]], Found | None]) -> Found | None:
    """The result for the largest count that fits, by binary search: smaller counts are assumed to fit as well."""
    deltas = [each.spec_count - (each.spec_count if each.min_count is None else each.min_count) for each in demands]
    total = sum(deltas)
    best: Found | None = None
    low, high = 0, total + 1
    while low < high:
        middle = (low + high) // 2
        counts = [demand.spec_count - delta * middle // total for demand, delta in zip(demands, deltas, strict=True)]
        found = attempt(counts) if middle <= total else None
        if found is None:
            low = middle + 1
        else:
            best, high = found, middle
    return best
