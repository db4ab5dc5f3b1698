"""Pods that wait for a node: by priority, then by time; those that found none rest until something happens for them.

Equal pods rest together. What happens wakes only the first of them, and each success wakes the next: ten thousand that
wait for one place cost one look, not ten thousand.
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

PATIENCE: Final = 300.0
"""Seconds after which a pod is looked at again though nothing seems to have happened for it."""
BACKOFF: Final = Backoff(base=1.0, cap=10.0, jitter=0.0)


class QueuedPodState(Enum):
    """Where a waiting pod is."""

    ACTIVE = auto()
    """It is to be placed as soon as its turn comes."""
    PAUSED = auto()
    """It failed not long ago; it is tried early when nobody else is."""
    HELD = auto()
    """Something went wrong with it; it waits for its full time."""
    RESTING = auto()
    """No node took it; it waits for something to happen."""


@dataclass(slots=True, eq=False)
class QueuedPodInfo:
    """A pod in the queue."""

    pod: PodInfo
    order: int
    failures: int = 0
    until: float = 0.0
    """When its pause is over."""
    stand: QueuedPodState = QueuedPodState.ACTIVE
    since: float = 0.0
    """When it came to where it is."""
    ticket: int = 0
    """Which entry of a heap is the valid one."""


@dataclass(slots=True)
class _Resting:
    """Equal pods that no node took, in the order in which they came to rest."""

    pods: OrderedDict[str, QueuedPodInfo] = field(default_factory=OrderedDict)
    cause: UnschedulableCause = NO_CAUSE


class SchedulingQueue:
    """All pods that are to be placed. Knows no clock: whoever asks says what time it is."""

    def __init__(self) -> None:
        self._all: dict[str, QueuedPodInfo] = {}
        self._active: list[tuple[int, int, int, QueuedPodInfo]] = []
        self._pauses: list[tuple[float, int, QueuedPodInfo]] = []
        self._early: list[tuple[int, int, int, QueuedPodInfo]] = []
        """Those of them that may come early, in the order of active ones."""
        self._resting: dict[PodRequirements, _Resting] = {}
        self._counter = count(1)

    def __len__(self) -> int:
        return len(self._all)

    def __contains__(self, uid: str) -> bool:
        return uid in self._all

    def next_time(self) -> float | None:
        """When the next pause ends; None when nobody pauses."""
        self._drop_stale()
        return self._pauses[0][0] if self._pauses else None

    def add(self, pod: PodInfo) -> None:
        """A pod came, or changed; one that changed in what it asks for is tried anew."""
        known = self._all.get(pod.uid)
        if known is None:
            self._all[pod.uid] = waiting = QueuedPodInfo(pod, next(self._counter))
            self._activate(waiting)
        elif known.pod.counts_as(pod):
            known.pod = pod
        else:
            self._leave_rest(known)
            known.pod = pod
            self._activate(known)

    def remove(self, uid: str) -> None:
        """A pod is not to be placed any more."""
        known = self._all.pop(uid, None)
        if known is not None:
            self._leave_rest(known)
            known.ticket = 0

    def pop(self, now: float) -> QueuedPodInfo | None:
        """The next to be placed; it leaves the queue, and comes back by `rest` or `hold`."""
        self._end_pauses(now)
        waiting = _pop_valid(self._active) or _pop_valid(self._early)
        if waiting is not None:
            del self._all[waiting.pod.uid]
            waiting.ticket = 0
        return waiting

    def rest(self, waiting: QueuedPodInfo, cause: UnschedulableCause, now: float) -> None:
        """No node took it: let it rest until something happens."""
        self._failed(waiting, now)
        waiting.stand = QueuedPodState.RESTING
        group = self._resting.setdefault(waiting.pod.demand, _Resting())
        group.pods[waiting.pod.uid] = waiting
        group.cause |= cause

    def hold(self, waiting: QueuedPodInfo, now: float) -> None:
        """Something went wrong with it: try it again after its pause, not earlier."""
        self._failed(waiting, now)
        waiting.stand = QueuedPodState.HELD
        self._pause(waiting)

    def _failed(self, waiting: QueuedPodInfo, now: float) -> None:
        waiting.failures += 1
        waiting.since = now
        waiting.until = now + BACKOFF.steady(waiting.failures)
        self._all[waiting.pod.uid] = waiting

    # Waking

    def resting(self, causes: UnschedulableCause) -> Iterator[PodRequirements]:
        """The shapes of pods that rest for one of these causes."""
        return iter([demand for demand, group in self._resting.items() if group.cause & causes])

    def wake(self, demand: PodRequirements, now: float) -> None:
        """Something happened that may help pods of this shape: let the first of them try."""
        group = self._resting.get(demand)
        if group is not None:
            self._wake(next(iter(group.pods.values())), now)

    def wake_pod(self, uid: str, now: float) -> None:
        """Something happened that may help this very pod."""
        waiting = self._all.get(uid)
        if waiting is not None and waiting.stand is QueuedPodState.RESTING:
            self._wake(waiting, now)

    def wake_impatient(self, now: float) -> None:
        """Let those try again that have rested for very long, in case a sign was missed."""
        firsts = [next(iter(group.pods.values())) for group in self._resting.values()]
        for waiting in firsts:
            if now - waiting.since >= PATIENCE:
                self._wake(waiting, now)

    def _wake(self, waiting: QueuedPodInfo, now: float) -> None:
        self._leave_rest(waiting)
        if waiting.until > now:
            waiting.stand = QueuedPodState.PAUSED
            self._pause(waiting)
        else:
            self._activate(waiting)

    # Where they are

    def _activate(self, waiting: QueuedPodInfo) -> None:
        waiting.stand = QueuedPodState.ACTIVE
        waiting.ticket = next(self._counter)
        heappush(self._active, _ranked(waiting))

    def _pause(self, waiting: QueuedPodInfo) -> None:
        waiting.ticket = next(self._counter)
        heappush(self._pauses, (waiting.until, waiting.ticket, waiting))
        if waiting.stand is QueuedPodState.PAUSED:
            heappush(self._early, _ranked(waiting))

    def _leave_rest(self, waiting: QueuedPodInfo) -> None:
        group = self._resting.get(waiting.pod.demand)
        if group is not None and group.pods.pop(waiting.pod.uid, None) is not None and not group.pods:
            del self._resting[waiting.pod.demand]

    def _end_pauses(self, now: float) -> None:
        self._drop_stale()
        while self._pauses and self._pauses[0][0] <= now:
            self._activate(heappop(self._pauses)[2])
            self._drop_stale()

    def _drop_stale(self) -> None:
        while self._pauses and self._pauses[0][2].ticket != self._pauses[0][1]:
            heappop(self._pauses)


def _ranked(waiting: QueuedPodInfo) -> tuple[int, int, int, QueuedPodInfo]:
    return -waiting.pod.demand.priority, waiting.order, waiting.ticket, waiting


def _pop_valid(heap: list[tuple[int, int, int, QueuedPodInfo]]) -> QueuedPodInfo | None:
    while heap:
        _, _, ticket, waiting = heappop(heap)
        if waiting.ticket == ticket:
            return waiting
    return None
