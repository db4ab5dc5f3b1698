"""Migration from client-side apply: the last-applied-configuration annotation.

When kubectl moves to server-side apply, fields in its annotation are no conflicts, and the annotation is updated.
"""

import json

from kohort.api.codec import Json, JsonObject
from kohort.embedded.managed_fields.comparison import applied_fields
from kohort.embedded.managed_fields.field_schema import FieldSchema, NoKeyError
from kohort.embedded.managed_fields.field_sets import EMPTY, FieldSet

ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
KUBECTL = "kubectl"
MAX_ANNOTATION_BYTES = 256 * 1024


def last_applied_fields(live: JsonObject, schema: FieldSchema) -> FieldSet:
    """The fields in the live object's annotation; empty if it is missing or unreadable."""
    text = _annotations(live).get(ANNOTATION)
    if not isinstance(text, str) or not text:
        return EMPTY
    try:
        config = json.loads(text)
        return applied_fields(config, schema) if isinstance(config, dict) else EMPTY
    except (ValueError, NoKeyError, RecursionError):
        return EMPTY


def with_last_applied(obj: JsonObject, config: JsonObject) -> JsonObject:
    """The object with an updated annotation, if it has one."""
    annotations = _annotations(obj)
    if ANNOTATION not in annotations:
        return obj
    text = _encoded(config)
    kept = {name: value for name, value in annotations.items() if name != ANNOTATION}
    total = sum(len(name) + len(str(value)) for name, value in kept.items()) + len(ANNOTATION) + len(text)
    # An annotation that no longer fits is emptied rather than left outdated.
    noted = text if total <= MAX_ANNOTATION_BYTES else ""
    return {**obj, "metadata": {**obj["metadata"], "annotations": {**annotations, ANNOTATION: noted}}}


def _encoded(config: JsonObject) -> str:
    metadata = dict(config.get("metadata") or {})
    annotations = {name: value for name, value in (metadata.get("annotations") or {}).items() if name != ANNOTATION}
    metadata.pop("annotations", None)
    if annotations:
        metadata["annotations"] = annotations
    noted = {**config, "metadata": metadata}
    text = json.dumps(noted, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e") + "\n"


def _annotations(obj: JsonObject) -> dict[str, Json]:
    found = (obj.get("metadata") or {}).get("annotations")
    return found if isinstance(found, dict) else {}
