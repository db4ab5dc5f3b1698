import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.fake_apiserver import FakeApiServer
from kit.faults import FaultInjectingTransport, Rejection, RequestFault
from kit.virtual_time import VirtualClock
from kohort.api.core.objects import ObjectReference
from kohort.kube.client import Client
from kohort.kube.events import EventLimits, EventRecorder, EventToRecord
from kohort.kube.transport import Request, Response

JOB = ObjectReference(api_version="batch/v1", kind="Job", namespace="ns", name="train", uid="u1")
ADMITTED = EventToRecord("Normal", "Admitted", "Admitted by ClusterQueue research")


class EventRecorderFixture:
    def __init__(self) -> None:
        self.api = FakeApiServer()
        self.clock = VirtualClock()
        self.network = FaultInjectingTransport(self.api, self.clock)
        self.client = Client(self.network, clock=self.clock, random=Random(1))  # noqa: S311
        self.recorder = EventRecorder(self.client, "kohort.dev/manager", "manager-1", EventLimits(buffer=40))
        self.task = asyncio.create_task(self.recorder.run())

    @property
    def events(self) -> list[dict[str, Any]]:
        return list(self.api.state("events").values())


@pytest.fixture
async def fixture() -> AsyncIterator[EventRecorderFixture]:
    fixture = EventRecorderFixture()
    yield fixture
    fixture.task.cancel()
    await asyncio.gather(fixture.task, return_exceptions=True)


async def test_an_event_has_all_fields_that_an_api_server_requires(fixture: EventRecorderFixture) -> None:
    fixture.recorder.record(JOB, ADMITTED)
    await fixture.clock.advance(1)
    (event,) = fixture.events
    assert event["metadata"]["name"].startswith("train.")
    del event["metadata"]
    assert event == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "regarding": {"apiVersion": "batch/v1", "kind": "Job", "namespace": "ns", "name": "train", "uid": "u1"},
        "type": "Normal",
        "reason": "Admitted",
        "action": "Admitted",
        "note": "Admitted by ClusterQueue research",
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "kohort.dev/manager",
        "reportingInstance": "manager-1",
    }


async def test_the_same_event_again_is_counted_and_rarely_written(fixture: EventRecorderFixture) -> None:
    for _ in range(100):
        fixture.recorder.record(JOB, ADMITTED)
        await fixture.clock.advance(1)
    await fixture.clock.advance(20)
    (event,) = fixture.events
    assert event["series"]["count"] == 100
    assert len(fixture.network.sent) <= 12


async def test_events_of_one_series_are_counted_together_with_any_messages(fixture: EventRecorderFixture) -> None:
    for victim in ("a", "b", "c"):
        fixture.recorder.record(JOB, EventToRecord("Normal", "Preempted", f"Preempted {victim}", series="7"))
    await fixture.clock.advance(1)
    fixture.recorder.record(JOB, EventToRecord("Normal", "Preempted", "Preempted d", series="7"))
    fixture.recorder.record(JOB, EventToRecord("Normal", "Preempted", "Preempted e", series="8"))
    await fixture.clock.advance(20)
    first, second = fixture.events
    assert (first["note"], first["series"]["count"]) == ("Preempted a", 4)
    assert second["note"] == "Preempted e"
    assert "series" not in second


async def test_after_a_long_pause_the_same_event_is_a_new_one(fixture: EventRecorderFixture) -> None:
    fixture.recorder.record(JOB, ADMITTED)
    await fixture.clock.advance(1000)
    fixture.recorder.record(JOB, ADMITTED)
    await fixture.clock.advance(1)
    assert len(fixture.events) == 2


async def test_an_object_that_talks_too_much_is_held_back(fixture: EventRecorderFixture) -> None:
    for number in range(100):
        fixture.recorder.record(JOB, EventToRecord("Warning", "Odd", f"message {number}"))
        await fixture.clock.advance(0.1)
    assert len(fixture.events) == 25
    assert fixture.recorder.dropped == 75


async def test_recording_never_waits_and_a_full_buffer_drops(fixture: EventRecorderFixture) -> None:
    fixture.network.disconnect()
    for number in range(100):
        fixture.recorder.record(ObjectReference(kind="Job", namespace="ns", name=f"job-{number}"), ADMITTED)
    assert fixture.recorder.dropped == 60
    fixture.network.reconnect()
    await fixture.clock.advance(100)
    assert len(fixture.events) == 40


async def test_an_event_that_is_refused_does_not_stop_the_others(fixture: EventRecorderFixture) -> None:
    fixture.network.fail_next(Rejection(403))
    fixture.recorder.record(JOB, ADMITTED)
    fixture.recorder.record(JOB, EventToRecord("Normal", "Started", "go"))
    await fixture.clock.advance(1)
    assert [event["reason"] for event in fixture.events] == ["Started"]
    assert fixture.recorder.dropped == 1


async def test_a_series_whose_event_is_gone_starts_anew(fixture: EventRecorderFixture) -> None:
    fixture.recorder.record(JOB, ADMITTED)
    await fixture.clock.advance(1)
    (key,) = fixture.api.state("events")
    fixture.api.remove("events", key)
    fixture.recorder.record(JOB, ADMITTED)
    await fixture.clock.advance(20)
    assert len(fixture.events) == 1


async def test_a_note_is_cut_to_what_a_server_takes(fixture: EventRecorderFixture) -> None:
    fixture.recorder.record(JOB, EventToRecord("Normal", "Long", "ü" * 2000))
    await fixture.clock.advance(1)
    note = fixture.events[0]["note"]
    assert len(note.encode()) <= 1024
    assert note.endswith("ü...")


