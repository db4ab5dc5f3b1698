"""String formats that kube-apiserver validates; others are ignored."""

import base64
import binascii
import ipaddress
import re
from collections.abc import Callable
from datetime import date

from kohort.embedded.cel.library.times import parse_duration, parse_timestamp
from kohort.embedded.cel.overloads import FUNCTIONS

_Check = Callable[[str], bool]


def _succeeds(read: Callable[[str], object]) -> _Check:
    def check(text: str) -> bool:
        try:
            read(text)
        except (ValueError, binascii.Error):
            return False
        return True

    return check


def _shaped(pattern: str) -> _Check:
    shape = re.compile(pattern)
    return lambda text: shape.fullmatch(text) is not None


def _uuid(version: str) -> _Check:
    variant = "[89ab]" if version in "45" else "[0-9a-f]"
    return _shaped(rf"(?i)[0-9a-f]{{8}}-?[0-9a-f]{{4}}-?{version}[0-9a-f]{{3}}-?{variant}[0-9a-f]{{3}}-?[0-9a-f]{{12}}")


def _is_card(text: str) -> bool:
    """Luhn check of card numbers."""
    digits = re.sub(r"[\s-]", "", text)
    if not re.fullmatch(r"[0-9]{13,16}", digits):
        return False
    doubled = [int(digit) * (2 if place % 2 else 1) for place, digit in enumerate(reversed(digits))]
    return sum(each - 9 if each > 9 else each for each in doubled) % 10 == 0


_LABEL = r"[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"

_CHECKS: dict[str, _Check] = {
    "date": lambda text: len(text) == 10 and _succeeds(date.fromisoformat)(text),
    "datetime": lambda text: parse_timestamp(text) is not None,
    "duration": lambda text: parse_duration(text) is not None,
    "byte": lambda text: bool(text) and _succeeds(lambda each: base64.b64decode(each, validate=True))(text),
    "uri": lambda text: bool(FUNCTIONS["isURL"].call(text)),
    "email": _shaped(r"[^@\s]+@[^@\s]+"),
    "hostname": _shaped(rf"(?=.{{1,255}}\Z)({_LABEL}\.)*(?=[^.]*[a-zA-Z]){_LABEL}\.?"),
    "ipv4": _succeeds(ipaddress.IPv4Address),
    "ipv6": _succeeds(ipaddress.IPv6Address),
    "cidr": lambda text: "/" in text and _succeeds(ipaddress.ip_interface)(text),
    "mac": _shaped(r"[0-9a-fA-F]{2}([:-][0-9a-fA-F]{2}){5}|[0-9a-fA-F]{4}(\.[0-9a-fA-F]{4}){2}"),
    "uuid": _shaped(r"(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}"),
    "uuid3": _uuid("3"),
    "uuid4": _uuid("4"),
    "uuid5": _uuid("5"),
    "isbn": _shaped(r"(?:[0-9][- ]?){9}[0-9Xx]|(?:[0-9][- ]?){13}"),
    "isbn10": _shaped(r"(?:[0-9][- ]?){9}[0-9Xx]"),
    "isbn13": _shaped(r"(?:[0-9][- ]?){13}"),
    "creditcard": _is_card,
    "ssn": _shaped(r"[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}"),
    "hexcolor": _shaped(r"#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "rgbcolor": _shaped(r"rgb\(\s*\d{1,3}\s*,\s*\d{1,3}\s*,\s*\d{1,3}\s*\)"),
    "bsonobjectid": _shaped(r"[0-9a-fA-F]{24}"),
    "k8sshortname": _shaped(r"(?=.{1,63}\Z)[a-z0-9]([-a-z0-9]*[a-z0-9])?"),
    "k8slongname": _shaped(r"(?=.{1,253}\Z)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"),
}


def format_check(name: str) -> _Check | None:
    """The check of a format; None for an unknown one."""
    return _CHECKS.get(name.replace("-", ""))
