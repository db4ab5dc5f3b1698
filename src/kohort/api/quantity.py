"""Kubernetes resource quantities, exact.

A quantity is a whole number of billionths, Kubernetes' finest step, plus the notation it was written in, so that value,
order and canonical text need no fractions and no floats. `kohort.api.amounts` has the amounts that the scheduler
computes with.
"""

import re
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from math import isfinite

from kohort.api.errors import ApiError
from kohort.api.fields import shown_value

NANO = 10**9
"""Billionths in one."""

MAX_TEXT = 256
MAX_EXPONENT = 999
MAX_DIGITS = 200
"""Bounds far beyond any real quantity: `1e999999999` must not cost a gigabyte, and output must be readable."""

_MAX_BINARY = (2**63 - 1) * NANO
_TOO_LARGE = 10**MAX_DIGITS * NANO
_SHAPE = re.compile(r"([+-]?)(?=\.?[0-9])([0-9]*)(?:\.([0-9]*))?([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?")
_GRAMMAR = (
    "write a number with an optional suffix n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei or an exponent such as e3"
)


class QuantityError(ApiError):
    """The value is not a Kubernetes quantity."""


class Notation(Enum):
    """The notation of a quantity, in which it is printed; the value is Kubernetes' name of it."""

    DECIMAL_SI = "DecimalSI"
    BINARY_SI = "BinarySI"
    DECIMAL_EXPONENT = "DecimalExponent"


