"""Pruning of converted objects by the schema of their new version.

Only the version of the write and the storage version apply defaults.
"""

from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import lru_cache
from typing import Any

from kohort.api.codec import Json, JsonMapping
from kohort.embedded.crds.content_cache import ContentCache
from kohort.embedded.crds.embedded import with_heads
from kohort.embedded.crds.shaping import Shape, kept, shape_of
from kohort.embedded.crds.value_paths import START


def prune(crd: JsonMapping, obj: JsonMapping) -> dict[str, Json]:
    """The object without fields that its version does not define."""
    return _shaped(crd, obj, _pruning)


def prune_and_default(crd: JsonMapping, obj: JsonMapping) -> dict[str, Json]:
    """The same, with the defaults of its version."""
    return _shaped(crd, obj, _shaping)


def _shaped(crd: JsonMapping, obj: JsonMapping, compiled: Callable[["_Entry"], Shape]) -> dict[str, Json]:
    name = str(obj["apiVersion"]).rpartition("/")[2]
    entry = next((each for each in crd["spec"]["versions"] if each["name"] == name), None)
    if entry is None:
        return dict(obj)
    made: dict[str, Json] = compiled(_Entry(entry))(dict(obj), START, [])
    return made


class _Entry:
    """A version of a definition as a cache key, by identity."""

    __slots__ = ("version",)

    def __init__(self, version: JsonMapping) -> None:
        self.version = version

    def __hash__(self) -> int:
        return id(self.version)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Entry) and other.version is self.version


_PRUNING: ContentCache[Shape] = ContentCache(512)
_SHAPING: ContentCache[Shape] = ContentCache(512)


@lru_cache(maxsize=512)
def _pruning(entry: _Entry) -> Shape:
    return _PRUNING.get(_schema(entry), _pruning_shape)


@lru_cache(maxsize=512)
def _shaping(entry: _Entry) -> Shape:
    return _SHAPING.get(_schema(entry), _defaulting_shape)


def _schema(entry: _Entry) -> JsonMapping:
    return (entry.version.get("schema") or {}).get("openAPIV3Schema") or {}


def _pruning_shape(schema: JsonMapping) -> Shape:
    return shape_of(_without_defaults(with_heads(deepcopy(schema)))) if schema else kept


def _defaulting_shape(schema: JsonMapping) -> Shape:
    return shape_of(with_heads(deepcopy(schema))) if schema else kept


def _without_defaults(schema: JsonMapping) -> dict[str, Any]:
    made = {name: part for name, part in schema.items() if name != "default"}
    if schema.get("properties"):
        made["properties"] = {name: _without_defaults(below) for name, below in schema["properties"].items()}
    for part in ("items", "additionalProperties"):
        if isinstance(schema.get(part), Mapping):
            made[part] = _without_defaults(schema[part])
    return made
