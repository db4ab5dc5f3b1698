"""Custom objects after a conversion: what the schema of their new version does not know is dropped, and nothing added.

A converted object is as good as one that was read, and defaults belong to the version in which somebody wrote.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from kohort.api.codec import Json
from kohort.embedded.crds.embedded import with_heads
from kohort.embedded.crds.places import START
from kohort.embedded.crds.shaping import Shape, kept, shape_of

Object = Mapping[str, Any]


def prune(crd: Object, obj: Object) -> dict[str, Json]:
    """The object without what its version of the definition does not know."""
    name = str(obj["apiVersion"]).rpartition("/")[2]
    entry = next((each for each in crd["spec"]["versions"] if each["name"] == name), None)
    if entry is None:
        return dict(obj)
    pruned: dict[str, Json] = _pruning(_Entry(entry))(dict(obj), START, [])
    return pruned


class _Entry:
    """A version of a definition as a key of the cache: itself, not one that is equal."""

    __slots__ = ("version",)

    def __init__(self, version: Object) -> None:
        self.version = version

    def __hash__(self) -> int:
        return id(self.version)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Entry) and other.version is self.version


@lru_cache(maxsize=512)
def _pruning(entry: _Entry) -> Shape:
    schema = (entry.version.get("schema") or {}).get("openAPIV3Schema")
    return shape_of(_without_defaults(with_heads(schema))) if schema else kept


def _without_defaults(schema: Object) -> dict[str, Any]:
    made = {name: part for name, part in schema.items() if name != "default"}
    if schema.get("properties"):
        made["properties"] = {name: _without_defaults(below) for name, below in schema["properties"].items()}
    for part in ("items", "additionalProperties"):
        if isinstance(schema.get(part), Mapping):
            made[part] = _without_defaults(schema[part])
    return made
