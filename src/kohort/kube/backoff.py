"""How long to wait before the next try: exponential, capped, and jittered so that many clients do not come at once."""

from dataclasses import dataclass
from random import Random

_MOST_DOUBLINGS = 64
"""Beyond it every cap is reached, and floats would overflow."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """Waits that grow from `base` to `cap`; `jitter` is the part of a wait that is left to chance."""

    base: float = 0.25
    cap: float = 30.0
    factor: float = 2.0
    jitter: float = 0.5

    def delay(self, failures: int, random: Random) -> float:
        """The wait after so many failures in a row (1 is the first); never above the cap."""
        return self.steady(failures) * (1 - self.jitter * random.random())

    def steady(self, failures: int) -> float:
        """The same without jitter."""
        return min(self.cap, self.base * self.factor ** min(max(failures - 1, 0), _MOST_DOUBLINGS))
