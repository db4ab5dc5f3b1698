"""Exponential backoff of requeues and of retried checks (SCH-1034, SCH-913).

The caller provides the random number for jitter, so that the function is deterministic.
"""

from typing import Final

JITTER: Final = 0.0001
MOST_DOUBLINGS: Final = 62
"""Larger exponents would not change a capped delay."""


def pause_seconds(count: int, base: int, longest: int, jitter: float) -> float:
    """The delay before the n-th retry: doubled each time, capped from the second on, with jitter (SCH-1034)."""
    seconds = base << min(count - 1, MOST_DOUBLINGS)
    if count >= 2:
        seconds = min(seconds, longest)
    return seconds * (1 + jitter * JITTER)
