"""Finds pod templates inside an object of any kind by their structure."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from kohort.api.codec import Json
from kohort.api.fields import ROOT, Path


class TemplateInObject(NamedTuple):
    """A value with `spec.containers`, and its path; a Pod is its own template."""

    value: dict[str, Any]
    path: Path


def pod_templates(value: Json, path: Path = ROOT) -> Iterator[TemplateInObject]:
    """All pod templates below a value, in order."""
    waiting: list[tuple[Json, Path]] = [(value, path)]
    while waiting:
        found, place = waiting.pop()
        if isinstance(found, list):
            waiting += [(item, place[index]) for index, item in enumerate(found)][::-1]
        elif isinstance(found, dict):
            spec = found.get("spec")
            if isinstance(spec, dict) and isinstance(spec.get("containers"), list):
                yield TemplateInObject(found, place)
            else:
                waiting += [(member, place / name) for name, member in found.items()][::-1]
