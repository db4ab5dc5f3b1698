"""The head that every object has, at the root of custom objects and of resources embedded in them."""

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
"""Kubernetes' own object metadata, whatever the author of a definition wrote about it."""

HEAD: Mapping[str, Any] = {"apiVersion": _TEXT, "kind": _TEXT, "metadata": METADATA}


def with_head(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema of objects with Kubernetes' head in the place of its own.

    A definition may still bound metadata (the length of the name, say); those bounds stay.
    """
    named = schema.get("properties") or {}
    bounds = (named.get("metadata") or {}).get("properties") or {}
    members = {name: {**bounds.get(name, {}), **known} for name, known in METADATA["properties"].items()}
    return {**schema, "properties": {**named, **HEAD, "metadata": {**METADATA, "properties": members}}}
