"""The format library: named formats of labels, names, times …"""

import base64
import binascii
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import ClassVar

from kohort.api.names import (
    check_dns1035_label,
    check_label,
    check_label_value,
    check_qualified_name,
    check_subdomain,
)
from kohort.embedded.cel.library.times import parse_timestamp
from kohort.embedded.cel.overloads import FUNCTIONS, function, method
from kohort.embedded.cel.values import NONE, Opaque, Optional

_Check = Callable[[str], str | None]
"""Returns the error of a text, or None."""


@dataclass(frozen=True, slots=True)
class FormatValue(Opaque):
    """A named format as a CEL value."""

    type_name: ClassVar[str] = "kubernetes.NamedFormat"
    name: str


def _prefix(check: _Check) -> _Check:
    """A name prefix may end in a hyphen."""
    return lambda text: check(text.removesuffix("-") + "a")


def _shaped(pattern: str, problem: str) -> _Check:
    shape = re.compile(pattern)
    return lambda text: None if shape.fullmatch(text) else problem


def _base64(text: str) -> str | None:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return "invalid base64"
    return None


def _date(text: str) -> str | None:
    try:
        date.fromisoformat(text)
    except ValueError:
        return "invalid date"
    return None if len(text) == 10 else "invalid date"


def _uri(text: str) -> str | None:
    return None if FUNCTIONS["isURL"].call(text) else "invalid URL"


_CHECKS: dict[str, _Check] = {
    "dns1123Label": check_label,
    "dns1123Subdomain": check_subdomain,
    "dns1035Label": check_dns1035_label,
    "qualifiedName": check_qualified_name,
    "dns1123LabelPrefix": _prefix(check_label),
    "dns1123SubdomainPrefix": _prefix(check_subdomain),
    "dns1035LabelPrefix": _prefix(check_dns1035_label),
    "labelValue": check_label_value,
    "uri": _uri,
    "uuid": _shaped(
        r"(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", "does not match the UUID format"
    ),
    "byte": _base64,
    "date": _date,
    "datetime": lambda text: None if parse_timestamp(text) else "invalid datetime",
}

for _name in _CHECKS:
    function(f"format.{_name}")(lambda name=_name: FormatValue(name))


@function("format.named", str)
def _named(name: str) -> Optional:
    return Optional((FormatValue(name),)) if name in _CHECKS else NONE


@method("validate", FormatValue, str)
def _validate(named: FormatValue, text: str) -> Optional:
    """The errors of a text, or none."""
    problem = _CHECKS[named.name](text)
    return Optional(([problem],)) if problem else NONE
