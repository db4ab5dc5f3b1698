"""The whole flow of jobs under faults, in virtual time: same intermediate states, nothing twice, no quota leaked.

A sample of what `exhaustive_faults` runs in full: each run has many faults of one kind; together they are everywhere.
"""

from itertools import cycle

import pytest

from e2e.faults import (
    FAULTS,
    STREAM_FAULTS,
    FaultSetup,
    assert_same_outcome,
    crashing_after,
    delaying_watch_events,
    failing_requests,
    interrupting_watches,
    no_fault,
    run_scenario,
    run_without_faults,
)

MOST = 400
"""Requests of a run with faults; a run without any sends about a hundred."""
RUNS = 5
"""In each of them every fifth request fails, and in all together every one."""


async def assert_unchanged_by(first: FaultSetup, others: FaultSetup = no_fault) -> None:
    found = await run_scenario(first, others)
    assert found.fault_count > 1
    assert_same_outcome(found, await run_without_faults())


async def test_runs_without_faults_are_the_same() -> None:
    assert_same_outcome(await run_scenario(no_fault), await run_without_faults())


@pytest.mark.parametrize("run", range(RUNS))
async def test_every_fifth_request_fails_differently(run: int) -> None:
    faults = list(FAULTS.values())[2 * run :] + list(FAULTS.values())[: 2 * run]
    await assert_unchanged_by(failing_requests(dict(zip(range(run, MOST, RUNS), cycle(faults), strict=False))))


@pytest.mark.parametrize("cuts", [["stalled"], ["expired"], ["reset"], list(STREAM_FAULTS)], ids="-".join)
async def test_watches_are_interrupted_repeatedly(cuts: list[str]) -> None:
    every = zip(range(30, MOST, 31), cycle(STREAM_FAULTS[cut] for cut in cuts), strict=False)
    await assert_unchanged_by(interrupting_watches(dict(every)))


@pytest.mark.parametrize("late", [("workloads",), ("jobs",), ("clusterqueues", "jobs"), ("workloads", "localqueues")])
async def test_events_arrive_twice_and_those_of_some_kinds_late(late: tuple[str, ...]) -> None:
    await assert_unchanged_by(delaying_watch_events(2, *late))


@pytest.mark.parametrize("writes", [1, 7])
async def test_the_manager_crashes_after_every_few_writes(writes: int) -> None:
    await assert_unchanged_by(crashing_after(writes), crashing_after(writes))
