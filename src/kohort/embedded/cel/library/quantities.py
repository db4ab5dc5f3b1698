"""Kubernetes' resource quantities."""

from dataclasses import dataclass
from typing import ClassVar

from kohort.api.quantity import NANO, QuantityError
from kohort.api.quantity import Quantity as Amount
from kohort.embedded.cel.errors import EvaluationError
from kohort.embedded.cel.library.arithmetic import INT_RANGE
from kohort.embedded.cel.overloads import function, method
from kohort.embedded.cel.values import Opaque


@dataclass(frozen=True, slots=True)
class Quantity(Opaque):
    """A quantity as a CEL value."""

    type_name: ClassVar[str] = "kubernetes.Quantity"
    amount: Amount


@function("quantity", str)
def _quantity(text: str) -> Quantity:
    try:
        return Quantity(Amount.parse(text))
    except QuantityError:
        raise EvaluationError(
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        ) from None


@function("isQuantity", str)
def _is_quantity(text: str) -> bool:
    try:
        Amount.parse(text)
    except QuantityError:
        return False
    return True


def _sign(nanos: int) -> int:
    return (nanos > 0) - (nanos < 0)


def _is_integer(quantity: Quantity) -> bool:
    nanos = quantity.amount.nanos
    return nanos % NANO == 0 and INT_RANGE[0] <= nanos // NANO <= INT_RANGE[1]


@method("asInteger", Quantity)
def _as_integer(quantity: Quantity) -> int:
    if not _is_integer(quantity):
        raise EvaluationError("cannot convert value to integer")
    return quantity.amount.nanos // NANO


def _amount(other: int) -> Amount:
    return Amount(other * NANO)


method("sign", Quantity)(lambda quantity: _sign(quantity.amount.nanos))
method("isInteger", Quantity)(_is_integer)
method("asApproximateFloat", Quantity)(lambda quantity: quantity.amount.nanos / NANO)
method("isGreaterThan", Quantity, Quantity)(lambda left, right: left.amount > right.amount)
method("isLessThan", Quantity, Quantity)(lambda left, right: left.amount < right.amount)
method("compareTo", Quantity, Quantity)(lambda left, right: _sign(left.amount.nanos - right.amount.nanos))
method("add", Quantity, Quantity)(lambda left, right: Quantity(left.amount + right.amount))
method("add", Quantity, int)(lambda left, right: Quantity(left.amount + _amount(right)))
method("sub", Quantity, Quantity)(lambda left, right: Quantity(left.amount - right.amount))
method("sub", Quantity, int)(lambda left, right: Quantity(left.amount - _amount(right)))
