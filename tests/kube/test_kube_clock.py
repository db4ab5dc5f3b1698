import asyncio
from datetime import timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.virtual_time import VirtualClock, settle
from kohort.kube.backoff import Backoff
from kohort.kube.clock import within
from kohort.kube.rate_limiter import TokenBucket

RANDOM = Random(1)  # noqa: S311


async def test_sleepers_are_resumed_at_their_own_time_and_in_order() -> None:
    clock, woken = VirtualClock(), list[tuple[str, float]]()

    async def sleeper(name: str, seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append((name, clock.now()))

    tasks = [asyncio.create_task(sleeper(*who)) for who in (("late", 5.0), ("first", 1.0), ("second", 1.0))]
    await clock.advance(0.5)
    assert woken == []
    await clock.advance(10)
    assert woken == [("first", 1.0), ("second", 1.0), ("late", 5.0)]
    assert clock.wall() == VirtualClock().wall() + timedelta(seconds=10.5)
    await asyncio.gather(*tasks)


async def test_a_cancelled_sleeper_does_not_block_the_clock() -> None:
    clock = VirtualClock()
    task = asyncio.create_task(clock.sleep(1))
    await settle()
    task.cancel()
    await settle()
    assert clock.sleepers == 0
    await clock.advance(2)
    assert clock.now() == 2


async def test_work_that_takes_too_long_is_cancelled() -> None:
    clock, cancelled = VirtualClock(), asyncio.Event()

    async def work() -> None:
        try:
            await clock.sleep(100)
        finally:
            cancelled.set()

    attempt = asyncio.create_task(within(clock, 5, work()))
    await clock.advance(4.9)
    assert not attempt.done()
    await clock.advance(0.2)
    with pytest.raises(TimeoutError):
        await attempt
    assert cancelled.is_set()


async def test_work_done_in_time_returns_its_result_and_leaves_no_sleeper() -> None:
    clock = VirtualClock()

    async def work() -> int:
        return 7

    assert await within(clock, 5, work()) == 7
    assert clock.sleepers == 0


@given(st.integers(1, 10_000), st.floats(0, 1))
def test_waits_grow_and_stay_below_the_cap(failures: int, jitter: float) -> None:
    backoff = Backoff(base=0.5, cap=30, jitter=jitter)
    assert backoff.steady(failures) <= backoff.steady(failures + 1) <= 30
    assert 0 <= backoff.delay(failures, RANDOM) <= backoff.steady(failures)


async def test_a_bucket_passes_the_burst_and_then_one_by_one() -> None:
    clock = VirtualClock()
    bucket = TokenBucket(clock, rate=2, burst=3)
    assert [bucket.reserve() for _ in range(5)] == [0, 0, 0, 0.5, 1.0]
    await clock.advance(10)
    assert [bucket.try_take() for _ in range(4)] == [True, True, True, False]


@given(st.lists(st.floats(0, 3), max_size=30))
def test_no_window_sees_more_than_burst_and_rate(pauses: list[float]) -> None:
    async def run() -> list[float]:
        clock = VirtualClock()
        bucket, taken = TokenBucket(clock, rate=2, burst=3), []
        for pause in pauses:
            await clock.advance(pause)
            taken.append(clock.now() + bucket.reserve())
        return taken

    times = asyncio.run(run())
    for first in range(len(times)):
        for last in range(first, len(times)):
            assert last - first + 1 <= 3 + 2 * (times[last] - times[first]) + 1e-6


@pytest.mark.parametrize(("rate", "burst"), [(0, 1), (-1, 1), (1, 0)])
def test_a_bucket_without_tokens_is_rejected(rate: float, burst: int) -> None:
    with pytest.raises(ValueError, match="burst"):
        TokenBucket(VirtualClock(), rate, burst)
