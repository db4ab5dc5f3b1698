"""Paths of values: a linked pair per step, rendered for errors only."""

from typing import Any

from kohort.api.fields import ROOT, Path

ValuePath = tuple[Any, ...]
"""Path of a value as a linked pair (parent path, step), empty at the root."""

START: ValuePath = ()


class MapKey(str):
    """A step to a value of a map; a step to a named member is a plain string."""

    __slots__ = ()


def steps_of(trail: ValuePath) -> list[str | int]:
    """The steps from the root."""
    steps: list[str | int] = []
    while trail:
        trail, step = trail
        steps.append(step)
    steps.reverse()
    return steps


def schema_path(trail: ValuePath) -> Path:
    """The path in schema errors: map keys look like members."""
    path = ROOT
    for step in steps_of(trail):
        path = path[step] if isinstance(step, int) else path / step
    return path


def field_path(trail: ValuePath) -> Path:
    """The path in rule errors: map keys are in brackets."""
    path = ROOT
    for step in steps_of(trail):
        path = path / step if isinstance(step, str) and not isinstance(step, MapKey) else path[step]
    return path
