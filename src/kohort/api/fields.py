"""Field errors as in Kubernetes: path, kind, bad value, and detail.

Validation functions return lists of these and never raise, so that a user gets all errors at once.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal

import msgspec

MAX_SHOWN_VALUE = 120

Source = Literal["schema", "cel", "webhook"]
"""What rejects the value: the OpenAPI schema, a CEL rule, or a validating webhook (API-9)."""


class ErrorKind(Enum):
    """The kinds of field errors; `text` is printed, `cause` is the reason in a Status."""

    INVALID = "Invalid value"
    TYPE_INVALID = "Invalid type"
    REQUIRED = "Required value"
    DUPLICATE = "Duplicate value"
    NOT_SUPPORTED = "Unsupported value"
    NOT_FOUND = "Not found"
    FORBIDDEN = "Forbidden"
    TOO_LONG = "Too long"
    TOO_MANY = "Too many"

    @property
    def text(self) -> str:
        """The text of the kind; a value of the wrong type is printed as an invalid value."""
        return ErrorKind.INVALID.value if self is ErrorKind.TYPE_INVALID else self.value

    @property
    def cause(self) -> str:
        """The `reason` of a cause in a Kubernetes Status."""
        return _CAUSES[self]


_CAUSES = {
    ErrorKind.INVALID: "FieldValueInvalid",
    ErrorKind.TYPE_INVALID: "FieldValueTypeInvalid",
    ErrorKind.REQUIRED: "FieldValueRequired",
    ErrorKind.DUPLICATE: "FieldValueDuplicate",
    ErrorKind.NOT_SUPPORTED: "FieldValueNotSupported",
    ErrorKind.NOT_FOUND: "FieldValueNotFound",
    ErrorKind.FORBIDDEN: "FieldValueForbidden",
    ErrorKind.TOO_LONG: "FieldValueTooLong",
    ErrorKind.TOO_MANY: "FieldValueTooMany",
}

NO_VALUE: Any = object()
"""Marks an error without a bad value."""


@dataclass(frozen=True, slots=True)
class Path:
    """A field path such as `spec.podSets[0].count`, built with `/` for members and `[]` for items and keys."""

    text: str = ""

    def __truediv__(self, member: str) -> "Path":
        return Path(f"{self.text}.{member}" if self.text else member)

    def __getitem__(self, key: int | str) -> "Path":
        return Path(f"{self.text}[{key}]")

    def __str__(self) -> str:
        return self.text or "<nil>"


ROOT = Path()


@dataclass(frozen=True, slots=True)
class FieldError:
    """One error of one field."""

    path: Path
    kind: ErrorKind
    detail: str
    value: Any = NO_VALUE
    rule: str = ""
    """Number of the violated rule in docs/spec, if any."""
    source: Source = "webhook"

    def __str__(self) -> str:
        shown = "" if self.value is NO_VALUE else f": {shown_value(self.value)}"
        detail = f": {self.detail}" if self.detail else ""
        return f"{self.path}: {self.kind.text}{shown}{detail}"


def shown_value(value: Any) -> str:
    """A bad value as printed in an error: as JSON, on one line, truncated."""
    text = f'"{value}"' if isinstance(value, str) else _as_json(value)
    text = " ".join(text.split())
    return text if len(text) <= MAX_SHOWN_VALUE else text[: MAX_SHOWN_VALUE - 4] + " ..."


def _as_json(value: Any) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError, RecursionError):
        return str(value)


def invalid(path: Path, value: Any, detail: str, rule: str = "") -> FieldError:
    """The value has the right type, but is not allowed."""
    return FieldError(path, ErrorKind.INVALID, detail, value, rule)


def required(path: Path, detail: str, rule: str = "") -> FieldError:
    """The field is required."""
    return FieldError(path, ErrorKind.REQUIRED, detail, NO_VALUE, rule)


def duplicate(path: Path, value: Any, detail: str = "each value may appear once", rule: str = "") -> FieldError:
    """The value is a duplicate."""
    return FieldError(path, ErrorKind.DUPLICATE, detail, value, rule)


def forbidden(path: Path, detail: str, rule: str = "") -> FieldError:
    """The field must not be set, or not in this state."""
    return FieldError(path, ErrorKind.FORBIDDEN, detail, NO_VALUE, rule)


def not_supported(path: Path, value: Any, supported: Iterable[str], rule: str = "") -> FieldError:
    """The value is not one of the supported values."""
    names = ", ".join(f'"{name}"' for name in supported)
    return FieldError(path, ErrorKind.NOT_SUPPORTED, f"supported values: {names}", value, rule)


def not_found(path: Path, value: Any, detail: str, rule: str = "") -> FieldError:
    """The value refers to an object that does not exist."""
    return FieldError(path, ErrorKind.NOT_FOUND, detail, value, rule)


def too_long(path: Path, limit: int, rule: str = "") -> FieldError:
    """The text is too long."""
    return FieldError(path, ErrorKind.TOO_LONG, f"may not be more than {limit} bytes", NO_VALUE, rule)
