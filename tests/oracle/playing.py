"""Random scenarios played on both engines by several processes, each beside a Kueue of its own."""

import signal
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context

from oracle.differences import Difference, differences
from oracle.generator import Json
from oracle.generator import scenario as generate
from oracle.kueue import Kueue, NoAnswerError, build
from oracle.standings import our_answer


@dataclass(frozen=True, slots=True)
class Played:
    """What came of one scenario: `same`, `different`, or why there was no answer."""

    seed: str
    outcome: str


def compare(kueue: Kueue, scenario: Json) -> list[Difference]:
    """Where the two differ after the first step that shows it."""
    answer = kueue.ask(scenario)
    if "error" in answer:
        raise NoAnswerError(answer["error"])
    return differences(our_answer(scenario), answer["steps"])


@contextmanager
def playing(seeds: Iterable[str], jobs: int) -> Iterator[Iterator[Played]]:
    """What comes of each scenario, as soon as it is known; who leaves early waits for nothing but those under way."""
    build()
    # A forked process would hold on to pipes of its siblings, whose Kueues then never see their end.
    pool = ProcessPoolExecutor(jobs, get_context("spawn"), initializer=_Desk.open)
    try:
        yield (each.result() for each in as_completed([pool.submit(_play, seed) for seed in seeds]))
    finally:
        pool.shutdown(cancel_futures=True)


class _Desk:
    """What a process keeps from one scenario to the next."""

    kueue: Kueue

    @classmethod
    def open(cls) -> None:
        # Ctrl-C reaches all processes of a terminal; the first one ends the others.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        cls.kueue = Kueue()


def _play(seed: str) -> Played:
    try:
        found = compare(_Desk.kueue, generate(seed))
    except NoAnswerError as error:
        return Played(seed, f"no answer: {error}")
    except Exception as error:
        error.add_note(f"while playing seed {seed}")
        raise
    return Played(seed, "different" if found else "same")
