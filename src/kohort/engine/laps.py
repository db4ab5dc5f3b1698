"""How long the steps of a turn take. The engine has no clock: whoever wants to know lends it one."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Clock = Callable[[], float]
"""Seconds since some moment, such as `time.perf_counter`."""


def stopped() -> float:
    """A clock that stands still."""
    return 0.0


class Laps:
    """Time per step, added up."""

    def __init__(self, clock: Clock = stopped) -> None:
        self._clock = clock
        self.seconds: dict[str, float] = {}
        self.times: dict[str, int] = {}

    @contextmanager
    def lap(self, step: str) -> Iterator[None]:
        """Count what happens inside to a step."""
        start = self._clock()
        yield
        self.seconds[step] = self.seconds.get(step, 0.0) + self._clock() - start
        self.times[step] = self.times.get(step, 0) + 1
