"""Random scenarios compared on both engines by several processes, each with a Kueue of its own."""

import signal
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context

from oracle.counted_twice import is_counted_twice
from oracle.differences import Difference, agrees_with_some, differences
from oracle.generator import Json
from oracle.generator import scenario as quota_scenario
from oracle.kueue import Kueue, NoResultError, build
from oracle.lost_places import is_parked, is_recomputed
from oracle.outdated import is_outdated
from oracle.overcommitted import is_overcommitted
from oracle.overdrawn import is_overdrawn
from oracle.reactivation import is_reactivated
from oracle.themes import scenario as topology_scenario
from oracle.ties import is_tied
from oracle.topology_texts import excuse_of
from oracle.workload_states import our_answer

GENERATORS: Mapping[str, Callable[[str], Json]] = {"quota": quota_scenario, "topology": topology_scenario}
"""Writes the scenario of a seed, by what it is about."""
DEVIATIONS: Mapping[str, Callable[[Json, list[Json]], bool]] = {
    "parked": is_parked,
    "recomputed": is_recomputed,
    "overcommitted": is_overcommitted,
    "counted twice": is_counted_twice,
    "outdated": is_outdated,
    "reactivated": is_reactivated,
}
"""Whether a deviation of topology-aware scheduling accounts for a whole answer."""
MOST_ANSWERS = 12
"""How often Kueue runs a scenario where its result depends on the order of a Go map."""


@dataclass(frozen=True, slots=True)
class ScenarioComparison:
    """The result of one scenario: `same`, `different`, a class of tests/oracle/README.md, or why there was none."""

    seed: str
    outcome: str


def compare(kueue: Kueue, scenario: Json) -> list[Difference]:
    """Where the two differ after the first step that shows it, unless a documented deviation explains it."""
    answer = _answer(kueue, scenario)
    found = differences(our_answer(scenario), answer, excuse_of(scenario))
    return [] if found and _explanation(kueue, scenario, answer) else found


def _explanation(kueue: Kueue, scenario: Json, answer: list[Json]) -> str:
    """The deviation that accounts for the whole result; empty where there is none."""
    if "theme" in scenario:
        return _topology_explanation(kueue, scenario, answer)
    if is_overdrawn(scenario, answer):
        return "overdrawn"
    return "tied" if is_tied(scenario, answer) else ""


def _topology_explanation(kueue: Kueue, scenario: Json, answer: list[Json]) -> str:
    """The same for a topology scenario; Kueue runs it again, since some failures come from an unordered map (Q-8)."""
    ours, excuse = our_answer(scenario), excuse_of(scenario)
    answers: list[list[Json]] = []
    for _ in range(MOST_ANSWERS):
        if answer not in answers:
            answers.append(answer)
            if agrees_with_some(ours, answers, excuse):
                return "unordered"
            for name, explains in DEVIATIONS.items():
                if explains(scenario, answer):
                    return name
        answer = _answer(kueue, scenario)
    return ""


def _answer(kueue: Kueue, scenario: Json) -> list[Json]:
    answer = kueue.ask(scenario)
    if "error" in answer:
        raise NoResultError(answer["error"])
    steps: list[Json] = answer["steps"]
    return steps


@contextmanager
def running_comparisons(kind: str, seeds: Iterable[str], jobs: int) -> Iterator[Iterator[ScenarioComparison]]:
    """The result of each scenario, as soon as it is computed; leaving early waits only for those in progress."""
    build()
    # A forked process would hold on to pipes of its siblings, whose Kueues then never see their end.
    pool = ProcessPoolExecutor(jobs, get_context("spawn"), initializer=_WorkerState.open)
    try:
        yield (each.result() for each in as_completed([pool.submit(_play, kind, seed) for seed in seeds]))
    finally:
        pool.shutdown(cancel_futures=True)


class _WorkerState:
    """What a process keeps from one scenario to the next."""

    kueue: Kueue

    @classmethod
    def open(cls) -> None:
        # Ctrl-C reaches all processes of a terminal; the first one ends the others.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        cls.kueue = Kueue()


def _play(kind: str, seed: str) -> ScenarioComparison:
    try:
        return ScenarioComparison(seed, _outcome(_WorkerState.kueue, GENERATORS[kind](seed)))
    except NoResultError as error:
        return ScenarioComparison(seed, f"no answer: {error}")
    except Exception as error:
        error.add_note(f"in the scenario of seed {seed}")
        raise


def _outcome(kueue: Kueue, scenario: Json) -> str:
    answer = _answer(kueue, scenario)
    if not differences(our_answer(scenario), answer, excuse_of(scenario)):
        return "same"
    return _explanation(kueue, scenario, answer) or "different"
