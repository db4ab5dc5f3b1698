"""Rate-limited work queue with priorities: a key is queued at most once, and never processed concurrently.

Level-triggered: a key carries no information on changes. A key that is added while it is processed is queued again
after.
"""

import asyncio
import heapq
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Generic, TypeVar

from kohort.kube.backoff import Backoff
from kohort.kube.clock import Clock
from kohort.kube.metrics import NO_METRICS, MetricLabels, MetricsSink
from kohort.kube.rate_limiter import TokenBucket

K = TypeVar("K")


class ShutDownError(Exception):
    """The queue is shut down."""


@dataclass(frozen=True, slots=True)
class RetryLimits:
    """Rate limits of retries, per key and overall."""

    backoff: Backoff = field(default=Backoff(base=0.005, cap=300.0, jitter=0.0))
    rate: float = 10.0
    burst: int = 100


DEFAULT_RETRY_LIMITS = RetryLimits()


@dataclass(slots=True)
class _Waiting:
    """A queued key: its priority, and since when."""

    priority: int
    since: float


class WorkQueue(Generic[K]):
    """A queue of keys for a number of workers."""

    def __init__(
        self,
        clock: Clock,
        name: str = "",
        limits: RetryLimits = DEFAULT_RETRY_LIMITS,
        metrics: MetricsSink = NO_METRICS,
    ) -> None:
        self._clock = clock
        self._labels: MetricLabels = {"queue": name}
        self._metrics = metrics
        self._backoff = limits.backoff
        self._bucket = TokenBucket(clock, limits.rate, limits.burst)
        self._order = count()
        self._waiting: dict[K, _Waiting] = {}
        self._heap: list[tuple[int, int, K]] = []
        self._running: dict[K, _Waiting | None] = {}
        self._delayed = _Delayed[K](clock, self.add)
        self._failures: dict[K, int] = {}
        self._idle: deque[asyncio.Future[None]] = deque()
        """Idle workers; each key wakes one of them."""
        self._closed = False

    def __len__(self) -> int:
        """The number of queued keys."""
        return len(self._waiting)

    @property
    def delayed(self) -> int:
        """The number of keys with a delay."""
        return len(self._delayed)

    @property
    def in_flight(self) -> int:
        """The number of keys that are being processed."""
        return len(self._running)

    def add(self, key: K, priority: int = 0) -> None:
        """Queue a key, higher priorities first; a queued key keeps the higher priority."""
        if self._closed:
            return
        if key in self._running:
            self._running[key] = self._joined(self._running[key], priority)
            return
        before = self._waiting.get(key)
        self._waiting[key] = now = self._joined(before, priority)
        if before is None or now.priority > before.priority:
            heapq.heappush(self._heap, (-now.priority, next(self._order), key))
        if before is None:
            self._wake_one()

    def add_after(self, key: K, seconds: float, priority: int = 0) -> None:
        """Queue a key after a delay; of several delays the earliest counts."""
        if seconds <= 0:
            self.add(key, priority)
        elif not self._closed:
            self._delayed.add(key, seconds, priority)

    def retry(self, key: K, priority: int = 0) -> float:
        """Queue a key after a failure, with backoff; returns the delay."""
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        wait = max(self._backoff.steady(failures), self._bucket.reserve())
        self._metrics.count("workqueue_retries", self._labels)
        self.add_after(key, wait, priority)
        return wait

    def forget(self, key: K) -> None:
        """Reset the backoff of a key after success."""
        self._failures.pop(key, None)

    async def get(self) -> K:
        """The next key; the caller processes it and calls `done`. Raises ShutDownError when the queue is shut down."""
        while True:
            if self._closed:
                raise ShutDownError
            if self._waiting:
                return self._take()
            await self._woken()

    def done(self, key: K) -> None:
        """Mark a key as processed; if it was added meanwhile, it is queued now."""
        again = self._running.pop(key, None)
        if again is not None:
            self.add(key, again.priority)

    def shut_down(self) -> None:
        """Return and accept no more keys; keys in flight stay with their workers."""
        self._closed = True
        self._delayed.stop()
        self._waiting.clear()
        self._heap.clear()
        while self._idle:
            self._wake_one()

    async def _woken(self) -> None:
        """Wait for a key; if the worker is cancelled just when it was woken, another one is woken."""
        idle = asyncio.get_running_loop().create_future()
        self._idle.append(idle)
        try:
            await idle
        except asyncio.CancelledError:
            if not idle.cancelled():
                self._wake_one()
            elif idle in self._idle:
                self._idle.remove(idle)
            raise

    def _wake_one(self) -> None:
        while self._idle:
            idle = self._idle.popleft()
            if not idle.done():
                idle.set_result(None)
                return

    def _joined(self, before: _Waiting | None, priority: int) -> _Waiting:
        if before is None:
            return _Waiting(priority, self._clock.now())
        return _Waiting(max(before.priority, priority), before.since)

    def _take(self) -> K:
        while True:
            negative, _, key = heapq.heappop(self._heap)
            waiting = self._waiting.get(key)
            if waiting is not None and waiting.priority == -negative:
                del self._waiting[key]
                self._running[key] = None
                self._metrics.observe("workqueue_wait_seconds", self._clock.now() - waiting.since, self._labels)
                return key


class _Delayed(Generic[K]):
    """Keys with a delay, and a task that waits for the next of them."""

    def __init__(self, clock: Clock, release: Callable[[K, int], None]) -> None:
        self._clock = clock
        self._release = release
        self._order = count()
        self._due: dict[K, tuple[float, int]] = {}
        self._heap: list[tuple[float, int, K]] = []
        self._timer: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._due)

    def add(self, key: K, seconds: float, priority: int) -> None:
        due = self._clock.now() + seconds
        before = self._due.get(key)
        if before is not None:
            priority = max(priority, before[1])
            due = min(due, before[0])
        self._due[key] = (due, priority)
        heapq.heappush(self._heap, (due, next(self._order), key))
        if self._heap[0][2] == key or self._timer is None:
            self._restart()

    def stop(self) -> None:
        self._due.clear()
        self._heap.clear()
        self._cancel()

    def _restart(self) -> None:
        self._cancel()
        self._timer = asyncio.create_task(self._run())

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def _run(self) -> None:
        while self._heap:
            await self._clock.sleep(self._heap[0][0] - self._clock.now())
            self._release_due()
        self._timer = None

    def _release_due(self) -> None:
        while self._heap and self._heap[0][0] <= self._clock.now():
            due, _, key = heapq.heappop(self._heap)
            wanted = self._due.get(key)
            if wanted is not None and wanted[0] == due:
                del self._due[key]
                self._release(key, wanted[1])
