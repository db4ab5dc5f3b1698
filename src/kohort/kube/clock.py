"""Injected time: everything in this package that waits uses a `Clock`, so that tests control time.

Durations use the monotonic clock; the wall clock is only for timestamps that users and API servers read.
"""

import asyncio
import heapq
import time
from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Clock(Protocol):
    """Reads the time, and sleeps."""

    def now(self) -> float:
        """Monotonic seconds from an arbitrary start."""
        ...

    def wall(self) -> datetime:
        """The wall-clock time in UTC."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class SystemClock:
    """The clock of the machine."""

    def now(self) -> float:
        """Seconds of the machine's monotonic clock."""
        return time.monotonic()

    def wall(self) -> datetime:
        """The machine's wall-clock time."""
        return datetime.now(UTC)

    async def sleep(self, seconds: float) -> None:
        """Sleep in real time."""
        await asyncio.sleep(max(0.0, seconds))


async def run_or_timeout(alarm: Coroutine[Any, Any, None], work: Coroutine[Any, Any, T]) -> T:
    """Await `work`; if `alarm` returns first, cancel it and raise TimeoutError."""
    doing, ringing = asyncio.ensure_future(work), asyncio.ensure_future(alarm)
    try:
        await asyncio.wait({doing, ringing}, return_when=asyncio.FIRST_COMPLETED)
        if not doing.done():
            raise TimeoutError
        return doing.result()
    finally:
        doing.cancel()
        ringing.cancel()
        await asyncio.gather(doing, ringing, return_exceptions=True)


async def within(clock: Clock, seconds: float, work: Coroutine[Any, Any, T]) -> T:
    """Await `work` for at most so many seconds of the clock; raises TimeoutError."""
    return await run_or_timeout(clock.sleep(seconds), work)


START = datetime(2026, 1, 1, tzinfo=UTC)
SETTLE_ROUNDS = 25
"""Event loop iterations before time advances: more than any chain of wake-ups in this package needs."""


class VirtualClock:
    """A clock that only `advance` moves; sleepers wake in order of time, then of arrival."""

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
    """Run all tasks that are ready."""
    for _ in range(SETTLE_ROUNDS):
        await asyncio.sleep(0)
