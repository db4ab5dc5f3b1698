"""Field selectors: supported fields of a resource, and their values.

Built-in kinds list theirs in the catalog, CustomResourceDefinitions in `selectableFields`.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from kohort.embedded.openapi import SchemaNode
from kohort.embedded.resources import ServedResource

_ZERO_TEXTS = {"boolean": "false", "integer": "0"}


def selectable(resource: ServedResource) -> frozenset[str]:
    """The field labels that a field selector may use."""
    common = ("metadata.name", "metadata.namespace") if resource.namespaced else ("metadata.name",)
    return frozenset((*common, *resource.selectable_fields))


def field_values(resource: ServedResource, obj: Mapping[str, Any], labels: Iterable[str]) -> dict[str, str]:
    """The values of the given field labels; each must be selectable."""
    return {label: _text(resource, obj, label) for label in labels}


def _text(resource: ServedResource, obj: Mapping[str, Any], label: str) -> str:
    steps = resource.selectable_fields.get(label, label).removeprefix(".").split(".")
    value: Any = obj
    for step in steps:
        value = value.get(step) if isinstance(value, Mapping) else None
    if value is None:
        return _ZERO_TEXTS.get(_type(resource.schema, steps), "")
    return str(value).lower() if isinstance(value, bool) else str(value)


def _type(node: SchemaNode | None, steps: list[str]) -> str:
    for step in steps:
        node = node.member(step) if node else None
    return node.type if node else ""
