"""Faults between a manager and its server, and runs of the reclaim scenario with and without them."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from e2e.numbered_faults import NumberedFaultTransport, WatchDelays
from e2e.reclaim_scenario import ADMISSIONS, QUOTAS, ReclaimScenario
from e2e.replicated_harness import ReplicatedHarness, running_replicated_harness
from engine.invariants.sums import wrong_cells
from kit.apiserver import Object
from kit.faults import Rejection, RequestFault, StreamFault

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

FaultSetup = Callable[[NumberedFaultTransport], None]


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


def no_fault(_wire: NumberedFaultTransport) -> None:
    """No fault."""


def failing_requests(faults: Mapping[int, RequestFault | Rejection]) -> FaultSetup:
    """Requests with these numbers fail."""

    def prepare(transport: NumberedFaultTransport) -> None:
        transport.faults = dict(faults)

    return prepare


def interrupting_watches(cuts: Mapping[int, StreamFault | None], plural: str = "") -> FaultSetup:
    """Right before the requests with these numbers, watches of a kind, or all, are interrupted or stall."""

    def prepare(transport: NumberedFaultTransport) -> None:
        transport.before = {number: partial(transport.interrupt_watches, how, plural) for number, how in cuts.items()}

    return prepare


def delaying_watch_events(copies: int, *late: str) -> FaultSetup:
    """Every event arrives more than once, and those of some kinds after all others."""

    def prepare(transport: NumberedFaultTransport) -> None:
        transport.delays = WatchDelays(dict.fromkeys(late, WATCH_DELAY), copies)

    return prepare


def crashing_after(writes: int) -> FaultSetup:
    """The manager crashes after this many writes."""

    def prepare(transport: NumberedFaultTransport) -> None:
        transport.crash_after = writes

    return prepare


async def run_scenario(first: FaultSetup, others: FaultSetup = no_fault) -> ScenarioRun:
    """Run the scenario with a fault in the manager's first process and one in each of its successors."""
    async with running_replicated_harness(QUOTAS) as harness:
        harness.start("one", first)
        harness.next_faults = others
        rests = await ReclaimScenario(harness).play()
        _assert_nothing_leaked(harness)
        transports = [replica.transport for replica in harness.processes]
        return ScenarioRun(
            rests,
            harness.history.admissions,
            sum(len(transport.requests) for transport in transports),
            sum(transport.writes for transport in transports),
            sum(transport.fault_count for transport in transports),
        )


def _assert_nothing_leaked(harness: ReplicatedHarness) -> None:
    """At the end no quota is reserved, neither on the server nor in the engine."""
    engine = harness.replicas[0].context.engine
    assert harness.history.used() == 0
    assert not any(queue.holders for queue in engine.store.queues.values())
    assert not list(wrong_cells(engine))


def assert_same_outcome(found: ScenarioRun, expected: ScenarioRun) -> None:
    """The intermediate states are the same, and no job got quota more often than needed."""
    for number, (rest, wanted) in enumerate(zip(found.rests, expected.rests, strict=True)):
        for name in rest.keys() | wanted.keys():
            assert rest.get(name) == wanted.get(name), f"state {number}: {name}"
    assert found.admissions == ADMISSIONS
