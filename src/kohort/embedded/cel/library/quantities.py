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
class QuantityValue(Opaque):
    """A quantity as a CEL value."""

    type_name: ClassVar[str] = "kubernetes.Quantity"
    amount: Amount


@function("quantity", str)
def _quantity(text: str) -> QuantityValue:
    try:
        return QuantityValue(Amount.parse(text))
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


def _is_integer(quantity: QuantityValue) -> bool:
    nanos = quantity.amount.nanos
    return nanos % NANO == 0 and INT_RANGE[0] <= nanos // NANO <= INT_RANGE[1]


@method("asInteger", QuantityValue)
def _as_integer(quantity: QuantityValue) -> int:
    if not _is_integer(quantity):
        raise EvaluationError("cannot convert value to integer")
    return quantity.amount.nanos // NANO


def _amount(other: int) -> Amount:
    return Amount(other * NANO)


method("sign", QuantityValue)(lambda quantity: _sign(quantity.amount.nanos))
method("isInteger", QuantityValue)(_is_integer)
method("asApproximateFloat", QuantityValue)(lambda quantity: quantity.amount.nanos / NANO)
method("isGreaterThan", QuantityValue, QuantityValue)(lambda left, right: left.amount > right.amount)
method("isLessThan", QuantityValue, QuantityValue)(lambda left, right: left.amount < right.amount)
method("compareTo", QuantityValue, QuantityValue)(lambda left, right: _sign(left.amount.nanos - right.amount.nanos))
method("add", QuantityValue, QuantityValue)(lambda left, right: QuantityValue(left.amount + right.amount))
method("add", QuantityValue, int)(lambda left, right: QuantityValue(left.amount + _amount(right)))
method("sub", QuantityValue, QuantityValue)(lambda left, right: QuantityValue(left.amount - right.amount))
method("sub", QuantityValue, int)(lambda left, right: QuantityValue(left.amount - _amount(right)))
