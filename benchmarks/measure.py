"""How a figure is taken: the two sides in turn, many short rounds, the median of the ratios."""

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One line of the report."""

    name: str
    ours: float
    peer: float
    ratio: float
    goal: float | None
    unit: str = "us"

    def line(self) -> str:
        verdict = (
            "" if self.goal is None else f"  goal <= {self.goal:g}  {'ok' if self.ratio <= self.goal else 'MISSED'}"
        )
        return f"{self.name:<52} {self.ours:>10.1f} {self.peer:>10.1f} {self.unit:<3} {self.ratio:>7.2f}x{verdict}"


HEADER = f"{'figure':<52} {'ours':>10} {'peer':>10} {'':<3} {'ratio':>8}"


def compare(
    name: str,
    ours: Callable[[], object],
    peer: Callable[[], object],
    *,
    goal: float | None = None,
    rounds: int = 41,
    seconds_per_round: float = 0.01,
) -> Figure:
    """Run both sides in turn so that a slow moment of the machine hits both."""
    repeat = max(1, int(seconds_per_round / max(_once(peer, 1), 1e-7)))
    gc.collect()
    gc.disable()
    try:
        pairs = [(_once(ours, repeat), _once(peer, repeat)) for _ in range(rounds)]
    finally:
        gc.enable()
    ratio = statistics.median(mine / theirs for mine, theirs in pairs)
    mine, theirs = (statistics.median(side) * 1e6 for side in zip(*pairs, strict=True))
    return Figure(name, mine, theirs, ratio, goal)


def _once(work: Callable[[], object], repeat: int) -> float:
    start = time.perf_counter()
    for _ in range(repeat):
        work()
    return (time.perf_counter() - start) / repeat
