"""Waiting in tests: a clock that tests advance, and conditions that are met after a while of real time."""

import asyncio
import heapq
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import TypeVar

TIMEOUT = 60.0
INTERVAL = 0.01

T = TypeVar("T")
START = datetime(2026, 1, 1, tzinfo=UTC)
SETTLE_ROUNDS = 25
"""Most event loop iterations before time advances: more than any chain of callbacks in `kohort.kube` needs."""
IDLE_ROUNDS = 2
"""Iterations without a callback after which nothing is ready: what a task has written to a socket is read one later."""
OWN_THREADS = threading.active_count()
"""Threads of the test runner. While there are others, they may have results for the event loop at any time."""


class VirtualClock:
    """A clock that only `advance` moves; sleepers resume in order of time, then of arrival."""

    def __init__(self, start: datetime = START) -> None:
        self._start = start
        self._now = 0.0
        self._order = count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    def now(self) -> float:
        """Seconds advanced so far."""
        return self._now

    def wall(self) -> datetime:
        """The start time plus the seconds advanced."""
        return self._start + timedelta(seconds=self._now)

    async def sleep(self, seconds: float) -> None:
        """Sleep until the clock has advanced far enough."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        awake = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._now + seconds, next(self._order), awake))
        await awake

    async def advance(self, seconds: float) -> None:
        """Advance time; each sleeper that is due runs at its own time."""
        end = self._now + seconds
        await settle()
        while self._sleepers and self._sleepers[0][0] <= end:
            moment, _, sleeper = heapq.heappop(self._sleepers)
            if sleeper.done():
                continue
            self._now = max(self._now, moment)
            sleeper.set_result(None)
            await settle()
        self._now = max(self._now, end)

    @property
    def sleepers(self) -> int:
        """The number of sleepers."""
        return sum(not sleeper.done() for _, _, sleeper in self._sleepers)


async def settle() -> None:
    """Run all tasks that are ready.

    Event loops have no public way to find out that none is. Iterations with nothing to do cost more than the others.
    """
    ready = asyncio.get_running_loop()._ready  # type: ignore[attr-defined]
    idle = 0
    for _ in range(SETTLE_ROUNDS):
        await asyncio.sleep(0)
        idle = 0 if ready or threading.active_count() > OWN_THREADS else idle + 1
        if idle == IDLE_ROUNDS:
            return


@asynccontextmanager
async def running_virtual_time(clock: VirtualClock) -> AsyncIterator[None]:
    """Advances a virtual clock until the context exits: to stop a component, for example, that waits for a response."""

    async def advance() -> None:
        while True:
            await clock.advance(1.0)

    task = asyncio.create_task(advance())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def eventually(
    observe: Callable[[], Awaitable[T]],
    is_met: Callable[[T], object] = bool,
    description: str = "condition not met",
    timeout: float = TIMEOUT,
) -> T:
    """The first observation that meets a condition; fails with the last one."""
    observed = await observe()
    try:
        async with asyncio.timeout(timeout):
            while not is_met(observed):
                await asyncio.sleep(INTERVAL)
                observed = await observe()
    except TimeoutError:
        raise AssertionError(f"{description}: still {observed}") from None
    return observed


async def eventually_true(condition: Callable[[], object], timeout: float = TIMEOUT) -> None:
    """Return once a condition holds; fail on a timeout."""

    async def observe() -> object:
        return condition()

    await eventually(observe, timeout=timeout)


def wait_until_true(condition: Callable[[], object], timeout: float = TIMEOUT) -> None:
    """The same without an event loop."""
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end, "condition not met"
        time.sleep(INTERVAL)
