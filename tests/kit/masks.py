"""Compares objects with golden transcripts: masks match any text; order and empty fields are ignored."""

from collections.abc import Iterator
from typing import Any

Json = Any

MASKS = ("<time>", "<text>", "<uid>", "<rv>")
MENTIONS = "messageMentions"
DURATION_FIELDS = ("accumulatedPastExecutionTimeSeconds",)
"""Fields with durations, which differ from run to run."""
IGNORED_METADATA = ("managedFields", "creationTimestamp", "deletionGracePeriodSeconds", "selfLink")
"""Fields of metadata that do not depend on controllers."""


def masked_differences(expected: Json, found: Json, path: str = "") -> Iterator[str]:
    """Where the two differ, one line each."""
    if isinstance(expected, dict) and isinstance(found, dict):
        yield from _members(expected, found, path)
    elif path.endswith(DURATION_FIELDS) and isinstance(expected, int) and isinstance(found, int):
        return
    elif isinstance(expected, list) and isinstance(found, list):
        yield from _items(expected, found, path)
    elif not _is_match(expected, found):
        yield f"{path}: {expected!r} became {found!r}"


def _is_match(expected: Json, found: Json) -> bool:
    if expected in MASKS:
        return isinstance(found, str)
    return bool(expected == found) or (_is_empty(expected) and _is_empty(found))


def _is_empty(value: Json) -> bool:
    return value is None or value in ({}, [])


def _members(expected: Json, found: Json, path: str) -> Iterator[str]:
    for name in sorted({*expected, *found} - {MENTIONS, *IGNORED_METADATA}):
        yield from masked_differences(
            _pruned(expected.get(name)), _pruned(found.get(name)), f"{path}.{name}".strip(".")
        )
    for mention in expected.get(MENTIONS, ()):
        if mention not in MASKS and mention not in found.get("message", ""):
            yield f"{path}.message: no mention of {mention!r} in {found.get('message')!r}"


def _pruned(value: Json) -> Json:
    """Without members that are empty, which mean the same as their absence."""
    if not isinstance(value, dict):
        return value
    members = {name: _pruned(member) for name, member in value.items()}
    return {name: member for name, member in members.items() if not _is_empty(member)}


def _items(expected: Json, found: Json, path: str) -> Iterator[str]:
    """Items by key: conditions by type, others by index."""
    keys = [_keys(expected), _keys(found)]
    if None in keys:
        if len(expected) != len(found):
            yield f"{path}: {len(expected)} items became {len(found)}"
        for index, (one, other) in enumerate(zip(expected, found, strict=False)):
            yield from masked_differences(one, other, f"{path}[{index}]")
        return
    one, other = keys[0] or {}, keys[1] or {}
    for key in sorted({*one, *other}):
        yield from masked_differences(one.get(key), other.get(key), f"{path}[{key}]")


def _keys(items: Json) -> dict[str, Json] | None:
    if not all(isinstance(item, dict) and "type" in item for item in items):
        return None
    return {item["type"]: item for item in items}
