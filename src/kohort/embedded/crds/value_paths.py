"""Where in an object something was found: a linked pair per step, rendered only when there is something to report."""

from typing import Any

from kohort.api.fields import ROOT, Path

Trail = tuple[Any, ...]
"""The way to a value as a linked pair (the way to its parent, the step), empty at the root."""

START: Trail = ()


class MapKey(str):
    """The step to a value of a free map, where a step to a named member is a plain text."""

    __slots__ = ()


def steps_of(trail: Trail) -> list[str | int]:
    """The steps from the root."""
    steps: list[str | int] = []
    while trail:
        trail, step = trail
        steps.append(step)
    steps.reverse()
    return steps


def schema_path(trail: Trail) -> Path:
    """The path as schema errors write it: keys of maps look like members."""
    path = ROOT
    for step in steps_of(trail):
        path = path[step] if isinstance(step, int) else path / step
    return path


def field_path(trail: Trail) -> Path:
    """The path as rules write it: keys of maps stand in brackets."""
    path = ROOT
    for step in steps_of(trail):
        path = path / step if isinstance(step, str) and not isinstance(step, MapKey) else path[step]
    return path
