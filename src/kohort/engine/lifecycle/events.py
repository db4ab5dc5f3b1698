"""Events as data, and a change of a Workload together with its events.

An event belongs to the change it reports: if writing the change fails, the event must not be sent.
"""

from dataclasses import dataclass

from kohort.api.conditions import truncate_note
from kohort.api.core.events import EventType
from kohort.api.kueue.v1beta2 import Workload


@dataclass(frozen=True, slots=True)
class WorkloadEvent:
    """One event about a Workload."""

    type: EventType
    reason: str
    note: str

    @property
    def action(self) -> str:
        """The action, in all these events the same as the reason."""
        return self.reason


def normal(reason: str, note: str) -> WorkloadEvent:
    """An event of type Normal, its note truncated to the length that the API allows (API-8)."""
    return WorkloadEvent("Normal", reason, truncate_note(note))


def warning(reason: str, note: str) -> WorkloadEvent:
    """An event of type Warning, its note truncated likewise (API-8)."""
    return WorkloadEvent("Warning", reason, truncate_note(note))


@dataclass(frozen=True, slots=True)
class WorkloadChange:
    """The result of a step; the same object and no events if nothing had to be done."""

    workload: Workload
    events: tuple[WorkloadEvent, ...] = ()
