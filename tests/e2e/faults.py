"""Faults between a manager and its server, and runs of the reclaim scenario with and without them."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from e2e.faulty_connection import Bends, Wire
from e2e.reclaim_scenario import ADMISSIONS, QUOTAS, ReclaimScenario
from e2e.virtual_cluster import Site, site
from kit.apiserver import Object
from kit.faults import Rejection, RequestFault, StreamFault
from kohort.engine.invariants.sums import wrong_cells

FAULTS: dict[str, RequestFault | Rejection] = {
    "unreachable": RequestFault.UNREACHABLE,
    "lost-response": RequestFault.LOST_RESPONSE,
    "no-response": RequestFault.NO_RESPONSE,
    "conflict": Rejection(409),
    "gone": Rejection(410),
    "too-many": Rejection(429, retry_after=1),
    "too-many-without-delay": Rejection(429),
    "broken": Rejection(500),
    "unavailable": Rejection(503),
    "timeout": Rejection(504),
    "no-status": Rejection(502, body=b"<html>bad gateway</html>"),
}
STREAM_FAULTS: dict[str, StreamFault | None] = {
    "stalled": None,
    **{how.name.lower().replace("_", "-"): how for how in StreamFault},
}
KINDS = ("workloads", "jobs", "clusterqueues", "localqueues", "resourceflavors", "namespaces")
"""Resources whose watches the scenario depends on."""
WATCH_DELAY = 3.0
"""Seconds by which events of some kinds are late: longer than any batching interval."""

FaultSetup = Callable[[Wire], None]


@dataclass(frozen=True)
class ScenarioRun:
    """Outcome of one run of the scenario."""

    rests: list[Object]
    admissions: Counter[str]
    requests: int
    writes: int
    fault_count: int
    """Number of injected faults."""


_runs_without_faults: list[ScenarioRun] = []


async def run_without_faults() -> ScenarioRun:
    """The run without faults, made once."""
    if not _runs_without_faults:
        _runs_without_faults.append(await run_scenario(no_fault))
    return _runs_without_faults[0]


def no_fault(_wire: Wire) -> None:
    """No fault."""


def failing_requests(faults: Mapping[int, RequestFault | Rejection]) -> FaultSetup:
    """Requests with these numbers fail."""

    def prepare(wire: Wire) -> None:
        wire.faults = dict(faults)

    return prepare


def interrupting_watches(cuts: Mapping[int, StreamFault | None], plural: str = "") -> FaultSetup:
    """Right before the requests with these numbers, watches of a kind, or all, are interrupted or stall."""

    def prepare(wire: Wire) -> None:
        wire.before = {number: partial(wire.spoil, how, plural) for number, how in cuts.items()}

    return prepare


def delaying_watch_events(copies: int, *late: str) -> FaultSetup:
    """Every event arrives more than once, and those of some kinds after all others."""

    def prepare(wire: Wire) -> None:
        wire.bends = Bends(dict.fromkeys(late, WATCH_DELAY), copies)

    return prepare


def crashing_after(writes: int) -> FaultSetup:
    """The manager crashes after this many writes."""

    def prepare(wire: Wire) -> None:
        wire.last = writes

    return prepare


async def run_scenario(first: FaultSetup, others: FaultSetup = no_fault) -> ScenarioRun:
    """Run the scenario with a fault in the manager's first process and one in each of its successors."""
    async with site(QUOTAS) as here:
        here.start("one", first)
        here.next_life = others
        rests = await ReclaimScenario(here).play()
        _assert_nothing_leaked(here)
        wires = [replica.wire for replica in here.lives]
        return ScenarioRun(
            rests,
            here.chronicle.admissions,
            sum(len(wire.requests) for wire in wires),
            sum(wire.writes for wire in wires),
            sum(wire.fault_count for wire in wires),
        )


def _assert_nothing_leaked(here: Site) -> None:
    """At the end no quota is reserved, neither on the server nor in the engine."""
    engine = here.replicas[0].context.engine
    assert here.chronicle.used() == 0
    assert not any(queue.holders for queue in engine.store.queues.values())
    assert not list(wrong_cells(engine))


def assert_same_outcome(found: ScenarioRun, expected: ScenarioRun) -> None:
    """The intermediate states are the same, and no job got quota more often than needed."""
    for number, (rest, wanted) in enumerate(zip(found.rests, expected.rests, strict=True)):
        for name in rest.keys() | wanted.keys():
            assert rest.get(name) == wanted.get(name), f"state {number}: {name}"
    assert found.admissions == ADMISSIONS
