"""JSON Pointers (RFC 6901), as used by JSON Patch and error responses.

A pointer is the tuple of its unescaped tokens.
"""

import re
from collections.abc import Iterable

from kohort.api.codec import Json
from kohort.api.errors import ApiError
from kohort.api.fields import shown_value

Pointer = tuple[str, ...]

_BAD_ESCAPE = re.compile(r"~(?![01])")
# Lists do not have 10^18 items; longer numbers are not parsed.
_INDEX = re.compile(r"0|[1-9][0-9]{0,17}")


class PointerError(ApiError):
    """The text is not a JSON Pointer, or its target does not exist."""


def parse_pointer(text: str) -> Pointer:
    """The tokens of a pointer; the empty text is the whole document."""
    if not text:
        return ()
    if not text.startswith("/"):
        raise PointerError(f"not a JSON pointer: {shown_value(text)}: start it with '/'")
    if _BAD_ESCAPE.search(text):
        raise PointerError(f"not a JSON pointer: {shown_value(text)}: write '~0' for '~' and '~1' for '/'")
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in text[1:].split("/"))


def format_pointer(tokens: Iterable[str | int]) -> str:
    """The text of a pointer to a member or item with these names and positions."""
    return "".join("/" + str(token).replace("~", "~0").replace("/", "~1") for token in tokens)


def array_index(token: str) -> int | None:
    """The list index of a token, or None; leading zeros and `-` are invalid."""
    return int(token) if _INDEX.fullmatch(token) else None


def resolve(document: Json, pointer: Pointer) -> Json:
    """The value at a pointer."""
    value = document
    for depth, token in enumerate(pointer):
        try:
            value = _step(value, token)
        except LookupError:
            place = format_pointer(pointer[: depth + 1])
            raise PointerError(f"nothing at {shown_value(place)}: point to a member or item that exists") from None
    return value


def _step(value: Json, token: str) -> Json:
    if isinstance(value, dict):
        return value[token]
    index = array_index(token)
    if index is None or not isinstance(value, list):
        raise LookupError(token)
    return value[index]
