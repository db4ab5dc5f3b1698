"""How often an object is looked at: soon, and then at most once in a second (API-106)."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from kit.virtual_time import VirtualClock
from kohort.controllers.queues.throttle import (
    BATCH_SECONDS,
    INTERVAL,
    MAX_SLOWDOWN,
    UNTHROTTLED_OBJECTS,
    UpdateThrottle,
)
from kohort.controllers.server_load import IDLE_SECONDS, MAX_FACTOR, ServerLoad
from kohort.kube.workqueue import WorkQueue


async def looks_at(events: list[float], strain: ServerLoad | None = None) -> list[float]:
    """The moments at which a key is looked at that was booked at these moments."""
    clock = VirtualClock()
    queue: WorkQueue[str] = WorkQueue(clock)
    pace = UpdateThrottle(queue, clock, strain or ServerLoad())
    looks: list[float] = []

    async def pass_time(until: float) -> None:
        while clock.now() < until:
            await clock.advance(min(0.05, until - clock.now()))
            while len(queue):
                pace.started(await queue.get())
                looks.append(clock.now())
                queue.done("q")

    for moment in events:
        await pass_time(moment)
        pace.schedule("q")
    await pass_time(clock.now() + 3 * INTERVAL)
    queue.shut_down()
    return looks


async def test_the_first_event_is_written_within_a_moment() -> None:
    (look,) = await looks_at([5.0])
    assert look - 5.0 < BATCH_SECONDS + 0.06


async def test_many_events_result_in_one_reconciliation_a_second() -> None:
    looks = await looks_at([number / 100 for number in range(300)])
    assert len(looks) <= 5


def strained(seconds: float) -> ServerLoad:
    """As after many writes that took so long."""
    strain = ServerLoad()
    for _ in range(100):
        strain.observe(seconds)
    return strain


async def test_statuses_of_a_busy_server_are_written_less_often() -> None:
    looks = await looks_at([number / 100 for number in range(900)], strained(1.5 * IDLE_SECONDS))
    assert all(later - earlier > 2.25 * INTERVAL - 0.1 for earlier, later in pairwise(looks))
    assert len(looks) >= 3


async def looks_at_many(number: int, strain: ServerLoad, seconds: int) -> list[float]:
    """The intervals between reconciliations of one of many objects that change all the time."""
    clock = VirtualClock()
    queue: WorkQueue[int] = WorkQueue(clock)
    pace, last, distances = UpdateThrottle(queue, clock, strain), dict.fromkeys(range(number), 0.0), []
    for _ in range(seconds * 10):
        for each in range(number):
            pace.schedule(each)
        await clock.advance(0.1)
        while len(queue):
            pace.started(found := await queue.get())
            queue.done(found)
            distances.append(clock.now() - last[found])
            last[found] = clock.now()
    queue.shut_down()
    return distances[number:]


async def test_the_more_objects_change_the_less_often_each_is_written_on_a_busy_server() -> None:
    busy = strained(1.5 * IDLE_SECONDS)
    few, many = [await looks_at_many(number, busy, 60) for number in (UNTHROTTLED_OBJECTS, 4 * UNTHROTTLED_OBJECTS)]
    assert max(few) < 2.25 * INTERVAL + 0.3
    assert min(many) > 2.25 * INTERVAL - 0.1
    assert len(many) < 1.75 * len(few)


async def test_on_an_idle_server_each_change_is_written_within_a_second() -> None:
    assert max(await looks_at_many(300, ServerLoad(), 5)) < INTERVAL + 0.3


async def test_no_write_waits_for_longer_than_a_minute() -> None:
    assert 0 < max(await looks_at_many(300, strained(10), 150)) < MAX_SLOWDOWN * INTERVAL + 0.3


@given(st.lists(st.floats(0, 100), max_size=50))
def test_strain_stays_within_bounds_and_passes(answers: list[float]) -> None:
    strain = ServerLoad()
    for seconds in answers:
        strain.observe(seconds)
        assert 1 <= strain.factor <= MAX_FACTOR
    for _ in range(200):
        strain.observe(0.0)
    assert strain.factor == 1


@given(st.lists(st.floats(0, 6), min_size=1, max_size=12).map(sorted))
async def test_every_event_is_followed_by_a_reconciliation_within_a_second_and_these_keep_their_distance(
    events: list[float],
) -> None:
    looks = await looks_at(events)
    assert all(later - earlier > INTERVAL - 0.06 for earlier, later in pairwise(looks))
    for event in events:
        assert any(event <= look <= event + INTERVAL + 0.11 for look in looks)
