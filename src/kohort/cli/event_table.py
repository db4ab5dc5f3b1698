"""Events as table rows: filters, timestamps and columns. Pure."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from kohort.api.core.batch import Job
from kohort.api.core.events import Event
from kohort.api.core.pods import Pod
from kohort.api.times import format_time, parse_time
from kohort.cli.targets import QUEUED, CommandTarget
from kohort.terminal.ages import age
from kohort.terminal.style import Role, Text
from kohort.terminal.tables import Column, Row, numbers

KUEUE_GROUP: Final = "kueue.x-k8s.io/"
NEVER: Final = datetime.min.replace(tzinfo=UTC)

Concerns = Callable[[Event], bool]


def is_from_manager(event: Event) -> bool:
    """Whether Kohort or Kueue reported the event, or it regards one of Kueue's kinds."""
    return "kueue" in reporter(event) or event.regarding.api_version.startswith(KUEUE_GROUP)


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Selects the events of a job, its Workloads and its pods, including deleted pods."""

    names: frozenset[tuple[str, str]]
    """Kind and name."""
    made: tuple[tuple[str, re.Pattern[str]], ...] = ()
    """Kinds and name patterns of objects created for it."""

    @classmethod
    def target(cls, target: CommandTarget) -> "EventFilter":
        """The filter of a target."""
        objects = {(member.resource.kind, member.name) for member in target.members}
        workloads = {("Workload", each.metadata.name) for each in target.workloads}
        pods = (_pods(target.job.name),) if target.job.resource == Job.resource else ()
        return cls(frozenset(objects | workloads), pods)

    @classmethod
    def gone(cls, name: str) -> "EventFilter":
        """The filter of a deleted job, by name patterns."""
        workload = "Workload", re.compile(rf"[a-z]+-{re.escape(name)}-[0-9a-f]{{5}}")
        return cls(frozenset((resource.kind, name) for resource in QUEUED), (_pods(name), workload))

    def __call__(self, event: Event) -> bool:
        """Whether an event regards it."""
        about = event.regarding
        if (about.kind, about.name) in self.names:
            return True
        return any(about.kind == kind and names.fullmatch(about.name) for kind, names in self.made)


def _pods(job: str) -> tuple[str, re.Pattern[str]]:
    return Pod.resource.kind, re.compile(rf"{re.escape(job)}-([0-9]+-)?[a-z0-9]{{5}}")


def reporter(event: Event) -> str:
    """The reporting component, in either form."""
    return event.reporting_controller or event.deprecated_source.component


def last_seen(event: Event) -> datetime:
    """The time of the last occurrence, in either form."""
    if event.series is not None and event.series.last_observed_time:
        return parse_time(event.series.last_observed_time)
    if event.event_time:
        return parse_time(event.event_time)
    return event.deprecated_last_timestamp or event.metadata.creation_timestamp or NEVER


def times(event: Event) -> int:
    """The number of occurrences."""
    return max(1, event.series.count if event.series is not None else event.deprecated_count)


def in_order(events: Iterable[Event]) -> list[Event]:
    """Events sorted by time, oldest first."""
    return sorted(events, key=lambda event: (last_seen(event), event.metadata.resource_version))


@dataclass(frozen=True, slots=True)
class EventTableLayout:
    """Which columns are shown."""

    has_namespace: bool = False
    is_wide: bool = False

    def columns(self) -> list[Column]:
        """The columns, as kubectl has them."""
        found = [Column(name) for name in ("LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE")]
        if self.is_wide:
            found[4:4] = [numbers("COUNT"), Column("FROM")]
        return [Column("NAMESPACE"), *found] if self.has_namespace else found

    def row(self, event: Event, now: datetime) -> Row:
        """The cells of an event."""
        about = event.regarding
        role = Role.WARN if event.type == "Warning" else Role.PLAIN
        cells: list[str | Text] = [
            age(last_seen(event), now),
            Text(event.type, role),
            Text(event.reason, role),
            f"{about.kind.lower()}/{about.name}",
            " ".join(event.note.split()),
        ]
        if self.is_wide:
            cells[4:4] = [str(times(event)), reporter(event)]
        return [about.namespace, *cells] if self.has_namespace else cells


def record(event: Event) -> dict[str, object]:
    """An event as JSON."""
    about = event.regarding
    return {
        "lastSeen": format_time(last_seen(event)),
        "type": event.type,
        "reason": event.reason,
        "object": {"kind": about.kind, "namespace": about.namespace, "name": about.name},
        "message": event.note,
        "count": times(event),
        "from": reporter(event),
    }
