"""How hard pressed the API server is, told by how long it takes to answer our writes.

On a busy cluster its CPU runs out first. What is only said for people, such as figures and reasons, is said less often
then, so that admissions get through.
"""

from typing import Final

AT_EASE: Final = 0.025
"""Seconds that a write may take before the server counts as busy."""
MOST: Final = 10.0
MEMORY: Final = 0.9
"""What the writes before weigh beside the last one."""


class ServerLoad:
    """A factor by which words may wait: 1 while the server answers at once, more the longer it takes."""

    def __init__(self) -> None:
        self._seconds = 0.0

    @property
    def factor(self) -> float:
        """From 1 to 10; a server that takes three times as long as at ease has hardly time for words."""
        return min(max((self._seconds / AT_EASE) ** 2, 1.0), MOST)

    def note(self, seconds: float) -> None:
        """A write took so long."""
        self._seconds = MEMORY * self._seconds + (1 - MEMORY) * seconds
