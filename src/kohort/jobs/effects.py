"""The effects of a reconcile pass as data: writes, events and timings, in order.

The executor stops at the first failure, so an event after a write is recorded only if the write succeeded.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kohort.api.codec import JsonObject
from kohort.api.core.events import EventType
from kohort.api.core.objects import ObjectReference
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.meta import ObjectKey
from kohort.controllers import workload_events
from kohort.engine.lifecycle.writes import WriteTarget
from kohort.jobs.deprecation import deprecated_names
from kohort.kube.events import EventToRecord
from kohort.kube.options import DEFAULT_DELETION, DeletionOptions


@dataclass(frozen=True, slots=True)
class PatchObject:
    """Patch an object of a framework: only differences are sent, with the resourceVersion of `before` (JOB-54)."""

    before: JsonObject
    after: JsonObject
    part: WriteTarget = WriteTarget.OBJECT


@dataclass(frozen=True, slots=True)
class DeleteObject:
    """Delete an object of a framework."""

    obj: JsonObject
    how: DeletionOptions = DEFAULT_DELETION
    expected_by: str = ""
    """The job's key as text, under which the deletion is expected, so that nothing is deleted twice (JOB-27)."""


@dataclass(frozen=True, slots=True)
class CreateWorkload:
    """Create a Workload; an existing one of that name ends the pass (JOB-36, DEV-7)."""

    workload: Workload
    owner: JsonObject


@dataclass(frozen=True, slots=True)
class PatchWorkload:
    """Change a Workload: its metadata and spec, or its status."""

    before: Workload
    after: Workload
    manager: str
    part: WriteTarget = WriteTarget.STATUS


@dataclass(frozen=True, slots=True)
class DeleteWorkload:
    """Delete a Workload."""

    workload: Workload


@dataclass(frozen=True, slots=True)
class RecordEvent:
    """Record an event."""

    about: ObjectReference
    note: EventToRecord


@dataclass(frozen=True, slots=True)
class GateRemoved:
    """Observe the time between admission and removal of a pod's scheduling gate (section 11 of the metrics)."""

    gate: str
    workload: Workload


Effect = PatchObject | DeleteObject | CreateWorkload | PatchWorkload | DeleteWorkload | RecordEvent | GateRemoved


def record_event(obj: JsonObject, reason: str, message: str, kind: EventType = "Normal") -> RecordEvent:
    """An event about an object of a framework (§14)."""
    return RecordEvent(reference(obj), EventToRecord(kind, reason, message))


def reference(obj: JsonObject) -> ObjectReference:
    """The object reference of an object of a framework."""
    metadata = obj.get("metadata", {})
    return ObjectReference(
        api_version=obj.get("apiVersion", ""),
        kind=obj.get("kind", ""),
        namespace=metadata.get("namespace", ""),
        name=metadata.get("name", ""),
        uid=metadata.get("uid", ""),
    )


workload_reference = workload_events.reference
"""The object reference of a Workload."""


def key_of(obj: JsonObject) -> ObjectKey:
    """Namespace and name of an object of a framework."""
    metadata = obj.get("metadata", {})
    return ObjectKey(metadata.get("namespace", ""), metadata.get("name", ""))


if not TYPE_CHECKING:
    # Hidden from type checkers, which would accept any name otherwise.
    __getattr__ = deprecated_names(__name__, {"tell": "record_event", "Tell": "RecordEvent", "Object": "JsonObject"})