_DECIMAL_SUFFIXES = {-9: "n", -6: "u", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E"}
_BINARY_SUFFIXES = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_LARGEST_DECIMAL = max(_DECIMAL_SUFFIXES)
_EXPONENT_OF = {suffix: exponent for exponent, suffix in _DECIMAL_SUFFIXES.items()}
_BITS_OF = {suffix: 10 * power for power, suffix in enumerate(_BINARY_SUFFIXES) if suffix}


@dataclass(frozen=True, slots=True, eq=False)
class Quantity:
    """An exact amount of a resource; equal and ordered by value, independent of the notation."""

    nanos: int
    """The value in billionths."""
    notation: Notation = Notation.DECIMAL_SI

    @staticmethod
    def parse(raw: int | float | str) -> "Quantity":
        """Parse a quantity of a manifest; finer than a billionth is rounded away from zero."""
        if isinstance(raw, str):
            if len(raw) > MAX_TEXT:
                raise _not_a_quantity(raw[:MAX_TEXT], f"write at most {MAX_TEXT} characters")
            return _parse_text(raw)
        return _parse_number(raw)

    def in_units(self, nanos: int) -> int:
        """The value in units of so many billionths, rounded up (SCH-101)."""
        return _divide_away(self.nanos, nanos)

    def __str__(self) -> str:
        if self.notation is Notation.BINARY_SI and self._prints_binary():
            return _binary_text(self.nanos // NANO)
        if self.notation is Notation.DECIMAL_EXPONENT:
            return _exponent_text(self.nanos)
        return _decimal_text(self.nanos)

    def _prints_binary(self) -> bool:
        return abs(self.nanos) >= 1024 * NANO and self.nanos % NANO == 0

    def __repr__(self) -> str:
        return f"Quantity('{self}')"

    def __eq__(self, other: object) -> bool:
        return self.nanos == other.nanos if isinstance(other, Quantity) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.nanos)

    def __lt__(self, other: "Quantity") -> bool:
        return self.nanos < other.nanos

    def __le__(self, other: "Quantity") -> bool:
        return self.nanos <= other.nanos

    def __gt__(self, other: "Quantity") -> bool:
        return self.nanos > other.nanos

    def __ge__(self, other: "Quantity") -> bool:
        return self.nanos >= other.nanos

    def __add__(self, other: "Quantity") -> "Quantity":
        return Quantity(self.nanos + other.nanos, self._notation_with(other))

    def __sub__(self, other: "Quantity") -> "Quantity":
        return Quantity(self.nanos - other.nanos, self._notation_with(other))

    def _notation_with(self, other: "Quantity") -> Notation:
        """A sum is printed in the notation of its first part, unless that is zero."""
        return self.notation if self.nanos else other.notation


def is_quantity(value: int | str) -> bool:
    """Whether a value is a quantity; the pattern of schemas also matches `1e2.5` and `1e9999`."""
    try:
        Quantity.parse(value)
    except QuantityError:
        return False
    return True


def canonical(raw: int | float | str) -> str:
    """The canonical text of a quantity: `5000m` is `5`, `1024Mi` is `1Gi` (API-109)."""
    return str(Quantity.parse(raw))


def _not_a_quantity(raw: object, remedy: str) -> QuantityError:
    return QuantityError(f"not a quantity: {shown_value(raw)}: {remedy}")


def _parse_number(raw: object) -> Quantity:
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        raise _not_a_quantity(raw, "write a number or a text such as 500m")
    if isinstance(raw, float):
        if not isfinite(raw):
            raise _not_a_quantity(raw, "write a finite number")
        # The shortest text of a float is what its author wrote, except for Python's notation of the exponent.
        return Quantity(_parse_text(repr(raw)).nanos)
    return _bounded(raw * NANO, Notation.DECIMAL_SI)


@lru_cache(maxsize=4096)
def _parse_text(text: str) -> Quantity:
    match = _SHAPE.fullmatch(text)
    if match is None:
        raise _not_a_quantity(text, _GRAMMAR)
    sign, whole, fraction, suffix = match.groups("")
    mantissa = int(sign + whole + fraction)
    places = len(fraction)
    if (bits := _BITS_OF.get(suffix)) is not None:
        return _binary(_scaled(mantissa << bits, -places))
    exponent = _EXPONENT_OF.get(suffix)
    if exponent is not None:
        return _bounded(_scaled(mantissa, exponent - places), Notation.DECIMAL_SI)
    exponent = int(suffix[1:])
    if abs(exponent) > MAX_EXPONENT:
        raise _not_a_quantity(text, f"write an exponent of at most {MAX_EXPONENT}")
    return _bounded(_scaled(mantissa, exponent - places), Notation.DECIMAL_EXPONENT)


def _scaled(mantissa: int, exponent: int) -> int:
    """`mantissa * 10**exponent` in billionths."""
    factor: int = 10 ** abs(exponent + 9)
    return mantissa * factor if exponent >= -9 else _divide_away(mantissa, factor)


def _divide_away(value: int, unit: int) -> int:
    """Divide and round away from zero, so that a request is never reduced."""
    return -(-value // unit) if value >= 0 else value // unit


def _bounded(nanos: int, notation: Notation) -> Quantity:
    if -_TOO_LARGE < nanos < _TOO_LARGE:
        return Quantity(nanos, notation)
    raise QuantityError(f"not a quantity: the number is too large: write at most {MAX_DIGITS} digits before the point")


def _binary(nanos: int) -> Quantity:
    """Kubernetes caps binary notation, and only that, at 64 bits, and prints a fraction of one in decimal."""
    if 0 < abs(nanos) < NANO:
        return Quantity(nanos)
    return Quantity(max(-_MAX_BINARY, min(nanos, _MAX_BINARY)), Notation.BINARY_SI)


def _binary_text(value: int) -> str:
    trailing_zero_bits = (value & -value).bit_length() - 1
    power = min(trailing_zero_bits // 10, len(_BINARY_SUFFIXES) - 1)
    return f"{value >> 10 * power}{_BINARY_SUFFIXES[power]}"


def _decimal_text(nanos: int) -> str:
    mantissa, exponent = _without_thousands(nanos, _LARGEST_DECIMAL)
    return f"{mantissa}{_DECIMAL_SUFFIXES[exponent]}"


def _exponent_text(nanos: int) -> str:
    mantissa, exponent = _without_thousands(nanos, MAX_DIGITS)
    return f"{mantissa}e{exponent}" if exponent else str(mantissa)


def _without_thousands(nanos: int, largest_exponent: int) -> tuple[int, int]:
    """The shortest whole mantissa and its power of ten, a multiple of three."""
    if nanos == 0:
        return 0, 0
    exponent = -9
    if nanos % NANO == 0:
        nanos //= NANO
        exponent = 0
    while exponent < largest_exponent and nanos % 1000 == 0:
        nanos //= 1000
        exponent += 3
    return nanos, exponent