async def test_events_report_the_time_at_which_they_happened_however_late_they_are_written(
    fixture: EventRecorderFixture,
) -> None:
    fixture.network.disconnect()
    fixture.recorder.record(JOB, ADMITTED)
    await fixture.clock.advance(3)
    fixture.recorder.record(JOB, ADMITTED)
    await fixture.clock.advance(1)
    fixture.network.reconnect()
    await fixture.clock.advance(30)
    (event,) = fixture.events
    assert event["eventTime"] == "2026-01-01T00:00:00.000000Z"
    assert event["series"] == {"count": 2, "lastObservedTime": "2026-01-01T00:00:03.000000Z"}


async def test_names_sort_by_time_so_that_lists_are_chronological(fixture: EventRecorderFixture) -> None:
    reasons = ["Pulled", "Created", "Started", "Killing"]
    for reason in reasons:
        fixture.recorder.record(JOB, EventToRecord("Normal", reason, "text"))
    await fixture.clock.advance(1)
    by_name = sorted(fixture.events, key=lambda event: str(event["metadata"]["name"]))
    assert [event["reason"] for event in by_name] == reasons


async def test_an_event_whose_response_was_lost_is_not_recorded_twice(fixture: EventRecorderFixture) -> None:
    fixture.network.fail_next(RequestFault.LOST_RESPONSE)
    fixture.recorder.record(JOB, ADMITTED)
    await fixture.clock.advance(1)
    fixture.recorder.record(JOB, ADMITTED)
    await fixture.clock.advance(20)
    (event,) = fixture.events
    assert event["series"]["count"] == 2


class SlowApiServer(FakeApiServer):
    """An API that takes a second for each write, and records how many it had at once."""

    clock: VirtualClock
    at_once = most = 0

    async def send(self, request: Request, timeout: float) -> Response:
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        await self.clock.sleep(1.0)
        self.at_once -= 1
        return await super().send(request, timeout)


@dataclass
class SlowRecorderFixture:
    """A recorder whose server is slow."""

    writers: int

    def __post_init__(self) -> None:
        self.clock = VirtualClock()
        self.api = SlowApiServer()
        self.api.clock = self.clock
        limits = EventLimits(writers=self.writers)
        self.recorder = EventRecorder(Client(self.api, clock=self.clock), "kohort.dev/manager", "manager-1", limits)

    @property
    def reported(self) -> list[tuple[str, str]]:
        """Object and reason of each event, in the order in which they were stored."""
        return [(event["regarding"]["name"], event["reason"]) for event in self.api.state("events").values()]


def job(number: int) -> ObjectReference:
    return ObjectReference(kind="Job", namespace="ns", name=f"job-{number}")


@given(st.lists(st.integers(0, 3), min_size=1, max_size=12), st.integers(1, 4))
def test_events_are_written_side_by_side_and_in_order_for_each_object(objects: list[int], writers: int) -> None:
    async def play() -> None:
        fixture = SlowRecorderFixture(writers)
        for number, about in enumerate(objects):
            fixture.recorder.record(job(about), EventToRecord("Normal", f"R{number}", "text"))
        running = asyncio.create_task(fixture.recorder.run())
        await fixture.clock.advance(len(objects))
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        for about in set(objects):
            expected = [f"R{number}" for number, each in enumerate(objects) if each == about]
            assert [reason for name, reason in fixture.reported if name == f"job-{about}"] == expected
        assert fixture.api.most == min(writers, len(set(objects)))

    asyncio.run(play())


async def test_the_end_writes_side_by_side_and_counts_what_there_was_no_time_for() -> None:
    fixture = SlowRecorderFixture(writers=4)
    for number in range(30):
        fixture.recorder.record(job(number), ADMITTED)
    flushing = asyncio.create_task(fixture.recorder.flush(5.0))
    await fixture.clock.advance(5)
    await asyncio.wait_for(flushing, 60)
    assert len(fixture.reported) in (16, 20)
    assert fixture.recorder.dropped == 30 - len(fixture.reported)


async def test_at_the_end_everything_is_written(fixture: EventRecorderFixture) -> None:
    fixture.recorder.record(JOB, ADMITTED)
    await fixture.clock.advance(1)
    fixture.recorder.record(JOB, ADMITTED)
    fixture.task.cancel()
    await fixture.recorder.flush()
    assert fixture.events[0]["series"]["count"] == 2
    assert json.loads(fixture.network.sent[-1].body)["series"]["lastObservedTime"] == "2026-01-01T00:00:01.000000Z"


async def test_the_end_does_not_wait_for_a_server_that_is_away(fixture: EventRecorderFixture) -> None:
    fixture.network.disconnect()
    for number in range(30):
        fixture.recorder.record(ObjectReference(kind="Job", namespace="ns", name=f"job-{number}"), ADMITTED)
    flushing = asyncio.create_task(fixture.recorder.flush())
    await fixture.clock.advance(6)
    await asyncio.wait_for(flushing, 60)


async def test_the_number_of_cached_events_and_objects_is_bounded() -> None:
    fixture = EventRecorderFixture()
    fixture.recorder = EventRecorder(
        fixture.client, "kohort.dev/manager", "manager-1", EventLimits(buffer=5, remembered=7)
    )
    for number in range(100):
        fixture.recorder.record(ObjectReference(kind="Job", namespace="ns", name=f"job-{number}"), ADMITTED)
    assert (len(fixture.recorder._series), len(fixture.recorder._limiters)) == (7, 7)
    fixture.task.cancel()
