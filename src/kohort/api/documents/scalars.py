"""Values of YAML scalars in JSON, as in Kubernetes (YAML 1.1, sigs.k8s.io/yaml).

So `yes`, `on` and `y` are booleans, `017` and `0o17` are 15, dates are strings. Two differences: an unknown tag is an
error instead of being ignored, and an integer beyond 64 bits keeps its digits instead of being rounded.
All functions raise ValueError with a message for users; the readers add the position.
"""

import base64
import binascii
import math
import re
from typing import Any, Final

from kohort.api.fields import shown_value

Scalar = str | int | float | bool | None

MAX_DIGITS: Final = 309
"""Digits of the largest double; no JSON parser accepts a longer number."""

YAML_TAG: Final = "tag:yaml.org,2002:"
_WORDS: Final[dict[str, bool | None]] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "true", "True", "TRUE"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "off", "Off", "OFF", "false", "False", "FALSE"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
}
_NOT_JSON: Final = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_NUMBER_STARTS: Final = frozenset("0123456789+-.")
_DECIMAL: Final = re.compile(r"[-+]?[0-9]+")
_PREFIXED: Final = re.compile(r"([-+]?)0(?:[xX]([0-9a-fA-F]+)|[bB]([01]+)|[oO]?([0-7]+))")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_ODD_FRACTION: Final = re.compile(r"\..*(?:[^0-9]_|_(?![0-9]))|\._")
"""Without a digit before the point, `_` counts only between digits."""
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_INT64: Final = range(-(2**63), 2**63)
_WORD64: Final = range(-(2**63), 2**64)
_LAST_SINGLE: Final = 3e38
_LAST_PLAIN_FLOAT: Final = 1e21
"""From here on Kubernetes prints a float with an exponent."""


def plain_scalar(text: str) -> Scalar:
    """The value of a scalar written without quotes and without a tag."""
    if text in _WORDS:
        return _WORDS[text]
    return _number_or_text(text) if text[0] in _NUMBER_STARTS else text


def tagged_scalar(text: str, tag: str) -> Scalar:
    """The value of a scalar with an explicit tag."""
    kind = tag.removeprefix(YAML_TAG)
    if kind in ("!", "str", "timestamp"):
        return text
    if kind == "binary":
        return _from_base64(text)
    if kind not in _TAG_TYPES:
        raise ValueError(f"unknown tag {shown_tag(tag)}: manifests are plain data; remove the tag")
    value = plain_scalar(text)
    if type(value) not in _TAG_TYPES[kind]:
        raise ValueError(f"{shown_value(text)} is not a {shown_tag(tag)}")
    return value


_TAG_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "null": (type(None),),
}


def shown_tag(tag: str) -> str:
    """A tag as users write it."""
    return shown_value(f"!!{tag.removeprefix(YAML_TAG)}" if tag.startswith(YAML_TAG) else tag)


def key_text(value: Any) -> str:
    """The JSON name of a mapping key."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and value in _INT64:
        return str(value)
    # Kubernetes prints a float key in single precision; only one that is the same there has an unambiguous name.
    if isinstance(value, float) and abs(value) < _LAST_SINGLE and float(text := format(value, "g")) == value:
        return text
    scalar = not isinstance(value, dict | list)
    remedy = "put it in quotes" if scalar else "if this is a template with {{ }}, render it first"
    raise ValueError(f"{shown_value(value)} cannot be a key; {remedy}")


def refuse_surrogates(text: str) -> None:
    """Reject a lone surrogate: escapes can express one, UTF-8 cannot."""
    if not text.isascii() and (half := _SURROGATE.search(text)):
        raise ValueError(f"\\u{ord(half[0]):x} is a lone surrogate; use the complete character")


def json_number(text: str) -> int | float:
    """The value of a JSON number."""
    if _DECIMAL.fullmatch(text):
        return _decimal(text)
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"number out of range: {shown_value(text)}")
    return value


def shortest_number(value: float) -> int | float:
    """A float as Kubernetes' JSON has it: `1.0` is printed as `1`, which is decoded as an integer."""
    return int(value) if value.is_integer() and abs(value) < _LAST_PLAIN_FLOAT else value


def _number_or_text(text: str) -> Scalar:
    digits = text.replace("_", "") if not _ODD_FRACTION.match(text) else text
    if prefixed := _PREFIXED.fullmatch(digits):
        value = _of_base(prefixed)
        if value in _WORD64:
            return value
    if _DECIMAL.fullmatch(digits):
        return _decimal(digits)
    if _FLOAT.fullmatch(digits):
        return _float_or_text(digits, text)
    if _NOT_JSON.fullmatch(text):
        raise ValueError(f"{text} is not a number in JSON; put it in quotes if it is text")
    return text


def _of_base(number: re.Match[str]) -> int:
    sign, hexadecimal, binary, octal = number.groups()
    if hexadecimal:
        return int(sign + hexadecimal, 16)
    return int(sign + binary, 2) if binary else int(sign + octal, 8)


def _decimal(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"number of {len(digits)} digits is out of range; put it in quotes if it is text")
    return int(digits)


def _float_or_text(digits: str, text: str) -> Scalar:
    value = float(digits)
    # A commit id such as 1e400123 looks like a number, but exceeds a double, so that it is a string for Kubernetes too.
    return text if math.isinf(value) else value


def _from_base64(text: str) -> str:
    try:
        return base64.b64decode("".join(text.split()), validate=True).decode()
    except binascii.Error:
        raise ValueError("!!binary value is not base64") from None
    except UnicodeDecodeError:
        raise ValueError("!!binary value is not valid UTF-8, and JSON has no binary data") from None
