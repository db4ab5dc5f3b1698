"""Pauses that grow with every failure: between returns to the queue, and between tries of a check (SCH-1034, SCH-913).

The caller draws the lots that spread them, so that the same numbers give the same pause.
"""

from typing import Final

JITTER: Final = 0.0001
MOST_DOUBLINGS: Final = 62
"""More would not change a capped pause, and would only make large numbers."""


def pause_seconds(count: int, base: int, longest: int, jitter: float) -> float:
    """The pause before the n-th try: doubling, capped from the second on, a little spread (SCH-1034)."""
    seconds = base << min(count - 1, MOST_DOUBLINGS)
    if count >= 2:
        seconds = min(seconds, longest)
    return seconds * (1 + jitter * JITTER)
