"""Time, injected: everything here that waits asks a `Clock`, so that tests move time by hand.

Durations are measured on the monotonic side; the wall clock is only for what people and API servers read.
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
    """What tells the time and waits."""

    def now(self) -> float:
        """Seconds that never run backwards, from an arbitrary start."""
        ...

    def wall(self) -> datetime:
        """The time of day, in UTC."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> float:
        """Seconds of the machine's monotonic clock."""
        return time.monotonic()

    def wall(self) -> datetime:
        """The machine's time of day."""
        return datetime.now(UTC)

    async def sleep(self, seconds: float) -> None:
        """Wait in real time."""
        await asyncio.sleep(max(0.0, seconds))


async def run_or_timeout(alarm: Coroutine[Any, Any, None], work: Coroutine[Any, Any, T]) -> T:
    """Do the work; when the alarm returns first, cancel it and raise TimeoutError."""
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
    """Do the work in so many seconds of a clock, or raise TimeoutError."""
    return await run_or_timeout(clock.sleep(seconds), work)


START = datetime(2026, 1, 1, tzinfo=UTC)
SETTLE_ROUNDS = 25
"""Turns of the event loop before time moves on: more than any chain of wake-ups here needs."""


class VirtualClock:
    """A clock that moves only when told; sleepers wake in the order of their time, then of their coming."""

    def __init__(self, start: datetime = START) -> None:
        self._start = start
        self._now = 0.0
        self._order = count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    def now(self) -> float:
        """Seconds advanced so far."""
        return self._now

    def wall(self) -> datetime:
        """The start, and what has been advanced since."""
        return self._start + timedelta(seconds=self._now)

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock has been moved far enough."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        awake = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._now + seconds, next(self._order), awake))
        await awake

    async def advance(self, seconds: float) -> None:
        """Move time on; whoever wakes on the way runs at its own moment."""
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
        """How many wait for time to pass."""
        return sum(not sleeper.done() for _, _, sleeper in self._sleepers)


async def settle() -> None:
    """Let every task run that can."""
    for _ in range(SETTLE_ROUNDS):
        await asyncio.sleep(0)
