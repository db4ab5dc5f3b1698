"""Resource lists as numbers, and their combination.

Billionths are the resolution of Kubernetes quantities: sums, maxima and products of them are exact. Amounts are the
units of quota; a request is converted to them once, at the end.
"""

from collections.abc import Callable, Mapping

from kohort.api.amounts import to_amount
from kohort.api.markers import ResourceList
from kohort.api.quantity import Quantity

Nanos = dict[str, int]
"""Billionths by resource; negative ones occur in objects older than the rule against them (SCH-113)."""
ResourceAmounts = Mapping[str, int]
"""Internal units by resource (SCH-101)."""


def nanos_of(resources: ResourceList) -> Nanos:
    """The list in billionths, exactly as written."""
    return {name: Quantity.parse(raw).nanos for name, raw in resources.items()}


def amounts_of(resources: ResourceList) -> dict[str, int]:
    """The list in internal units, each entry rounded up (SCH-101)."""
    return {name: to_amount(name, raw) for name, raw in resources.items()}


def amounts_from(request: Nanos) -> dict[str, int]:
    """A request in internal units, nothing below zero, in ascending order of names (SCH-101, SCH-106, SCH-113)."""
    return {name: max(0, to_amount(name, Quantity(request[name]))) for name in sorted(request)}


def combined(left: ResourceAmounts, right: ResourceAmounts, choose: Callable[[int, int], int]) -> dict[str, int]:
    """All entries of both lists; where both have one, the chosen of the two."""
    return {**right, **{name: choose(value, right.get(name, value)) for name, value in left.items()}}


def add_to(total: Nanos, part: Nanos) -> None:
    """Add a list to another in place."""
    for name, value in part.items():
        total[name] = total.get(name, 0) + value
