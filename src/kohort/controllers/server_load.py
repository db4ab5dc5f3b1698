"""The load of the API server, estimated from the duration of writes.

On a busy cluster its CPU is the bottleneck. Informational writes, such as status counts and pending reasons, are made
less often then, so that admissions are not delayed.
"""

from typing import Final

IDLE_SECONDS: Final = 0.025
"""Seconds that a write takes at most on a server that is not busy."""
MAX_FACTOR: Final = 10.0
SMOOTHING: Final = 0.9
"""The weight of earlier writes in the moving average."""


class ServerLoad:
    """The factor by which informational writes are delayed: 1 on a fast server, more on a slow one."""

    def __init__(self) -> None:
        self._seconds = 0.0

    @property
    def factor(self) -> float:
        """From 1 to 10; it grows with the square of the duration of writes."""
        return min(max((self._seconds / IDLE_SECONDS) ** 2, 1.0), MAX_FACTOR)

    def observe(self, seconds: float) -> None:
        """Record the duration of a write."""
        self._seconds = SMOOTHING * self._seconds + (1 - SMOOTHING) * seconds
