"""The time of the running event loop, advanced by a test: timers become due on `advance`, on a busy machine too."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


class LoopTime:
    """The real time of a loop and what a test has added to it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._real = loop.time
        self._added = 0.0

    def now(self) -> float:
        """The time by which the loop's timers are due."""
        return self._real() + self._added

    def advance(self, seconds: float) -> None:
        """Let so much time pass at once."""
        self._added += seconds


@contextmanager
def loop_time() -> Iterator[LoopTime]:
    """Advance the time of the running loop; a timer that is not to become due must lie beyond what is added."""
    loop = asyncio.get_running_loop()
    found, before = LoopTime(loop), loop.time
    loop.time = found.now  # type: ignore[method-assign]
    try:
        yield found
    finally:
        loop.time = before  # type: ignore[method-assign]
