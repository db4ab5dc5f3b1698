"""How a figure is taken: the two sides in turn, many short rounds, the median of the ratios."""

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Measurement:
    """One line of the report."""

    name: str
    ours: float
    baseline: float
    ratio: float
    goal: float | None
    unit: str = "us"

    def line(self) -> str:
        verdict = (
            "" if self.goal is None else f"  goal <= {self.goal:g}  {'ok' if self.ratio <= self.goal else 'MISSED'}"
        )
        return f"{self.name:<52} {self.ours:>10.1f} {self.baseline:>10.1f} {self.unit:<3} {self.ratio:>7.2f}x{verdict}"


HEADER = f"{'measurement':<52} {'kohort':>10} {'baseline':>10} {'':<3} {'ratio':>8}"


def compare(
    name: str,
    ours: Callable[[], object],
    baseline: Callable[[], object],
    *,
    goal: float | None = None,
    rounds: int = 41,
    seconds_per_round: float = 0.01,
) -> Measurement:
    """Run both sides in turn so that a slow moment of the machine hits both."""
    repeat = max(1, int(seconds_per_round / max(_once(baseline, 1), 1e-7)))
    gc.collect()
    gc.disable()
    try:
        pairs = [(_once(ours, repeat), _once(baseline, repeat)) for _ in range(rounds)]
    finally:
        gc.enable()
    ratio = statistics.median(mine / reference for mine, reference in pairs)
    mine, reference = (statistics.median(side) * 1e6 for side in zip(*pairs, strict=True))
    return Measurement(name, mine, reference, ratio, goal)


def _once(work: Callable[[], object], repeat: int) -> float:
    start = time.perf_counter()
    for _ in range(repeat):
        work()
    return (time.perf_counter() - start) / repeat
