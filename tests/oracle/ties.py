"""Whether some choice between equal cohorts leads our engine to Kueue's result: SCH-722 leaves the choice open.

Kueue uses the order of a Go map, which differs in every cycle, so one scenario has many results. Our engine runs the
scenario with one choice after the other, each up to the first step that differs.
"""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any
from unittest.mock import patch

from kohort.engine import fair_preemption
from kohort.engine.engine import Engine
from kohort.engine.hierarchy import CohortNode
from kohort.engine.scheduling_run import SchedulingCycle
from oracle.differences import differences
from oracle.oracle_runner import OracleRunner
from oracle.workload_states import step_by_step

Json = Any

MOST_TRIES = 2000
"""Each runs the scenario up to the first difference: milliseconds."""


class ExhaustiveEngine(Engine):
    """Runs cycles in all trees, dirty or not, and so chooses between equal cohorts as often as Kueue."""

    def cycles(self, clock: Callable[[], datetime]) -> Iterator[SchedulingCycle]:
        self.store.dirty.update(self.store.queues)
        return super().cycles(clock)


class ExhaustiveRunner(OracleRunner):
    """Runs scenarios with an `ExhaustiveEngine`."""

    def __post_init__(self) -> None:
        self.engine = ExhaustiveEngine(self.settings)


class TieBreaker:
    """Chooses between equal cohorts: as given, and then always the first."""

    def __init__(self, given: list[int]) -> None:
        self._given = given
        self._choices: list[tuple[int, int]] = []
        """Index of each choice, and the number of cohorts."""

    def choose(self, cohorts: list[CohortNode]) -> CohortNode:
        if len(cohorts) == 1:
            return cohorts[0]
        number = len(self._choices)
        index = self._given[number] if number < len(self._given) else 0
        self._choices.append((index, len(cohorts)))
        return sorted(cohorts, key=lambda each: each.name)[index]

    def next_choices(self) -> list[int] | None:
        """The choices to try after these; None after the last."""
        made = list(self._choices)
        while made and made[-1][0] + 1 == made[-1][1]:
            made.pop()
        if not made:
            return None
        return [*(index for index, _ in made[:-1]), made[-1][0] + 1]


def is_tied(scenario: Json, answer: list[Json]) -> bool:
    """Whether some choice between equal cohorts leads to this result (SCH-722)."""
    choices: list[int] | None = []
    for _ in range(MOST_TRIES):
        if choices is None:
            return False
        ties = TieBreaker(choices)
        with patch.object(fair_preemption, "first_of_equals", ties.choose):
            if _agrees(scenario, answer):
                return True
        choices = ties.next_choices()
    return False


def _agrees(scenario: Json, answer: list[Json]) -> bool:
    steps = zip(step_by_step(scenario, ExhaustiveRunner), answer, strict=True)
    return all(not differences([ours], [theirs]) for ours, theirs in steps)
