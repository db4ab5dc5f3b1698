"""JSON Patch (RFC 6902) from one object to another: members one by one, lists as wholes.

A list is replaced whole because the patch meets the very object that the webhook was shown.
"""

from collections.abc import Iterator

from kohort.api.codec import Json, encode
from kohort.api.pointer import format_pointer

Place = tuple[str, ...]


def json_patch(before: Json, after: Json) -> list[Json]:
    """The operations that lead from one value to another; none when they are the same."""
    return list(_operations(before, after, ()))


def _operations(before: Json, after: Json, place: Place) -> Iterator[Json]:
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _members(before, after, place)
    elif encode(before) != encode(after):
        # Compared as text, because Python holds True for 1.
        yield {"op": "replace", "path": format_pointer(place), "value": after}


def _members(before: dict[str, Json], after: dict[str, Json], place: Place) -> Iterator[Json]:
    for name in before:
        if name not in after:
            yield {"op": "remove", "path": format_pointer((*place, name))}
    for name, value in after.items():
        if name in before:
            yield from _operations(before[name], value, (*place, name))
        else:
            yield {"op": "add", "path": format_pointer((*place, name)), "value": value}
