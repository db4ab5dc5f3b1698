"""Path elements in the form of `fieldsV1`: `f:` members, `k:` keyed items, `v:` values.

Elements are compared as text, so the text must be canonical.
"""

import json
from collections.abc import Mapping
from functools import lru_cache

import msgspec

from kohort.api.codec import Json

SELF = "."
"""Marks the path itself as a member, in addition to paths below it."""

MAX_CACHED = 4096

# Go's JSON encoder escapes these characters.
_ESCAPES = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}


class ElementError(ValueError):
    """An unreadable path element."""


def value_element(value: Json) -> str:
    """The path element of a value in a set."""
    return "v:" + _text(value)


def key_element(keys: Mapping[str, Json]) -> str:
    """The path element of a keyed list item; the keys must be sorted."""
    if len(keys) == 1:
        for name, value in keys.items():
            if type(value) is str:
                return _named_element(name, value)
    return "k:" + _text(dict(keys))


@lru_cache(MAX_CACHED)
def _named_element(name: str, value: str) -> str:
    """The path element of a list item with one key, the usual case; cached."""
    return "k:" + _text({name: value})


def _text(value: Json) -> str:
    text = msgspec.json.encode(_plain(value)).decode()
    return text.translate(_ESCAPES) if _needs_escapes(text) else text


def _needs_escapes(text: str) -> bool:
    return not text.isascii() or "<" in text or ">" in text or "&" in text


def _plain(value: Json) -> Json:
    """Integral floats as integers, and members in sorted order."""
    if type(value) is float and value.is_integer() and abs(value) < 1e21:
        return int(value)
    if type(value) is dict:
        return {name: _plain(value[name]) for name in sorted(value)}
    return value


def canonical(element: str) -> str | None:
    """The element in canonical form; None for an unknown kind."""
    kind, text = element[:2], element[2:]
    if kind == "f:":
        return element
    if kind == "i:":
        return f"i:{_number(text)}"
    if kind == "v:":
        return value_element(_parsed(text))
    if kind == "k:":
        keys = _parsed(text)
        if not isinstance(keys, dict):
            raise ElementError(f"no keys in {element}")
        return key_element(keys)
    if len(kind) < 2 or kind[1] != ":":
        raise ElementError(f"missing colon: {element}")
    return None


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ElementError(f"no index: {text}") from None


def _parsed(text: str) -> Json:
    try:
        return json.loads(text)
    except ValueError:
        raise ElementError(f"no JSON: {text}") from None


_SortKey = tuple[int, tuple[tuple[str, int, Json], ...]]


@lru_cache(MAX_CACHED)
def sort_key(element: str) -> _SortKey:
    """Sort key of an element among its siblings: numbers by value, strings by code point."""
    kind, text = element[:2], element[2:]
    if kind == "k:":
        return 1, tuple((name, *_rank(value)) for name, value in _parsed(text).items())
    if kind == "v:":
        return 2, (("", *_rank(_parsed(text))),)
    if kind == "i:":
        return 3, (("", 0, int(text)),)
    return 0, ((text, 0, 0),)


def _rank(value: Json) -> tuple[int, Json]:
    if isinstance(value, bool):
        return 2, value
    if isinstance(value, int | float):
        return 0, value
    if isinstance(value, str):
        return 1, value
    return 3, _text(value)


def display(element: str) -> str:
    """A path element in the form of error messages: `.replicas`, `[name="web"]`, `[="value"]`, `[3]`."""
    kind, text = element[:2], element[2:]
    if kind == "k:":
        return "[" + ",".join(f"{name}={_text(value)}" for name, value in _parsed(text).items()) + "]"
    if kind == "v:":
        return f"[={text}]"
    if kind == "i:":
        return f"[{text}]"
    return f".{text}"
