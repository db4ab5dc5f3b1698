"""Crash loop backoff of a container.

The first restart is immediate; then the backoff doubles, and ten minutes of running reset it.
"""

from dataclasses import dataclass

FIRST = 10.0
MAX_SECONDS = 300.0
RESET_SECONDS = 600.0
"""Seconds of running after which the backoff is reset."""


@dataclass(slots=True)
class CrashLoop:
    """The restarts of one container."""

    _next: float = 0.0
    _restarted: float = 0.0

    def wait(self, ended: float) -> float:
        """Seconds before a container that just terminated is restarted."""
        if ended - self._restarted > RESET_SECONDS:
            self._next = 0.0
        wait, self._next = self._next, min(self._next * 2 or FIRST, MAX_SECONDS)
        self._restarted = ended + wait
        return wait
