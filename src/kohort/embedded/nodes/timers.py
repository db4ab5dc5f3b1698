"""Many timers on one clock: a heap and a single task, since a hundred thousand sleeping tasks would cost gigabytes."""

import asyncio
import heapq
import logging
from collections.abc import Callable
from itertools import count

from kohort.kube.clock import Clock

log = logging.getLogger(__name__)

_Callback = Callable[[], None]
_COMPACT_THRESHOLD = 1024
"""Minimum number of cancelled timers that triggers their removal."""


class Timer:
    """A callback at a time, unless cancelled before."""

    __slots__ = ("_callback", "_timers")

    def __init__(self, callback: _Callback, timers: "Timers") -> None:
        self._callback: _Callback | None = callback
        self._timers = timers

    @property
    def is_set(self) -> bool:
        """Whether it will still fire."""
        return self._callback is not None

    def cancel(self) -> None:
        """Cancels the timer."""
        if self._callback is not None:
            self._callback = None
            self._timers.discard()

    def fire(self) -> None:
        """Fires once."""
        callback, self._callback = self._callback, None
        if callback is not None:
            callback()


class Timers:
    """All timers of one owner; they fire between `start` and `stop`, in order of their time."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._order = count()
        self._heap: list[tuple[float, int, Timer]] = []
        self._idle = 0
        self._task: asyncio.Task[None] | None = None
        self._running = False
        self._firing = False

    def __len__(self) -> int:
        """Number of active timers."""
        return len(self._heap) - self._idle

    def start(self) -> None:
        """Starts firing timers."""
        self._running = True
        self._restart()

    async def stop(self) -> None:
        """Stops firing timers."""
        self._running = False
        self._heap.clear()
        self._idle = 0
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def after(self, seconds: float, callback: _Callback) -> Timer:
        """Schedules a callback; zero seconds means the next iteration of the event loop."""
        timer = Timer(callback, self)
        entry = (self._clock.now() + max(0.0, seconds), next(self._order), timer)
        heapq.heappush(self._heap, entry)
        if self._running and not self._firing and (self._task is None or self._heap[0] is entry):
            self._restart()
        return timer

    def discard(self) -> None:
        """Counts a cancelled timer and compacts the heap when worthwhile."""
        self._idle += 1
        if self._idle > _COMPACT_THRESHOLD and self._idle * 2 > len(self._heap):
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
            self._firing = True
            self._fire_due()
            self._firing = False
        self._task = None

    def _fire_due(self) -> None:
        # Callbacks may set timers; those due now wait for the next iteration, so that other tasks can run.
        now, last = self._clock.now(), next(self._order)
        while self._heap and self._heap[0][0] <= now and self._heap[0][1] < last:
            timer = heapq.heappop(self._heap)[2]
            if not timer.is_set:
                self._idle -= 1
                continue
            try:
                timer.fire()
            except Exception:
                log.exception("timer callback failed")
