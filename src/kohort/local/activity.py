"""What goes on in the queues of a cluster, kept as it is seen: who waits, who runs, and what happened last.

Each change of a Workload costs the same however many there are, so that looking on never slows a cluster down.
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
    """Something that happened to a job."""

    at: datetime
    what: str
    role: Role
    job: str
    detail: str = ""

    def line(self) -> str:
        """As one line of text."""
        return f"{self.at.astimezone():%H:%M:%S} {self.what:<8} {self.job}{f': {self.detail}' if self.detail else ''}"


class QueueActivity:
    """Follows Workloads."""

    def __init__(self, tell: Callable[[ActivityEvent], None]) -> None:
        self.pending: dict[ObjectKey, Workload] = {}
        self.running: dict[ObjectKey, Workload] = {}
        self.happened: deque[ActivityEvent] = deque(maxlen=_REMEMBERED)
        """The newest last."""
        self._tell = tell
        self._is_following = False

    def follow(self) -> None:
        """From now on changes are news; what came before was there already."""
        self._is_following = True

    def see(self, old: Workload | None, new: Workload | None) -> None:
        """Take in what the watch shows of a Workload."""
        found = new or old
        assert found is not None  # noqa: S101 - a change is of something
        key = ObjectKey(found.metadata.namespace, found.metadata.name)
        self._sort(key, new)
        if self._is_following:
            for happening in _between(old, new):
                self.happened.append(happening)
                self._tell(happening)

    def remember(self, happening: ActivityEvent) -> None:
        """Something that happened beside the queues."""
        self.happened.append(happening)

    def _sort(self, key: ObjectKey, workload: Workload | None) -> None:
        place = None
        if workload is not None and not is_true(workload.status.conditions, "Finished"):
            place = self.running if is_true(workload.status.conditions, "Admitted") else self.pending
        for each in (self.pending, self.running):
            if each is not place:
                each.pop(key, None)
        if place is not None and workload is not None:
            place[key] = workload


def job_of(workload: Workload) -> str:
    """What people call it: its job, or itself where nobody owns it."""
    owner = next((each for each in workload.metadata.owner_references if each.controller), None)
    own = workload.metadata
    return f"{own.namespace}/{owner.name}" if owner is not None else f"{own.namespace}/{own.name}"


def _between(old: Workload | None, new: Workload | None) -> Iterator[ActivityEvent]:
    if new is None:
        if old is not None and not is_true(old.status.conditions, "Finished"):
            yield ActivityEvent(datetime.now(UTC), "deleted", Role.DIM, job_of(old))
        return
    if old is None:
        at = new.metadata.creation_timestamp or datetime.now(UTC)
        yield ActivityEvent(at, "queued", Role.PLAIN, job_of(new), f"queue {new.spec.queue_name or 'none'}")
    for condition in _turned_true(old, new):
        if condition.type == "Admitted":
            queue = new.status.admission.cluster_queue if new.status.admission else ""
            yield ActivityEvent(_at(condition), "admitted", Role.GOOD, job_of(new), f"by ClusterQueue {queue}")
        elif condition.type == "Evicted":
            why = short_reason(condition.message) or condition.reason
            yield ActivityEvent(_at(condition), "evicted", Role.WARN, job_of(new), why)
        elif condition.type == "Finished":
            failed = condition.reason == "Failed"
            what, role = ("failed", Role.BAD) if failed else ("finished", Role.GOOD)
            yield ActivityEvent(_at(condition), what, role, job_of(new), condition.message if failed else "")


def _turned_true(old: Workload | None, new: Workload) -> Iterator[Condition]:
    before = old.status.conditions if old is not None else ()
    for condition in new.status.conditions:
        was = find(before, condition.type)
        is_news = was is None or was.status != "True" or was.last_transition_time != condition.last_transition_time
        if condition.status == "True" and is_news:
            yield condition


def _at(condition: Condition) -> datetime:
    return condition.last_transition_time or datetime.now(UTC)


def why_waiting(workload: Workload) -> str:
    """What the manager last said about it, in short; empty before it was looked at."""
    found = find(workload.status.conditions, "QuotaReserved")
    return short_reason(found.message) if found is not None and found.status != "True" else ""
