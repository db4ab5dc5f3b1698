"""Type meta and metadata of custom resources and embedded resources."""

from collections.abc import Mapping
from typing import Any

_TEXT = {"type": "string"}
_FLAG = {"type": "boolean"}
_NUMBER = {"type": "integer"}
_TEXTS = {"type": "object", "additionalProperties": _TEXT}
_TIME = {"type": "string", "format": "date-time", "nullable": True}
_ANY = {"x-kubernetes-preserve-unknown-fields": True}

_OWNER = {
    "type": "object",
    "properties": {
        **dict.fromkeys(("apiVersion", "kind", "name", "uid"), _TEXT),
        **dict.fromkeys(("controller", "blockOwnerDeletion"), _FLAG),
    },
}
_MANAGED = {
    "type": "object",
    "properties": {
        **dict.fromkeys(("manager", "operation", "apiVersion", "fieldsType", "subresource"), _TEXT),
        "time": _TIME,
        "fieldsV1": {"type": "object", **_ANY},
    },
}

METADATA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        **dict.fromkeys(("name", "generateName", "namespace", "selfLink", "uid", "resourceVersion"), _TEXT),
        **dict.fromkeys(("generation", "deletionGracePeriodSeconds"), _NUMBER),
        **dict.fromkeys(("creationTimestamp", "deletionTimestamp"), _TIME),
        **dict.fromkeys(("labels", "annotations"), _TEXTS),
        "finalizers": {"type": "array", "items": _TEXT},
        "ownerReferences": {"type": "array", "items": _OWNER},
        "managedFields": {"type": "array", "items": _MANAGED},
    },
}
"""Kubernetes' ObjectMeta schema, which overrides the definition's."""

HEAD: Mapping[str, Any] = {"apiVersion": _TEXT, "kind": _TEXT, "metadata": METADATA}


def with_head(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema with Kubernetes' type meta and metadata in place of its own.

    A definition may restrict metadata, e.g. the length of the name; such restrictions are kept.
    """
    named = schema.get("properties") or {}
    bounds = (named.get("metadata") or {}).get("properties") or {}
    members = {name: {**bounds.get(name, {}), **known} for name, known in METADATA["properties"].items()}
    return {**schema, "properties": {**named, **HEAD, "metadata": {**METADATA, "properties": members}}}
