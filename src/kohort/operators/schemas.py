"""Parts of the schemas that stand-ins declare.

One schema is both the CustomResourceDefinition, which preserves unknown fields, and the list of fields that have an
effect.
"""

from typing import Final

from kohort.api.codec import JsonObject

ANYTHING: Final[JsonObject] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
"""An object that Kubernetes itself defines, such as a pod template."""
TEXT: Final[JsonObject] = {"type": "string"}
TRUTH: Final[JsonObject] = {"type": "boolean"}
NUMBER: Final[JsonObject] = {"type": "integer", "format": "int32", "minimum": 0}


def one_of(*values: str) -> JsonObject:
    """A text with these supported values."""
    return {"type": "string", "enum": list(values)}


def list_of(items: JsonObject) -> JsonObject:
    """A list."""
    return {"type": "array", "items": items}


def map_of(values: JsonObject) -> JsonObject:
    """A map from names to values."""
    return {"type": "object", "additionalProperties": values}


def with_fields(**properties: JsonObject) -> JsonObject:
    """An object with these supported fields."""
    return {"type": "object", "properties": properties}
