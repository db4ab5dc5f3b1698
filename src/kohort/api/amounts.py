"""Resource amounts as integers, for the scheduler's arithmetic (SCH-101..105).

An amount is an int: milli for `cpu`, base units for everything else, within 64 bits. `UNLIMITED` is so far outside that
range that comparison and plain `+`/`-` preserve it; only results beyond 64 bits need a check.
"""

from collections.abc import Set
from functools import lru_cache
from typing import Final

from kohort.api.quantity import NANO, Notation, Quantity

MAX_AMOUNT: Final = 2**63 - 1
MIN_AMOUNT: Final = -(2**63)
UNLIMITED: Final = 2**66
"""A quota without bound (SCH-103); greater than every amount."""

UNLIMITED_TEXT: Final = "<unlimited>"
CPU: Final = "cpu"

_NANOS_PER_MILLI = NANO // 1000
_UNLIMITED_CPU = MAX_AMOUNT // 1000 * NANO
_UNLIMITED_OTHER = MAX_AMOUNT * NANO
_BEYOND_BOUNDED = 2**65
"""Greater than any sum or difference of two bounded amounts, smaller than any with `UNLIMITED`."""
_BYTE_VALUED = frozenset({"memory", "ephemeral-storage"})
_HUGE_PAGES = "hugepages-"
_BYTE_UNITS = ("", "Ki", "Mi", "Gi", "Ti", "Pi")


def to_amount(resource: str, quantity: Quantity | int | float | str) -> int:
    """A request in internal units, rounded up and clamped to 64 bits (SCH-101, SCH-102)."""
    parsed = quantity if isinstance(quantity, Quantity) else Quantity.parse(quantity)
    amount = parsed.in_units(_NANOS_PER_MILLI if resource == CPU else NANO)
    return max(MIN_AMOUNT, min(amount, MAX_AMOUNT))


def to_quota(resource: str, quantity: Quantity | int | float | str) -> int:
    """A quota, borrowing or lending limit in internal units; a number too large to count is `UNLIMITED` (SCH-103)."""
    parsed = quantity if isinstance(quantity, Quantity) else Quantity.parse(quantity)
    if parsed.nanos >= (_UNLIMITED_CPU if resource == CPU else _UNLIMITED_OTHER):
        return UNLIMITED
    return to_amount(resource, parsed)


def add(left: int, right: int) -> int:
    """Saturating sum; anything plus `UNLIMITED` is `UNLIMITED` (SCH-102, SCH-103)."""
    total = left + right
    return total if MIN_AMOUNT <= total <= MAX_AMOUNT else _saturated(total)


def subtract(left: int, right: int) -> int:
    """Saturating difference; unlimited minus unlimited is zero (SCH-102, SCH-103)."""
    rest = left - right
    return rest if MIN_AMOUNT <= rest <= MAX_AMOUNT else _saturated(rest)


def _saturated(value: int) -> int:
    if value < MIN_AMOUNT:
        return MIN_AMOUNT
    return UNLIMITED if value > _BEYOND_BOUNDED else MAX_AMOUNT


def multiply(amount: int, count: int) -> int:
    """Amount times a number of pods, saturating (SCH-102)."""
    product = amount * count
    if MIN_AMOUNT <= product <= MAX_AMOUNT:
        return product
    if product < MIN_AMOUNT:
        return MIN_AMOUNT
    return UNLIMITED if amount >= UNLIMITED else MAX_AMOUNT


def per_pod(total: int, count: int) -> int:
    """The share of one pod in a pod set's total, rounded down; zero without pods (SCH-105)."""
    if count == 0:
        return 0
    return total // count if total >= 0 else -(-total // count)


def format_amount(resource: str, amount: int, byte_valued: Set[str] = frozenset()) -> str:
    """The amount as Kubernetes prints the resource's quantity (SCH-104, API-109)."""
    if amount >= UNLIMITED:
        return UNLIMITED_TEXT
    if resource == CPU:
        return _text(amount * _NANOS_PER_MILLI, Notation.DECIMAL_SI)
    in_bytes = resource in _BYTE_VALUED or resource.startswith(_HUGE_PAGES) or resource in byte_valued
    return _text(amount * NANO, Notation.BINARY_SI if in_bytes else Notation.DECIMAL_SI)


@lru_cache(maxsize=4096)
def _text(nanos: int, notation: Notation) -> str:
    return str(Quantity(nanos, notation))


def readable_amount(resource: str, amount: int) -> str:
    """An amount rounded for display: 23.5Gi of memory, not 24682416Ki."""
    if resource not in _BYTE_VALUED and not resource.startswith(_HUGE_PAGES):
        return format_amount(resource, amount)
    if amount >= UNLIMITED:
        return UNLIMITED_TEXT
    left, units = float(amount), iter(_BYTE_UNITS)
    unit = next(units)
    while abs(left) >= 1024 and (larger := next(units, None)) is not None:
        left, unit = left / 1024, larger
    return f"{left:.1f}".removesuffix(".0") + unit
