"""Whether the real Kueue decided as ours could have, where SCH-722 leaves open which of several equal cohorts gives.

The real one goes by the order of a Go map, anew in every cycle, so it has many answers to one scenario. Ours tries
which draws lead to the given one; a draw that a step proves wrong is followed no further.
"""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any
from unittest.mock import patch

from engine.scenario import ScenarioRunner
from kohort.engine import fair_preemption
from kohort.engine.engine import Engine
from kohort.engine.hierarchy import CohortNode
from kohort.engine.scheduling_run import SchedulingCycle
from oracle.differences import differences
from oracle.standings import step_by_step

Json = Any

MOST_TRIES = 2000
"""Each plays the scenario up to the first difference: milliseconds."""


class Restless(Engine):
    """Starts every run with all trees, dirty or not: it draws as often as the real one."""

    def cycles(self, clock: Callable[[], datetime]) -> Iterator[SchedulingCycle]:
        self.store.dirty.update(self.store.queues)
        return super().cycles(clock)


class RestlessStage(ScenarioRunner):
    """Has such an engine."""

    def __post_init__(self) -> None:
        self.engine = Restless(self.settings)


class Lots:
    """Draws between equal cohorts: as told, and then always the first."""

    def __init__(self, told: list[int]) -> None:
        self.told = told
        self.drawn: list[tuple[int, int]] = []
        """Which one of how many."""

    def draw(self, cohorts: list[CohortNode]) -> CohortNode:
        if len(cohorts) == 1:
            return cohorts[0]
        place = len(self.drawn)
        which = self.told[place] if place < len(self.told) else 0
        self.drawn.append((which, len(cohorts)))
        return sorted(cohorts, key=lambda each: each.name)[which]

    def next_ones(self) -> list[int] | None:
        """What to draw after these turned out wrong; None where all was tried."""
        drawn = list(self.drawn)
        while drawn and drawn[-1][0] + 1 == drawn[-1][1]:
            drawn.pop()
        if not drawn:
            return None
        return [*(which for which, _ in drawn[:-1]), drawn[-1][0] + 1]


def is_tied(scenario: Json, answer: list[Json]) -> bool:
    """Whether ours gives this answer too by some draw between equal cohorts (SCH-722)."""
    told: list[int] | None = []
    for _ in range(MOST_TRIES):
        if told is None:
            return False
        lots = Lots(told)
        with patch.object(fair_preemption, "first_of_equals", lots.draw):
            if _agrees(scenario, answer):
                return True
        told = lots.next_ones()
    return False


def _agrees(scenario: Json, answer: list[Json]) -> bool:
    steps = zip(step_by_step(scenario, RestlessStage), answer, strict=True)
    return all(not differences([ours], [theirs]) for ours, theirs in steps)
