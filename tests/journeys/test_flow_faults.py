"""The whole flow of jobs under faults, in virtual time: the same rests on the way, nothing twice, no quota leaked.

A spread of what `every_fault` plays in full: each run has many mishaps of one kind, and together they are everywhere.
"""

import pytest

from journeys.mishaps import (
    CUTS,
    FAULTS,
    Course,
    Mishap,
    assert_same,
    bending,
    course,
    dying,
    failing,
    nothing,
    spoiling,
)

MOST = 400
"""Requests of a disturbed journey; those of an undisturbed one are about a hundred."""

_smooth: list[Course] = []


async def smooth() -> Course:
    """The undisturbed journey, made once."""
    if not _smooth:
        _smooth.append(await course(nothing))
    return _smooth[0]


async def ends_the_same(first: Mishap, others: Mishap = nothing) -> None:
    found = await course(first, others)
    assert found.mishaps > 1
    assert_same(found, await smooth())


async def test_an_undisturbed_journey_is_the_same_each_time() -> None:
    assert_same(await course(nothing), await smooth())


@pytest.mark.parametrize("fault", FAULTS)
async def test_some_requests_fail(fault: str) -> None:
    """Each number meets one of the faults."""
    numbers = range(list(FAULTS).index(fault), MOST, len(FAULTS))
    await ends_the_same(failing(FAULTS[fault], numbers))


@pytest.mark.parametrize("cut", CUTS)
async def test_watches_are_spoilt_again_and_again(cut: str) -> None:
    numbers = range(30 + list(CUTS).index(cut), MOST, 31)
    await ends_the_same(spoiling(CUTS[cut], numbers))


@pytest.mark.parametrize("late", [("workloads",), ("jobs",), ("clusterqueues", "jobs"), ("workloads", "localqueues")])
async def test_events_come_twice_and_those_of_some_kinds_after_others(late: tuple[str, ...]) -> None:
    await ends_the_same(bending(2, *late))


@pytest.mark.parametrize("writes", [1, 7])
async def test_the_manager_dies_after_every_few_writes(writes: int) -> None:
    await ends_the_same(dying(writes), dying(writes))
