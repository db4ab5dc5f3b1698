"""JSON merge patches (RFC 7386), with which Kohort changes objects of which it decodes only a part.

Members that a patch does not contain are unchanged, so that unknown fields survive.
"""

from typing import Any

import msgspec

from kohort.api.codec import Json

_canonical = msgspec.json.Encoder(order="sorted")


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
    """The smallest patch from one object to another; empty without changes (JOB-54).

    A merge patch cannot write a null, so that a null member of `after` counts as absent.
    """
    patch: dict[str, Json] = {}
    for name in {**before, **after}:
        old, new = before.get(name), after.get(name)
        if isinstance(old, dict) and isinstance(new, dict):
            inner = difference(old, new)
            if inner:
                patch[name] = inner
        elif not _same(old, new):
            patch[name] = new
    return patch


def _same(one: Json, other: Json) -> bool:
    """Equality of JSON, where `true` is not 1 as it is in Python."""
    return _canonical.encode(one) == _canonical.encode(other)
