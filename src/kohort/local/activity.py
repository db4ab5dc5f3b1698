"""Tracks pending and running Workloads of a cluster and their latest events.

The cost of a change does not depend on the number of Workloads, so that a view never slows a cluster down.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from kohort.api.conditions import find, is_true
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.meta import Condition, ObjectKey
from kohort.insight.reasons import short_reason
from kohort.terminal.style import Role

_REMEMBERED: Final = 100


@dataclass(frozen=True, slots=True)
class ActivityEvent:
    """An event in the life cycle of a job."""

    at: datetime
    what: str
    role: Role
    job: str
    detail: str = ""

    def line(self) -> str:
        """The event as one line of text."""
        return f"{self.at.astimezone():%H:%M:%S} {self.what:<8} {self.job}{f': {self.detail}' if self.detail else ''}"


class QueueActivity:
    """Pending and running Workloads, and the latest events."""

    def __init__(self, report: Callable[[ActivityEvent], None]) -> None:
        self.pending: dict[ObjectKey, Workload] = {}
        self.running: dict[ObjectKey, Workload] = {}
        self.events: deque[ActivityEvent] = deque(maxlen=_REMEMBERED)
        """The newest last."""
        self._report = report
        self._is_following = False

    def follow(self) -> None:
        """Report changes from now on; Workloads observed before existed already."""
        self._is_following = True

    def observe(self, old: Workload | None, new: Workload | None) -> None:
        """Handle a watch event of a Workload."""
        found = new or old
        assert found is not None  # noqa: S101 - one of both is set
        key = ObjectKey(found.metadata.namespace, found.metadata.name)
        self._sort(key, new)
        if self._is_following:
            for event in _between(old, new):
                self.events.append(event)
                self._report(event)

    def add_event(self, event: ActivityEvent) -> None:
        """Record an event that is not about a Workload."""
        self.events.append(event)

    def _sort(self, key: ObjectKey, workload: Workload | None) -> None:
        target = None
        if workload is not None and not is_true(workload.status.conditions, "Finished"):
            target = self.running if is_true(workload.status.conditions, "Admitted") else self.pending
        for each in (self.pending, self.running):
            if each is not target:
                each.pop(key, None)
        if target is not None and workload is not None:
            target[key] = workload


def job_name(workload: Workload) -> str:
    """Namespace and name of the job; of the Workload if it has no owner."""
    owner = next((each for each in workload.metadata.owner_references if each.controller), None)
    own = workload.metadata
    return f"{own.namespace}/{owner.name}" if owner is not None else f"{own.namespace}/{own.name}"


def _between(old: Workload | None, new: Workload | None) -> Iterator[ActivityEvent]:
    if new is None:
        if old is not None and not is_true(old.status.conditions, "Finished"):
            yield ActivityEvent(datetime.now(UTC), "deleted", Role.DIM, job_name(old))
        return
    if old is None:
        at = new.metadata.creation_timestamp or datetime.now(UTC)
        yield ActivityEvent(at, "queued", Role.PLAIN, job_name(new), f"queue {new.spec.queue_name or 'none'}")
    for condition in _turned_true(old, new):
        if condition.type == "Admitted":
            queue = new.status.admission.cluster_queue if new.status.admission else ""
            yield ActivityEvent(_at(condition), "admitted", Role.GOOD, job_name(new), f"by ClusterQueue {queue}")
        elif condition.type == "Evicted":
            why = short_reason(condition.message) or condition.reason
            yield ActivityEvent(_at(condition), "evicted", Role.WARN, job_name(new), why)
        elif condition.type == "Finished":
            failed = condition.reason == "Failed"
            what, role = ("failed", Role.BAD) if failed else ("finished", Role.GOOD)
            yield ActivityEvent(_at(condition), what, role, job_name(new), condition.message if failed else "")


def _turned_true(old: Workload | None, new: Workload) -> Iterator[Condition]:
    before = old.status.conditions if old is not None else ()
    for condition in new.status.conditions:
        was = find(before, condition.type)
        is_new = was is None or was.status != "True" or was.last_transition_time != condition.last_transition_time
        if condition.status == "True" and is_new:
            yield condition


def _at(condition: Condition) -> datetime:
    return condition.last_transition_time or datetime.now(UTC)


def pending_reason(workload: Workload) -> str:
    """The latest pending message in short form; empty before the first evaluation."""
    found = find(workload.status.conditions, "QuotaReserved")
    return short_reason(found.message) if found is not None and found.status != "True" else ""
