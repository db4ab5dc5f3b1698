"""What can go wrong between a manager and its server, and the journey with it compared to the one without."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from embedded.server.clusters import Object
from journeys.reclaiming import ADMISSIONS, QUOTAS, Journey
from journeys.virtual import Site, site
from journeys.wires import Bends, Wire
from kohort.engine.invariants.sums import wrong_cells
from kube.faults import Cut, Fault, Refusal

FAULTS: dict[str, Fault | Refusal] = {
    "never-sent": Fault.UNREACHABLE,
    "answer-lost": Fault.LOST_ANSWER,
    "silence": Fault.SILENCE,
    "conflict": Refusal(409),
    "gone": Refusal(410),
    "too-many": Refusal(429, retry_after=1),
    "too-many-just-so": Refusal(429),
    "broken": Refusal(500),
    "away": Refusal(503),
    "too-late": Refusal(504),
    "no-status": Refusal(502, body=b"<html>bad gateway</html>"),
}
CUTS: dict[str, Cut | None] = {"stalled": None, **{how.name.lower().replace("_", "-"): how for how in Cut}}
KINDS = ("workloads", "jobs", "clusterqueues", "localqueues", "resourceflavors", "namespaces")
"""Resources whose watches matter on the way."""
LATE = 3.0
"""Seconds by which events of some kinds come later than those of others: more than any batch waits."""

Mishap = Callable[[Wire], None]


@dataclass(frozen=True)
class Course:
    """How a journey went."""

    rests: list[Object]
    admissions: Counter[str]
    requests: int
    writes: int
    mishaps: int
    """How often something went wrong."""


_smooth: list[Course] = []


async def smooth() -> Course:
    """The undisturbed journey, made once."""
    if not _smooth:
        _smooth.append(await course(nothing))
    return _smooth[0]


def nothing(_wire: Wire) -> None:
    """All goes well."""


def failing(faults: Mapping[int, Fault | Refusal]) -> Mishap:
    """Requests of these numbers fail."""

    def prepare(wire: Wire) -> None:
        wire.faults = dict(faults)

    return prepare


def spoiling(cuts: Mapping[int, Cut | None], plural: str = "") -> Mishap:
    """Right before the requests of these numbers, watches of a kind, or all, break off or fall silent."""

    def prepare(wire: Wire) -> None:
        wire.before = {number: partial(wire.spoil, how, plural) for number, how in cuts.items()}

    return prepare


def bending(copies: int, *late: str) -> Mishap:
    """Every event comes more than once, and those of some kinds after all others."""

    def prepare(wire: Wire) -> None:
        wire.bends = Bends(dict.fromkeys(late, LATE), copies)

    return prepare


def dying(writes: int) -> Mishap:
    """The manager dies after so many writes."""

    def prepare(wire: Wire) -> None:
        wire.last = writes

    return prepare


async def course(first: Mishap, others: Mishap = nothing) -> Course:
    """The journey with a mishap in the first life of the manager, and in each of the others."""
    async with site(QUOTAS) as here:
        here.start("one", first)
        here.next_life = others
        rests = await Journey(here).play()
        _nothing_is_leaked(here)
        wires = [replica.wire for replica in here.lives]
        return Course(
            rests,
            here.chronicle.admissions,
            sum(len(wire.requests) for wire in wires),
            sum(wire.writes for wire in wires),
            sum(wire.mishaps for wire in wires),
        )


def _nothing_is_leaked(here: Site) -> None:
    """In the end nobody holds anything, neither on the server nor in the engine's books."""
    engine = here.replicas[0].context.engine
    assert here.chronicle.used() == 0
    assert not any(queue.holders for queue in engine.store.queues.values())
    assert not list(wrong_cells(engine))


def assert_same(found: Course, expected: Course) -> None:
    """Whatever went wrong, the journey had the same rests, and nobody got quota more often than needed."""
    for number, (rest, wanted) in enumerate(zip(found.rests, expected.rests, strict=True)):
        for name in rest.keys() | wanted.keys():
            assert rest.get(name) == wanted.get(name), f"rest {number}: {name}"
    assert found.admissions == ADMISSIONS
