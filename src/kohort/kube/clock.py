"""Injected time: everything in this package that waits uses a `Clock`, so that tests control time.

Durations use the monotonic clock; the wall clock is only for timestamps that users and API servers read.
"""

import asyncio
import time
from collections.abc import Coroutine
from datetime import UTC, datetime
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
