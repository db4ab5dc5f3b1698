"""The whole flow of jobs under faults, in virtual time: the same rests on the way, nothing twice, no quota leaked.

A spread of what `every_fault` plays in full: each run has many mishaps of one kind, and together they are everywhere.
"""

from itertools import cycle

import pytest

from journeys.mishaps import (
    CUTS,
    FAULTS,
    Mishap,
    assert_same,
    bending,
    course,
    dying,
    failing,
    nothing,
    smooth,
    spoiling,
)

MOST = 400
"""Requests of a disturbed journey; those of an undisturbed one are about a hundred."""
RUNS = 5
"""In each of which every fifth request fails, and in all together every one."""


async def ends_the_same(first: Mishap, others: Mishap = nothing) -> None:
    found = await course(first, others)
    assert found.mishaps > 1
    assert_same(found, await smooth())


async def test_an_undisturbed_journey_is_the_same_each_time() -> None:
    assert_same(await course(nothing), await smooth())


@pytest.mark.parametrize("run", range(RUNS))
async def test_every_fifth_request_fails_in_another_way(run: int) -> None:
    faults = list(FAULTS.values())[2 * run :] + list(FAULTS.values())[: 2 * run]
    await ends_the_same(failing(dict(zip(range(run, MOST, RUNS), cycle(faults), strict=False))))


@pytest.mark.parametrize("cuts", [["stalled"], ["expired"], ["reset"], list(CUTS)], ids="-".join)
async def test_watches_are_spoilt_again_and_again(cuts: list[str]) -> None:
    every = zip(range(30, MOST, 31), cycle(CUTS[cut] for cut in cuts), strict=False)
    await ends_the_same(spoiling(dict(every)))


@pytest.mark.parametrize("late", [("workloads",), ("jobs",), ("clusterqueues", "jobs"), ("workloads", "localqueues")])
async def test_events_come_twice_and_those_of_some_kinds_after_others(late: tuple[str, ...]) -> None:
    await ends_the_same(bending(2, *late))


@pytest.mark.parametrize("writes", [1, 7])
async def test_the_manager_dies_after_every_few_writes(writes: int) -> None:
    await ends_the_same(dying(writes), dying(writes))
