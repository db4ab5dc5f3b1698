"""Events of the core group and of events.k8s.io.

They are stored once, in the core form, and served in both.
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
"""Times that the newer form lacks; `kubectl get events --sort-by=.lastTimestamp` needs one."""
_CORE_NAMES = {new: core for core, new in _NEW_NAMES.items()}
_GROUP = "events.k8s.io"


def to_stored(resource: ServedResource, obj: Mapping[str, Any]) -> dict[str, Json]:
    """The object in its storage form; only Events of the newer group differ."""
    if resource.group != _GROUP:
        return dict(obj)
    stored = {_CORE_NAMES.get(name, name): value for name, value in obj.items()}
    return {**_TIMES, **stored, "apiVersion": "v1", "kind": "Event"}


def from_stored(resource: ServedResource, obj: Mapping[str, Any]) -> dict[str, Json]:
    """The object in the form of the requested group."""
    if resource.group != _GROUP:
        return dict(obj)
    served = {_NEW_NAMES.get(name, name): value for name, value in obj.items() if value != ""}
    return {**served, "apiVersion": resource.api_version, "kind": "Event"}
