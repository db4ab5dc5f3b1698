"""Every kind of failure at every request, every watch spoilt at every moment, a death after every write.

Runs only when asked for by name, `pytest tests/journeys/every_fault.py`; `test_flow_faults` has a spread of it.
"""

import pytest

from journeys.mishaps import (
    CUTS,
    FAULTS,
    KINDS,
    Course,
    assert_same,
    bending,
    course,
    dying,
    failing,
    nothing,
    spoiling,
)

REQUESTS = range(110)
"""A few more than there are on an undisturbed journey."""
WRITES = range(75)

_smooth: list[Course] = []


async def smooth() -> Course:
    """The undisturbed journey, made once."""
    if not _smooth:
        _smooth.append(await course(nothing))
        assert _smooth[0].requests <= len(REQUESTS)
        assert _smooth[0].writes <= len(WRITES)
    return _smooth[0]


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("number", REQUESTS)
async def test_any_failure_of_any_request(number: int, fault: str) -> None:
    assert_same(await course(failing(FAULTS[fault], range(number, number + 1))), await smooth())


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("number", REQUESTS)
async def test_all_watches_spoilt_before_any_request(number: int, cut: str) -> None:
    assert_same(await course(spoiling(CUTS[cut], range(number, number + 1))), await smooth())


@pytest.mark.parametrize("plural", KINDS)
@pytest.mark.parametrize("cut", ["stalled", "expired", "reset"])
@pytest.mark.parametrize("number", REQUESTS)
async def test_the_watch_of_one_kind_spoilt_before_any_request(number: int, cut: str, plural: str) -> None:
    assert_same(await course(spoiling(CUTS[cut], range(number, number + 1), plural)), await smooth())


@pytest.mark.parametrize("other", KINDS)
@pytest.mark.parametrize("one", KINDS)
@pytest.mark.parametrize("copies", [1, 2])
async def test_events_of_any_two_kinds_come_late_and_twice(copies: int, one: str, other: str) -> None:
    assert_same(await course(bending(copies, one, other)), await smooth())


@pytest.mark.parametrize("number", WRITES)
async def test_a_death_after_any_write(number: int) -> None:
    assert_same(await course(dying(number)), await smooth())


@pytest.mark.parametrize("later", [1, 2, 3, 5])
@pytest.mark.parametrize("number", WRITES)
async def test_a_death_after_any_write_and_again_and_again(number: int, later: int) -> None:
    assert_same(await course(dying(number), dying(later)), await smooth())
