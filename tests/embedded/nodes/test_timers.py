"""Many alarms on one clock."""

from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.virtual_time import VirtualClock
from kohort.embedded.nodes.timers import Timer, Timers


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
async def timers(clock: VirtualClock) -> AsyncIterator[Timers]:
    made = Timers(clock)
    made.start()
    yield made
    await made.stop()


async def test_alarms_ring_in_the_order_of_their_time(clock: VirtualClock, timers: Timers) -> None:
    rung: list[int] = []
    for seconds in (3, 1, 2):
        timers.after(seconds, lambda seconds=seconds: rung.append(seconds))  # type: ignore[misc]
    await clock.advance(2)
    assert rung == [1, 2]
    await clock.advance(1)
    assert rung == [1, 2, 3]


async def test_a_cancelled_alarm_never_rings_and_leaves_the_heap_in_time(clock: VirtualClock, timers: Timers) -> None:
    rung: list[int] = []
    alarms = [timers.after(10**6 + number, lambda: rung.append(1)) for number in range(5000)]
    timers.after(1, lambda: rung.append(2))
    for alarm in alarms:
        alarm.cancel()
    assert len(timers) == 1
    assert len(timers._heap) < 1100
    await clock.advance(1)
    assert rung == [2]


async def test_an_alarm_may_set_another_one(clock: VirtualClock, timers: Timers) -> None:
    rung: list[float] = []

    def again() -> None:
        rung.append(clock.now())
        if len(rung) < 4:
            timers.after(0 if len(rung) == 1 else 5, again)

    timers.after(5, again)
    await clock.advance(20)
    assert rung == [5, 5, 10, 15]


async def test_an_alarm_that_fails_does_not_keep_others_from_ringing(
    clock: VirtualClock, timers: Timers, caplog: pytest.LogCaptureFixture
) -> None:
    rung: list[int] = []
    timers.after(1, lambda: rung.append(1 // 0))
    timers.after(1, lambda: rung.append(2))
    await clock.advance(1)
    assert rung == [2]
    assert "timer callback failed" in caplog.text


async def test_nothing_rings_after_the_end(clock: VirtualClock) -> None:
    timers = Timers(clock)
    rung: list[int] = []
    timers.start()
    timers.after(1, lambda: rung.append(1))
    await timers.stop()
    await clock.advance(5)
    assert (rung, clock.sleepers) == ([], 0)


@given(st.lists(st.tuples(st.integers(0, 20), st.booleans()), max_size=30))
async def test_every_alarm_rings_once_at_its_time_unless_it_is_cancelled(wanted: list[tuple[int, bool]]) -> None:
    clock = VirtualClock()
    timers = Timers(clock)
    timers.start()
    rung: list[tuple[int, float]] = []
    alarms: list[tuple[Timer, bool]] = []
    for number, (seconds, cancelled) in enumerate(wanted):
        alarm = timers.after(seconds, lambda number=number: rung.append((number, clock.now())))  # type: ignore[misc]
        alarms.append((alarm, cancelled))
    for alarm, cancelled in alarms:
        if cancelled:
            alarm.cancel()
    await clock.advance(20)
    expected = {(number, float(seconds)) for number, (seconds, cancelled) in enumerate(wanted) if not cancelled}
    assert (set(rung), len(rung)) == (expected, len(expected))
    await timers.stop()
