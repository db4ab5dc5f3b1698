"""The node selector of an application, which a start moves into both of its roles (JOB-142, Q-11).

The operator rejects an application that has one besides those of its roles. An annotation keeps it until a stop.
"""

from typing import Any, Final

import msgspec

from kohort.api.codec import JsonObject, decode
from kohort.api.errors import DecodeError

NODE_SELECTOR_ANNOTATION: Final = "kohort.dev/spark-node-selector"


def take_selector(obj: JsonObject) -> dict[str, str]:
    """Remove the node selector of an application, in place, and keep it in the annotation."""
    selector: dict[str, str] = obj["spec"].get("nodeSelector") or {}
    if selector:
        notes = obj["metadata"]["annotations"] = obj["metadata"].get("annotations") or {}
        notes[NODE_SELECTOR_ANNOTATION] = msgspec.json.encode(selector).decode()
        del obj["spec"]["nodeSelector"]
    return selector


def put_selector_back(obj: JsonObject) -> None:
    """Restore the node selector from the annotation, in place."""
    notes: dict[str, Any] = obj["metadata"].get("annotations") or {}
    kept = notes.pop(NODE_SELECTOR_ANNOTATION, None)
    if kept is None:
        return
    if not notes:
        del obj["metadata"]["annotations"]
    try:
        obj["spec"]["nodeSelector"] = decode(kept.encode(), dict[str, str])
    except DecodeError:
        return  # a user has changed the annotation: nothing else has the selector
