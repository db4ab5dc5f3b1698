"""How long the steps of a turn take. The engine has no clock: whoever wants to know lends it one."""

from collections.abc import Callable

Clock = Callable[[], float]
"""Seconds since some moment, such as `time.perf_counter`."""


def zero_clock() -> float:
    """A clock that stands still."""
    return 0.0


class PhaseTimes:
    """Time per step, added up."""

    def __init__(self, clock: Clock = zero_clock) -> None:
        self._clock = clock
        self.seconds: dict[str, float] = {}
        self.times: dict[str, int] = {}

    def lap(self, step: str) -> "PhaseTimer":
        """Count what happens inside to a step."""
        return PhaseTimer(self, step)

    def now(self) -> float:
        """What the clock says."""
        return self._clock()

    def add(self, step: str, seconds: float) -> None:
        """A step was taken once more."""
        self.seconds[step] = self.seconds.get(step, 0.0) + seconds
        self.times[step] = self.times.get(step, 0) + 1


class PhaseTimer:
    """One step while it is taken; it counts only if it ends well."""

    __slots__ = ("_laps", "_start", "_step")

    def __init__(self, laps: PhaseTimes, step: str) -> None:
        self._laps = laps
        self._step = step

    def __enter__(self) -> None:
        self._start = self._laps.now()

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if kind is None:
            self._laps.add(self._step, self._laps.now() - self._start)
