"""The scheduling queue: pending pods by priority, then by age; unschedulable pods wait for a relevant event.

Unschedulable pods with equal requirements form a group. An event reactivates only the first pod of a group and each
success the next, so that ten thousand pods waiting for one free slot cost one attempt.
"""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from heapq import heappop, heappush
from itertools import count
from typing import Final

from kohort.embedded.scheduler.cache import PodInfo
from kohort.embedded.scheduler.diagnosis import NO_CAUSE, UnschedulableCause
from kohort.embedded.scheduler.requirements import PodRequirements
from kohort.kube.backoff import Backoff

MAX_UNSCHEDULABLE_SECONDS: Final = 300.0
"""Seconds after which an unschedulable pod is retried even without an event."""
BACKOFF: Final = Backoff(base=1.0, cap=10.0, jitter=0.0)


class QueuedPodState(Enum):
    """State of a queued pod."""

    ACTIVE = auto()
    """Ready to be scheduled."""
    BACKING_OFF = auto()
    """Backing off after a failure; retried early when no other pod is ready."""
    FAILED = auto()
    """Backing off after an error, for the full duration."""
    UNSCHEDULABLE = auto()
    """No node fits; waits for a relevant event."""


@dataclass(slots=True, eq=False)
class QueuedPodInfo:
    """A pod in the queue."""

    pod: PodInfo
    order: int
    failures: int = 0
    until: float = 0.0
    """When the backoff ends."""
    state: QueuedPodState = QueuedPodState.ACTIVE
    since: float = 0.0
    """When the pod last failed."""
    entry_id: int = 0
    """Identifies the pod's valid heap entry."""


@dataclass(slots=True)
class _UnschedulableGroup:
    """Unschedulable pods with equal requirements, in order of failure."""

    pods: OrderedDict[str, QueuedPodInfo] = field(default_factory=OrderedDict)
    cause: UnschedulableCause = NO_CAUSE


