"""Exponential backoff, capped, and jittered so that many clients do not retry at the same time."""

from dataclasses import dataclass
from random import Random

_MOST_DOUBLINGS = 64
"""Exponent at which every cap is reached; larger ones would overflow floats."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """Delays that grow from `base` to `cap`; `jitter` is the random fraction of a delay."""

    base: float = 0.25
    cap: float = 30.0
    factor: float = 2.0
    jitter: float = 0.5

    def delay(self, failures: int, random: Random) -> float:
        """The delay after so many consecutive failures (1 is the first); never above the cap."""
        return self.steady(failures) * (1 - self.jitter * random.random())

    def steady(self, failures: int) -> float:
        """The same without jitter."""
        return min(self.cap, self.base * self.factor ** min(max(failures - 1, 0), _MOST_DOUBLINGS))
