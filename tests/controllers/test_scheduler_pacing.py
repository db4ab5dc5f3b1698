"""How the scheduler shares its time: a tenth for scheduling runs, the rest for other controllers."""

import asyncio
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from kohort.controllers.scheduling.scheduler import MAX_PAUSE, PAUSE_FACTOR, QueueScheduler


class CycleClock:
    """A clock on which a cycle takes the time that the test sets, and which records sleeps."""

    def __init__(self, cycle: float) -> None:
        self.time = 0.0
        self.cycle = cycle
        self.slept: list[float] = []

    def now(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds
        await asyncio.sleep(0)


def world_of(clock: CycleClock) -> Any:
    """A controller context in which a run is one cycle without decisions."""

    def cycles(_: Callable[[], datetime]) -> Iterator[Any]:
        clock.time += clock.cycle
        yield from ()

    async def live() -> None:
        return

    feed = SimpleNamespace(is_synced=True, wait_synced=live, subscribe_changes=lambda listener: None)
    engine = SimpleNamespace(cycles=cycles, wake_at=lambda: datetime(2026, 1, 1, tzinfo=UTC))
    now = datetime(2026, 1, 1, tzinfo=UTC)
    parts = {"clock": clock, "feed": feed, "engine": engine, "metrics": SimpleNamespace()}
    return SimpleNamespace(**parts, leads=lambda: True, now=lambda: now)


@pytest.mark.parametrize(
    ("cycle", "rest"), [(0.001, 0.001 * PAUSE_FACTOR), (0.01, 0.01 * PAUSE_FACTOR), (1.0, MAX_PAUSE)]
)
async def test_the_pause_after_a_run_is_proportional_to_it(cycle: float, rest: float) -> None:
    clock = CycleClock(cycle)
    turns = asyncio.create_task(QueueScheduler(world_of(clock), SimpleNamespace()).run())  # type: ignore[arg-type]
    while not clock.slept:
        await asyncio.sleep(0)
    turns.cancel()
    await asyncio.gather(turns, return_exceptions=True)
    assert clock.slept[0] == pytest.approx(rest)
