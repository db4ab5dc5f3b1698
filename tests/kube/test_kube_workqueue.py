import asyncio
import logging
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.virtual_time import VirtualClock, settle
from kohort.kube.backoff import Backoff
from kohort.kube.controller import Controller, RequeueAfter
from kohort.kube.errors import MODIFIED, ErrorSubject, StatusError, conflict
from kohort.kube.workqueue import RetryLimits, ShutDownError, WorkQueue


async def taken(queue: WorkQueue[str]) -> str:
    return await asyncio.wait_for(queue.get(), 60)


async def test_a_key_waits_once_however_often_it_comes() -> None:
    queue = WorkQueue[str](VirtualClock())
    for key in "abaab":
        queue.add(key)
    assert len(queue) == 2
    assert [await taken(queue), await taken(queue)] == ["a", "b"]


async def test_a_key_added_while_it_is_processed_is_processed_again() -> None:
    queue = WorkQueue[str](VirtualClock())
    queue.add("a")
    key = await taken(queue)
    queue.add("a")
    assert len(queue) == 0
    queue.done(key)
    assert await taken(queue) == "a"
    queue.done("a")
    assert (len(queue), queue.in_flight) == (0, 0)


async def test_higher_priorities_go_first_and_a_waiting_key_rises() -> None:
    queue = WorkQueue[str](VirtualClock())
    queue.add("low")
    queue.add("high", priority=10)
    queue.add("risen")
    queue.add("risen", priority=20)
    queue.add("high", priority=-5)
    assert [await taken(queue) for _ in range(3)] == ["risen", "high", "low"]
    assert len(queue) == 0


async def test_a_delayed_key_comes_at_its_time_and_the_earliest_time_counts() -> None:
    clock = VirtualClock()
    queue = WorkQueue[str](clock)
    queue.add_after("a", 60)
    queue.add_after("b", 30)
    queue.add_after("a", 10)
    queue.add_after("a", 90)
    await clock.advance(9)
    assert len(queue) == 0
    await clock.advance(1)
    assert await taken(queue) == "a"
    await clock.advance(20)
    assert await taken(queue) == "b"
    await clock.advance(100)
    assert (len(queue), queue.delayed) == (0, 0)


async def test_failures_of_a_key_make_it_wait_longer_until_it_does_well() -> None:
    clock = VirtualClock()
    limits = RetryLimits(Backoff(base=1, cap=5, jitter=0), rate=100, burst=100)
    queue = WorkQueue[str](clock, limits=limits)
    assert [queue.retry("a") for _ in range(5)] == [1, 2, 4, 5, 5]
    assert (queue.retry("b"), queue.retry("a")) == (1, 5)
    queue.forget("a")
    assert queue.retry("a") == 1
    queue.shut_down()


async def test_many_failing_keys_together_are_held_back() -> None:
    clock = VirtualClock()
    queue = WorkQueue[str](clock, limits=RetryLimits(rate=1, burst=2))
    waits = [queue.retry(str(number)) for number in range(5)]
    assert waits[:2] == [0.005, 0.005]
    assert waits[2:] == [1, 2, 3]
    queue.shut_down()


@pytest.mark.parametrize("story", ["key, cancel", "cancel, key"])
async def test_a_worker_that_is_cancelled_leaves_its_key_to_another(story: str) -> None:
    queue = WorkQueue[str](VirtualClock())
    workers = [asyncio.create_task(queue.get()) for _ in range(3)]
    await settle()
    for step in story.split(", "):
        if step == "key":
            queue.add("a")
        else:
            workers[0].cancel()
    await settle()
    assert [worker.done() for worker in workers] == [True, True, False]
    assert (workers[0].cancelled(), workers[1].result()) == (True, "a")
    queue.shut_down()
    with pytest.raises(ShutDownError):
        await workers[2]


async def test_a_closed_queue_accepts_and_returns_nothing() -> None:
    clock = VirtualClock()
    queue = WorkQueue[str](clock)
    waiting = asyncio.create_task(queue.get())
    queue.add_after("later", 5)
    await settle()
    queue.shut_down()
    queue.add("a")
    queue.add_after("b", 1)
    with pytest.raises(ShutDownError):
        await asyncio.wait_for(waiting, 60)
    await settle()
    assert (len(queue), queue.delayed, clock.sleepers) == (0, 0, 0)


