"""Every kind of fault at every request, every watch interrupted at every moment, a crash after every write.

Runs only when selected by name (`make test-faults`); `test_flow_faults` has a sample of it.
"""

import pytest

from e2e.faults import (
    FAULTS,
    KINDS,
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

REQUESTS = range(110)
"""A few more than a run without faults sends."""
WRITES = range(75)


async def assert_unchanged_by(first: FaultSetup, others: FaultSetup = no_fault) -> None:
    expected = await run_without_faults()
    assert expected.requests <= len(REQUESTS)
    assert expected.writes <= len(WRITES)
    assert_same_outcome(await run_scenario(first, others), expected)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("number", REQUESTS)
async def test_any_failure_of_any_request(number: int, fault: str) -> None:
    await assert_unchanged_by(failing_requests({number: FAULTS[fault]}))


@pytest.mark.parametrize("cut", STREAM_FAULTS)
@pytest.mark.parametrize("number", REQUESTS)
async def test_all_watches_interrupted_before_any_request(number: int, cut: str) -> None:
    await assert_unchanged_by(interrupting_watches({number: STREAM_FAULTS[cut]}))


@pytest.mark.parametrize("plural", KINDS)
@pytest.mark.parametrize("cut", ["stalled", "expired", "reset"])
@pytest.mark.parametrize("number", REQUESTS)
async def test_the_watch_of_one_kind_interrupted_before_any_request(number: int, cut: str, plural: str) -> None:
    await assert_unchanged_by(interrupting_watches({number: STREAM_FAULTS[cut]}, plural))


@pytest.mark.parametrize("other", KINDS)
@pytest.mark.parametrize("one", KINDS)
@pytest.mark.parametrize("copies", [1, 2])
async def test_events_of_any_two_kinds_come_late_and_twice(copies: int, one: str, other: str) -> None:
    await assert_unchanged_by(delaying_watch_events(copies, one, other))


@pytest.mark.parametrize("number", WRITES)
async def test_a_crash_after_any_write(number: int) -> None:
    await assert_unchanged_by(crashing_after(number))


@pytest.mark.parametrize("later", [1, 2, 3, 5])
@pytest.mark.parametrize("number", WRITES)
async def test_repeated_crashes_after_any_write(number: int, later: int) -> None:
    await assert_unchanged_by(crashing_after(number), crashing_after(later))
