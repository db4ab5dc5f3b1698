"""Strategy of custom resources: decoding, defaulting and validation by the schema of their definition."""

from collections.abc import Iterator
from dataclasses import replace

from kohort.api.codec import JsonObject
from kohort.api.fields import ROOT, FieldError
from kohort.embedded.crds.objects import ValidationResult, shape, validate, validate_status
from kohort.embedded.kinds.definitions import DEFINITIONS, meta_name
from kohort.embedded.kinds.reading import read_object
from kohort.embedded.kinds.validation.metadata import metadata_problems, name_problems
from kohort.embedded.openapi import SchemaNode
from kohort.embedded.resources import ServedResource
from kohort.embedded.server.requests.write_operation import WriteOperation

_METADATA = {"$ref": f"#/$defs/{meta_name('ObjectMeta')}"}
_HEAD = SchemaNode({"type": "object", "properties": {"metadata": _METADATA}}, DEFINITIONS)
"""Metadata that has the same types in every object."""


def read_custom(resource: ServedResource, found: JsonObject) -> tuple[JsonObject, tuple[str, ...]]:
    """The pruned object, and its unknown fields."""
    head = read_object(replace(resource, schema=_HEAD), {"metadata": found.get("metadata") or {}})
    shaped = shape(resource, {**found, **head.object})
    unknown = (f'unknown field "{path}"' for path in shaped.unknown)
    return shaped.object, (*head.unknown, *unknown)


def default_custom(resource: ServedResource, found: JsonObject) -> JsonObject:
    """The object with the schema's defaults."""
    return shape(resource, found).object


def custom_problems(operation: WriteOperation, new: JsonObject, old: JsonObject | None) -> list[FieldError]:
    """Validation errors of the object; ratcheted ones become warnings."""
    verdict = _verdict(operation, new, old)
    operation.warnings.extend(verdict.warnings)
    return [*_metadata_problems(operation, new, old), *verdict.errors]


def _metadata_problems(operation: WriteOperation, new: JsonObject, old: JsonObject | None) -> Iterator[FieldError]:
    """Validation errors of the metadata, which no schema covers; unchanged values are not validated again."""
    if old is None:
        yield from name_problems(operation.resource, new)
    if old is None or old["metadata"] != new["metadata"]:
        yield from metadata_problems(new["metadata"], ROOT / "metadata")


def _verdict(operation: WriteOperation, new: JsonObject, old: JsonObject | None) -> ValidationResult:
    if operation.subresource == "status" and old is not None:
        return validate_status(operation.resource, new, old)
    return validate(operation.resource, new, old)
