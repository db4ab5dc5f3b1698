"""Every kind of failure at every request, every watch spoilt at every moment, a death after every write.

Runs only when asked for by name, `pytest tests/journeys/every_fault.py`; `test_flow_faults` has a spread of it.
"""

import pytest

from journeys.mishaps import (
    CUTS,
    FAULTS,
    KINDS,
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

REQUESTS = range(110)
"""A few more than there are on an undisturbed journey."""
WRITES = range(75)


async def ends_the_same(first: Mishap, others: Mishap = nothing) -> None:
    undisturbed = await smooth()
    assert undisturbed.requests <= len(REQUESTS)
    assert undisturbed.writes <= len(WRITES)
    assert_same(await course(first, others), undisturbed)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("number", REQUESTS)
async def test_any_failure_of_any_request(number: int, fault: str) -> None:
    await ends_the_same(failing({number: FAULTS[fault]}))


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("number", REQUESTS)
async def test_all_watches_spoilt_before_any_request(number: int, cut: str) -> None:
    await ends_the_same(spoiling({number: CUTS[cut]}))


@pytest.mark.parametrize("plural", KINDS)
@pytest.mark.parametrize("cut", ["stalled", "expired", "reset"])
@pytest.mark.parametrize("number", REQUESTS)
async def test_the_watch_of_one_kind_spoilt_before_any_request(number: int, cut: str, plural: str) -> None:
    await ends_the_same(spoiling({number: CUTS[cut]}, plural))


@pytest.mark.parametrize("other", KINDS)
@pytest.mark.parametrize("one", KINDS)
@pytest.mark.parametrize("copies", [1, 2])
async def test_events_of_any_two_kinds_come_late_and_twice(copies: int, one: str, other: str) -> None:
    await ends_the_same(bending(copies, one, other))


@pytest.mark.parametrize("number", WRITES)
async def test_a_death_after_any_write(number: int) -> None:
    await ends_the_same(dying(number))


@pytest.mark.parametrize("later", [1, 2, 3, 5])
@pytest.mark.parametrize("number", WRITES)
async def test_a_death_after_any_write_and_again_and_again(number: int, later: int) -> None:
    await ends_the_same(dying(number), dying(later))
