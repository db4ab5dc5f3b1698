"""JSON Pointers (RFC 6901), as used by JSON Patch."""

from collections.abc import Iterable


def format_pointer(tokens: Iterable[str | int]) -> str:
    """The text of a pointer to a member or item with these names and positions."""
    return "".join("/" + str(token).replace("~", "~0").replace("/", "~1") for token in tokens)