@given(st.lists(st.tuples(st.sampled_from(["add", "after", "take", "done"]), st.integers(0, 3)), max_size=60))
def test_no_key_is_lost_and_none_is_worked_on_twice_at_a_time(story: list[tuple[str, int]]) -> None:
    async def play() -> None:
        clock = VirtualClock()
        queue = WorkQueue[int](clock)
        owed, later, running = set[int](), dict[int, float](), set[int]()

        async def take() -> None:
            found = await asyncio.wait_for(queue.get(), 60)
            assert found not in running
            running.add(found)
            owed.discard(found)

        async def pass_time(seconds: float) -> None:
            await clock.advance(seconds)
            for key in [key for key, due in later.items() if due <= clock.now()]:
                del later[key]
                owed.add(key)

        for what, key in story:
            if what == "add":
                queue.add(key, priority=key % 2)
                owed.add(key)
            elif what == "after":
                queue.add_after(key, key + 1)
                later[key] = min(later.get(key, 99), clock.now() + key + 1)
            elif what == "take" and len(queue):
                await take()
            elif what == "done" and key in running:
                running.remove(key)
                queue.done(key)
            await pass_time(0.5)
        await pass_time(10)
        for key in sorted(running):
            running.remove(key)
            queue.done(key)
        while len(queue):
            await take()
        assert owed == set()
        queue.shut_down()

    asyncio.run(asyncio.wait_for(play(), 60))


# Controllers


class ControllerFixture:
    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.queue = WorkQueue[str](self.clock)
        self.seen: list[tuple[str, float]] = []
        self.answers: dict[str, list[RequeueAfter | Exception | float]] = {}
        self.controller = Controller("test", self.queue, self.reconcile, self.clock)

    async def reconcile(self, key: str) -> RequeueAfter | None:
        self.seen.append((key, round(self.clock.now(), 3)))
        answer = self.answers[key].pop(0) if self.answers.get(key) else None
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, float):
            await self.clock.sleep(answer)
            return None
        return answer


@pytest.fixture
async def fixture() -> AsyncIterator[ControllerFixture]:
    fixture = ControllerFixture()
    yield fixture
    await fixture.controller.stop(0)


async def test_an_error_is_logged_once_and_the_key_comes_back(
    fixture: ControllerFixture, caplog: pytest.LogCaptureFixture
) -> None:
    fixture.answers["a"] = [StatusError(403, "Forbidden", "not allowed"), RuntimeError("a bug")]
    fixture.controller.start()
    fixture.queue.add("a")
    await fixture.clock.advance(1)
    assert [key for key, _ in fixture.seen] == ["a", "a", "a"]
    assert [record.levelno for record in caplog.records] == [logging.WARNING, logging.ERROR]
    assert "test a: reconcile failed, requeueing after 0.005 s: not allowed" in caplog.text
    assert fixture.queue.retry("a") == fixture.queue.retry("another")


async def test_a_conflict_is_no_news(fixture: ControllerFixture, caplog: pytest.LogCaptureFixture) -> None:
    fixture.answers["a"] = [conflict(ErrorSubject("pods", name="a"), MODIFIED)]
    fixture.controller.start()
    fixture.queue.add("a")
    await fixture.clock.advance(1)
    assert len(fixture.seen) == 2
    assert caplog.records == []


async def test_a_reconcile_can_request_another_one(fixture: ControllerFixture) -> None:
    fixture.answers["a"] = [RequeueAfter(after=30)]
    fixture.controller.start()
    fixture.queue.add("a")
    await fixture.clock.advance(100)
    assert fixture.seen == [("a", 0), ("a", 30)]


async def test_workers_share_the_keys(fixture: ControllerFixture) -> None:
    fixture.answers = {key: [10.0] for key in "abc"}
    fixture.controller.start(workers=2)
    for key in "abc":
        fixture.queue.add(key)
    await fixture.clock.advance(20)
    assert fixture.seen == [("a", 0), ("b", 0), ("c", 10)]


async def test_a_stop_waits_for_what_has_begun(fixture: ControllerFixture) -> None:
    fixture.answers = {"a": [10.0]}
    fixture.controller.start()
    fixture.queue.add("a")
    await settle()
    fixture.queue.add("b")
    stopping = asyncio.create_task(fixture.controller.stop(grace=60))
    await fixture.clock.advance(5)
    assert not stopping.done()
    await fixture.clock.advance(6)
    assert stopping.done()
    await stopping
    assert fixture.seen == [("a", 0)]


async def test_a_stop_cuts_off_what_takes_too_long(
    fixture: ControllerFixture, caplog: pytest.LogCaptureFixture
) -> None:
    fixture.answers = {"a": [1000.0]}
    fixture.controller.start()
    fixture.queue.add("a")
    await settle()
    stopping = asyncio.create_task(fixture.controller.stop(grace=5))
    await fixture.clock.advance(6)
    await asyncio.wait_for(stopping, 60)
    assert "reconciles cancelled" in caplog.text
    assert fixture.queue.in_flight == 0
