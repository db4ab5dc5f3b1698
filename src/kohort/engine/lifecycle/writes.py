"""Collects changes of a Workload into writes, each with its events."""

from dataclasses import dataclass, field
from enum import Enum

from kohort.api.kueue.v1beta2 import Workload
from kohort.engine.lifecycle.events import WorkloadChange, WorkloadEvent


class WriteTarget(Enum):
    """The target of a write: the API separates the status of an object from the rest (API-4)."""

    OBJECT = "object"
    STATUS = "status"
    DELETION = "deletion"


@dataclass(frozen=True, slots=True)
class WorkloadWrite:
    """One write to the API, and the events to send when it has succeeded."""

    part: WriteTarget
    workload: Workload
    events: tuple[WorkloadEvent, ...] = ()


@dataclass(slots=True)
class WorkloadWrites:
    """A Workload during some steps, and the writes that result."""

    workload: Workload
    writes: list[WorkloadWrite] = field(default_factory=list)

    def take(self, change: WorkloadChange) -> None:
        """Add a change; consecutive changes of the same part are one write."""
        before, self.workload = self.workload, change.workload
        if change.workload is before:
            return
        part = WriteTarget.OBJECT if change.workload.status is before.status else WriteTarget.STATUS
        earlier: tuple[WorkloadEvent, ...] = ()
        if self.writes and self.writes[-1].part is part:
            earlier = self.writes.pop().events
        self.writes.append(WorkloadWrite(part, change.workload, earlier + change.events))
