"""Amounts of resources in annotations, which no API server has validated."""

from kohort.api.codec import Json
from kohort.api.errors import ApiError
from kohort.api.fields import FieldError, Path, invalid
from kohort.api.names import check_qualified_name
from kohort.api.quantity import Quantity, QuantityError


class AnnotationError(ApiError):
    """An annotation is missing or invalid."""

    def __init__(self, error: FieldError) -> None:
        super().__init__(str(error))
        self.error = error


def annotated_amount(name: str, value: Json, path: Path, rule: str) -> Quantity:
    """The requested amount of a resource; raises AnnotationError."""
    problem = check_qualified_name(name)
    if problem:
        raise AnnotationError(invalid(path, name, f"is no name of a resource: {problem}", rule))
    try:
        amount = Quantity.parse(value)
    except QuantityError as error:
        raise AnnotationError(invalid(path, value, str(error), rule)) from None
    if amount < Quantity.parse(0):
        raise AnnotationError(invalid(path, value, "must not be negative", rule))
    return amount
