"""Pod templates inside an object of any kind, found by their shape: no kind has to declare where its own are."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from kohort.api.codec import Json
from kohort.api.fields import ROOT, Path


class TemplateInObject(NamedTuple):
    """A value with `spec.containers`, and its place; a Pod is its own template."""

    value: dict[str, Any]
    path: Path


def pod_templates(value: Json, path: Path = ROOT) -> Iterator[TemplateInObject]:
    """Every pod template below a value, in the order of its members."""
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
