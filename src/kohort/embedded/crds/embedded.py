"""Embedded resources (`x-kubernetes-embedded-resource`): validation of their kind, apiVersion and metadata."""

from collections.abc import Iterator, Mapping
from typing import Any

from kohort.api.codec import Json
from kohort.api.fields import FieldError, invalid, required
from kohort.api.names import annotation_errors, check_subdomain, label_errors
from kohort.embedded.crds.metadata import with_head
from kohort.embedded.crds.value_paths import START, MapKey, ValuePath, field_path

EMBEDDED = "x-kubernetes-embedded-resource"


def with_heads(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with Kubernetes' type meta and metadata at its root and in every embedded resource."""
    return with_head(_completed(schema))


def _completed(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    made = dict(schema)
    if schema.get("properties"):
        made["properties"] = {name: _embedded(below) for name, below in schema["properties"].items()}
    for part in ("items", "additionalProperties"):
        if isinstance(schema.get(part), Mapping):
            made[part] = _embedded(schema[part])
    return made


def _embedded(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    completed = _completed(schema)
    return with_head(completed) if schema.get(EMBEDDED) else completed


def embedded_problems(value: Json, schema: Mapping[str, Any]) -> list[FieldError]:
    """Validation errors of embedded resources."""
    return list(_problems(value, schema, START))


def has_embedded(schema: Mapping[str, Any]) -> bool:
    """Whether the schema contains embedded resources."""
    return bool(schema.get(EMBEDDED)) or any(has_embedded(below) for below in _below(schema))


def _below(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found = [*(schema.get("properties") or {}).values(), schema.get("items"), schema.get("additionalProperties")]
    return [each for each in found if isinstance(each, Mapping)]


def _problems(value: Json, schema: Mapping[str, Any], trail: ValuePath) -> Iterator[FieldError]:
    if isinstance(value, dict):
        if schema.get(EMBEDDED):
            yield from _head_problems(value, trail)
        named, additional = schema.get("properties") or {}, schema.get("additionalProperties")
        for name, member in value.items():
            if name in named:
                yield from _problems(member, named[name], (trail, name))
            elif isinstance(additional, Mapping):
                yield from _problems(member, additional, (trail, MapKey(name)))
    elif isinstance(value, list) and isinstance(schema.get("items"), Mapping):
        for index, item in enumerate(value):
            yield from _problems(item, schema["items"], (trail, index))


def _head_problems(value: dict[str, Json], trail: ValuePath) -> Iterator[FieldError]:
    path = field_path(trail)
    for name in ("apiVersion", "kind"):
        if not value.get(name):
            yield required(path / name, "must not be empty")
    metadata = value.get("metadata")
    if not isinstance(metadata, dict):
        return
    given = metadata.get("name")
    if isinstance(given, str) and given and (problem := check_subdomain(given)):
        yield invalid(path / "metadata" / "name", given, problem)
    yield from label_errors(metadata.get("labels") or {}, path / "metadata" / "labels")
    yield from annotation_errors(metadata.get("annotations") or {}, path / "metadata" / "annotations")
