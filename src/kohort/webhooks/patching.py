"""JSON Patch (RFC 6902) from one object to another: members one by one, lists as wholes.

A list is replaced as a whole, because the patch applies to exactly the object that the webhook received.
"""

from collections.abc import Iterator

from kohort.api.codec import Json, encode
from kohort.api.pointer import format_pointer

_Path = tuple[str, ...]


def json_patch(before: Json, after: Json) -> list[Json]:
    """The operations that lead from one value to another; none when they are the same."""
    return list(_operations(before, after, ()))


def _operations(before: Json, after: Json, path: _Path) -> Iterator[Json]:
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _members(before, after, path)
    elif encode(before) != encode(after):
        # Compared as text, because Python holds True for 1.
        yield {"op": "replace", "path": format_pointer(path), "value": after}


def _members(before: dict[str, Json], after: dict[str, Json], path: _Path) -> Iterator[Json]:
    for name in before:
        if name not in after:
            yield {"op": "remove", "path": format_pointer((*path, name))}
    for name, value in after.items():
        if name in before:
            yield from _operations(before[name], value, (*path, name))
        else:
            yield {"op": "add", "path": format_pointer((*path, name)), "value": value}
