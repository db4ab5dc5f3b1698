"""The contract of a stand-in: a pure function from a job and its objects to the writes that bring both in line."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from kohort.api.codec import JsonObject
from kohort.api.kinds import PrinterColumn
from kohort.api.meta import ObjectKey
from kohort.api.resource import Resource
from kohort.jobs.contract import Framework
from kohort.jobs.objects import controller_owner, metadata
from kohort.kube.events import EventToRecord
from kohort.operators.objects import is_controlled_by


@dataclass(frozen=True, slots=True)
class ChildKind:
    """A kind of objects that a stand-in creates, and the labels of those that it watches."""

    resource: Resource
    labels: str = ""
    """Label selector; empty for all objects, of which those of other owners are ignored."""


@dataclass(frozen=True, slots=True)
class ChildPatch:
    """A merge patch of an object that the stand-in created."""

    child: JsonObject
    patch: JsonObject
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class ChildPlan:
    """The writes of one reconcile; executed in the order deletes, patches, creates, status."""

    status: JsonObject
    """The complete status of the job."""
    creates: Iterable[JsonObject] = ()
    """Complete objects, made one by one because a job may have very many; one that exists is not created again."""
    patches: Sequence[ChildPatch] = ()
    deletes: Sequence[JsonObject] = ()
    events: Sequence[EventToRecord] = ()
    """Events of the job, recorded once its status is written."""
    expires_at: datetime | None = None
    """When the job itself is deleted."""
    check_at: datetime | None = None
    """When the next reconcile is due without an event."""


class StandIn(ABC):
    """Creates the objects of one kind of jobs, and reports its status."""

    operator: str
    """Name of the operator, as in its documentation."""
    framework: Framework
    """The framework of the kind: resource, pod sets, the field that names another controller."""
    children: tuple[ChildKind, ...]
    spec: JsonObject
    """Schema of the fields of the spec that have an effect; every other field gets a Warning event."""
    columns: tuple[PrinterColumn, ...] = ()

    @property
    def resource(self) -> Resource:
        """The kind of the jobs."""
        return self.framework.resource

    def owner(self, child: JsonObject) -> ObjectKey | None:
        """The job of an object, by default the one that controls it; None if it has none.

        Events and caches are by this key; a plan must not rely on it, because users may set labels.
        """
        reference = controller_owner(child)
        if reference is None or reference.get("kind") != self.resource.kind:
            return None
        if str(reference.get("apiVersion", "")).partition("/")[0] != self.resource.group:
            return None
        return ObjectKey(metadata(child).get("namespace", ""), str(reference.get("name", "")))

    def owns(self, child: JsonObject, job: JsonObject) -> bool:
        """Whether an object of the caches belongs to this job, not to an earlier one of the same name."""
        return is_controlled_by(child, job)

    @abstractmethod
    def plan(self, job: JsonObject, children: Sequence[JsonObject], now: datetime) -> ChildPlan:
        """The writes for a job with these objects; must not change its arguments."""
