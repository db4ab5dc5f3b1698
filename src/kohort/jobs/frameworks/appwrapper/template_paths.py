"""Paths of pod templates in a component, such as `template.spec.jobs[0].template` (JOB-134).

Users write them: each leads to a part of the wrapped object, or is reported with the step that does not exist.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from kohort.api.codec import JsonObject
from kohort.api.errors import DecodeError

WRAPPED: Final = "template"
"""The field of a component that has the wrapped object, and the first step of every path."""
_STEP: Final = re.compile(r"\.([^.\[\]]+)|\[([0-9]{1,9})\]", re.ASCII)


def template_at(component: JsonObject, path: str) -> JsonObject:
    """The part of a wrapped object that a path leads to; raises DecodeError if that is no JSON object."""
    found: Any = component.get(WRAPPED)
    for seen, step in _steps(path):
        found = _member(found, step)
        if found is None:
            raise DecodeError(f"leads to nothing: the component has no {seen}")
    if not isinstance(found, dict):
        raise DecodeError("leads to a value that is no pod template")
    return found


def _steps(path: str) -> Iterator[tuple[str, str | int]]:
    """The steps of a path into the wrapped object, each with the path up to it."""
    position = len(WRAPPED) if path.startswith(WRAPPED) else len(path)
    if position == len(path) and path != WRAPPED:
        raise DecodeError(f"must begin with {WRAPPED}, such as template.spec.template")
    while position < len(path):
        step = _STEP.match(path, position)
        if step is None:
            raise DecodeError("must have the form template.spec.template or template.spec.jobs[0].template")
        position = step.end()
        yield path[:position], int(step[2]) if step[1] is None else step[1]


def _member(value: Any, step: str | int) -> Any:
    if isinstance(step, str):
        return value.get(step) if isinstance(value, dict) else None
    return value[step] if isinstance(value, list) and step < len(value) else None
