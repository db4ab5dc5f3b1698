"""How long a container that ends again and again waits before it is started again.

The first restart comes at once; from then on the wait doubles, and ten minutes of running make up for everything.
"""

from dataclasses import dataclass

FIRST = 10.0
LONGEST = 300.0
FORGIVEN = 600.0
"""A container that ran for so long has proved itself."""


@dataclass(slots=True)
class CrashLoop:
    """The restarts of one container."""

    _next: float = 0.0
    _restarted: float = 0.0

    def wait(self, ended: float) -> float:
        """The seconds before a container that just ended starts again."""
        if ended - self._restarted > FORGIVEN:
            self._next = 0.0
        wait, self._next = self._next, min(self._next * 2 or FIRST, LONGEST)
        self._restarted = ended + wait
        return wait