class SchedulingQueue:
    """All pending pods; the caller passes the time."""

    def __init__(self) -> None:
        self._all: dict[str, QueuedPodInfo] = {}
        self._active: list[tuple[int, int, int, QueuedPodInfo]] = []
        self._backoffs: list[tuple[float, int, QueuedPodInfo]] = []
        self._early: list[tuple[int, int, int, QueuedPodInfo]] = []
        """Entries of `_backoffs` that may be retried early, in scheduling order."""
        self._unschedulable: dict[PodRequirements, _UnschedulableGroup] = {}
        self._counter = count(1)

    def __len__(self) -> int:
        return len(self._all)

    def __contains__(self, uid: str) -> bool:
        return uid in self._all

    def next_backoff_end(self) -> float | None:
        """When the next backoff ends; None if no pod is backing off."""
        self._drop_stale()
        return self._backoffs[0][0] if self._backoffs else None

    def add(self, pod: PodInfo) -> None:
        """Adds or updates a pod; it becomes active if its requirements changed."""
        existing = self._all.get(pod.uid)
        if existing is None:
            self._all[pod.uid] = queued = QueuedPodInfo(pod, next(self._counter))
            self._activate(queued)
        elif existing.pod.is_equivalent(pod):
            existing.pod = pod
        else:
            self._leave_unschedulable(existing)
            existing.pod = pod
            self._activate(existing)

    def remove(self, uid: str) -> None:
        """Removes a pod that is not to be scheduled any more."""
        existing = self._all.pop(uid, None)
        if existing is not None:
            self._leave_unschedulable(existing)
            existing.entry_id = 0

    def pop(self, now: float) -> QueuedPodInfo | None:
        """Removes and returns the next pod; it returns through `add_unschedulable` or `add_failed`."""
        self._flush_backoffs(now)
        queued = _pop_valid(self._active) or _pop_valid(self._early)
        if queued is not None:
            del self._all[queued.pod.uid]
            queued.entry_id = 0
        return queued

    def add_unschedulable(self, queued: QueuedPodInfo, cause: UnschedulableCause, now: float) -> None:
        """Requeues a pod that fits no node until a relevant event."""
        self._failed(queued, now)
        queued.state = QueuedPodState.UNSCHEDULABLE
        group = self._unschedulable.setdefault(queued.pod.requirements, _UnschedulableGroup())
        group.pods[queued.pod.uid] = queued
        group.cause |= cause

    def add_failed(self, queued: QueuedPodInfo, now: float) -> None:
        """Requeues a pod after an error; retried when its backoff ends."""
        self._failed(queued, now)
        queued.state = QueuedPodState.FAILED
        self._back_off(queued)

    def _failed(self, queued: QueuedPodInfo, now: float) -> None:
        queued.failures += 1
        queued.since = now
        queued.until = now + BACKOFF.steady(queued.failures)
        self._all[queued.pod.uid] = queued

    # Reactivation

    def unschedulable_requirements(self, causes: UnschedulableCause) -> Iterator[PodRequirements]:
        """The requirements of pods that are unschedulable for one of these causes."""
        return iter([requirements for requirements, group in self._unschedulable.items() if group.cause & causes])

    def reactivate(self, requirements: PodRequirements, now: float) -> None:
        """Reactivates the first pod with these requirements."""
        group = self._unschedulable.get(requirements)
        if group is not None:
            self._reactivate(next(iter(group.pods.values())), now)

    def reactivate_pod(self, uid: str, now: float) -> None:
        """Reactivates one unschedulable pod."""
        queued = self._all.get(uid)
        if queued is not None and queued.state is QueuedPodState.UNSCHEDULABLE:
            self._reactivate(queued, now)

    def flush_unschedulable(self, now: float) -> None:
        """Reactivates pods that have been unschedulable for too long, in case an event was missed."""
        firsts = [next(iter(group.pods.values())) for group in self._unschedulable.values()]
        for queued in firsts:
            if now - queued.since >= MAX_UNSCHEDULABLE_SECONDS:
                self._reactivate(queued, now)

    def _reactivate(self, queued: QueuedPodInfo, now: float) -> None:
        self._leave_unschedulable(queued)
        if queued.until > now:
            queued.state = QueuedPodState.BACKING_OFF
            self._back_off(queued)
        else:
            self._activate(queued)

    # Transitions

    def _activate(self, queued: QueuedPodInfo) -> None:
        queued.state = QueuedPodState.ACTIVE
        queued.entry_id = next(self._counter)
        heappush(self._active, _ranked(queued))

    def _back_off(self, queued: QueuedPodInfo) -> None:
        queued.entry_id = next(self._counter)
        heappush(self._backoffs, (queued.until, queued.entry_id, queued))
        if queued.state is QueuedPodState.BACKING_OFF:
            heappush(self._early, _ranked(queued))

    def _leave_unschedulable(self, queued: QueuedPodInfo) -> None:
        group = self._unschedulable.get(queued.pod.requirements)
        if group is not None and group.pods.pop(queued.pod.uid, None) is not None and not group.pods:
            del self._unschedulable[queued.pod.requirements]

    def _flush_backoffs(self, now: float) -> None:
        self._drop_stale()
        while self._backoffs and self._backoffs[0][0] <= now:
            self._activate(heappop(self._backoffs)[2])
            self._drop_stale()

    def _drop_stale(self) -> None:
        while self._backoffs and self._backoffs[0][2].entry_id != self._backoffs[0][1]:
            heappop(self._backoffs)


def _ranked(queued: QueuedPodInfo) -> tuple[int, int, int, QueuedPodInfo]:
    return -queued.pod.requirements.priority, queued.order, queued.entry_id, queued


def _pop_valid(heap: list[tuple[int, int, int, QueuedPodInfo]]) -> QueuedPodInfo | None:
    while heap:
        _, _, entry_id, queued = heappop(heap)
        if queued.entry_id == entry_id:
            return queued
    return None
