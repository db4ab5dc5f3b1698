"""Events have two shapes, the core group's and that of events.k8s.io.

They are stored once, in the core shape, and served in both.
"""

from collections.abc import Mapping
from typing import Any

from kohort.api.codec import Json
from kohort.embedded.resources import ServedResource

_NEW_NAMES = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
_TIMES = {"firstTimestamp": None, "lastTimestamp": None}
"""What the newer shape does not tell; `kubectl get events --sort-by=.lastTimestamp` finds no event without it."""
_CORE_NAMES = {new: core for core, new in _NEW_NAMES.items()}
_GROUP = "events.k8s.io"


def to_stored(resource: ServedResource, obj: Mapping[str, Any]) -> dict[str, Json]:
    """The object as the store keeps it; of the built-in kinds only the newer Events differ."""
    if resource.group != _GROUP:
        return dict(obj)
    stored = {_CORE_NAMES.get(name, name): value for name, value in obj.items()}
    return {**_TIMES, **stored, "apiVersion": "v1", "kind": "Event"}


def from_stored(resource: ServedResource, obj: Mapping[str, Any]) -> dict[str, Json]:
    """The object in the shape of the group it was asked from."""
    if resource.group != _GROUP:
        return dict(obj)
    served = {_NEW_NAMES.get(name, name): value for name, value in obj.items() if value != ""}
    return {**served, "apiVersion": resource.api_version, "kind": "Event"}
