"""How far a long comparison has come: a line that changes on a terminal, a line now and then in a log."""

import time
from collections.abc import Callable
from typing import Final, TextIO

BLINK: Final = 0.2
"""Seconds between two updates on a terminal."""
ENTRY: Final = 30.0
"""Seconds between two lines of a log."""


class Progress:
    """Prints on a stream how many of a known number are done, how many differ, and how long the rest will take."""

    def __init__(self, total: int, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._total, self._stream, self._clock = total, stream, clock
        self._is_terminal = stream.isatty()
        self._pause = BLINK if self._is_terminal else ENTRY
        self._start = self._printed = clock()
        self._done = 0

    def note(self, odd: int) -> None:
        """One more is done; `odd` is how many were not the same so far."""
        self._done += 1
        now = self._clock()
        if now - self._printed >= self._pause:
            self._printed = now
            self._print(odd, now - self._start)

    def clear(self) -> None:
        """Make place for something else to be printed."""
        if self._is_terminal:
            self._stream.write("\r\033[K")
            self._stream.flush()

    def _print(self, odd: int, spent: float) -> None:
        left = spent / self._done * (self._total - self._done)
        text = f"{self._done} of {self._total}, {odd} different, {_clock_time(left)} left"
        self._stream.write(f"\r\033[K{text}" if self._is_terminal else f"{text}\n")
        self._stream.flush()


def _clock_time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02}"
