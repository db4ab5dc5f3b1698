"""Many alarms on one clock: a heap and a single task, since a hundred thousand sleeping tasks would cost gigabytes."""

import asyncio
import heapq
import logging
from collections.abc import Callable
from itertools import count

from kohort.kube.clock import Clock

log = logging.getLogger(__name__)

Action = Callable[[], None]
_TIDY = 1024
"""Cancelled alarms are swept out when there are more than this, and more than others."""


class Alarm:
    """Something to be done at a time, unless it is cancelled before."""

    __slots__ = ("_action", "_timers")

    def __init__(self, action: Action, timers: "Timers") -> None:
        self._action: Action | None = action
        self._timers = timers

    @property
    def is_set(self) -> bool:
        """Whether it will still ring."""
        return self._action is not None

    def cancel(self) -> None:
        """Never ring."""
        if self._action is not None:
            self._action = None
            self._timers.let_go()

    def ring(self) -> None:
        """Do it, once."""
        action, self._action = self._action, None
        if action is not None:
            action()


class Timers:
    """All alarms of one owner; they ring between `start` and `stop`, in order of their time."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._order = count()
        self._heap: list[tuple[float, int, Alarm]] = []
        self._idle = 0
        self._task: asyncio.Task[None] | None = None
        self._running = False
        self._ringing = False

    def __len__(self) -> int:
        """How many alarms will ring."""
        return len(self._heap) - self._idle

    def start(self) -> None:
        """Let alarms ring from now on."""
        self._running = True
        self._restart()

    async def stop(self) -> None:
        """No alarm rings any more."""
        self._running = False
        self._heap.clear()
        self._idle = 0
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def after(self, seconds: float, action: Action) -> Alarm:
        """Have something done so many seconds from now; at once means in the next turn of the loop."""
        alarm = Alarm(action, self)
        entry = (self._clock.now() + max(0.0, seconds), next(self._order), alarm)
        heapq.heappush(self._heap, entry)
        if self._running and not self._ringing and (self._task is None or self._heap[0] is entry):
            self._restart()
        return alarm

    def let_go(self) -> None:
        """An alarm was cancelled; its place in the heap is freed when that is worth the walk."""
        self._idle += 1
        if self._idle > _TIDY and self._idle * 2 > len(self._heap):
            self._heap = [entry for entry in self._heap if entry[2].is_set]
            heapq.heapify(self._heap)
            self._idle = 0

    def _restart(self) -> None:
        if self._task is not None:
            self._task.cancel()
        self._task = asyncio.create_task(self._run()) if self._heap else None

    async def _run(self) -> None:
        while self._heap:
            await self._clock.sleep(self._heap[0][0] - self._clock.now())
            self._ringing = True
            self._ring_due()
            self._ringing = False
        self._task = None

    def _ring_due(self) -> None:
        # An action may set alarms; those of this very moment wait for the next round, so that others get their turn.
        now, last = self._clock.now(), next(self._order)
        while self._heap and self._heap[0][0] <= now and self._heap[0][1] < last:
            alarm = heapq.heappop(self._heap)[2]
            if not alarm.is_set:
                self._idle -= 1
                continue
            try:
                alarm.ring()
            except Exception:
                log.exception("an alarm failed")
