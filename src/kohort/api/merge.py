"""JSON merge patches (RFC 7386): the one way Kohort changes an object of which it knows only a part.

Members that a patch does not name stay as they are, so unknown fields survive.
"""

from typing import Any

from kohort.api.codec import Json


def merge(target: Json, patch: Json) -> Json:
    """The target with the patch applied; neither is changed, but the result may share parts with both."""
    if not isinstance(patch, dict):
        return patch
    merged: dict[str, Any] = dict(target) if isinstance(target, dict) else {}
    for name, change in patch.items():
        if change is None:
            merged.pop(name, None)
        else:
            merged[name] = merge(merged.get(name), change)
    return merged


def difference(before: dict[str, Json], after: dict[str, Json]) -> dict[str, Json]:
    """The smallest patch that leads from one object to another; empty when nothing changed (JOB-54).

    A null can't be written by a merge patch, so a null member of `after` counts as absent.
    """
    patch: dict[str, Json] = {}
    for name in before.keys() | after.keys():
        old, new = before.get(name), after.get(name)
        if isinstance(old, dict) and isinstance(new, dict):
            inner = difference(old, new)
            if inner:
                patch[name] = inner
        elif not same(old, new):
            patch[name] = new
    return patch
