import asyncio
import logging
from collections.abc import AsyncIterator
from datetime import timedelta
from random import Random

import pytest

from kit.fake_apiserver import FakeApiServer
from kit.faults import FaultInjectingTransport, StreamFault
from kohort.api.core.config_objects import ConfigMap
from kohort.api.meta import ObjectKey, ObjectMeta
from kohort.kube.client import Client
from kohort.kube.clock import START, VirtualClock, settle
from kohort.kube.informer import Informer, SharedInformerFactory
from kohort.kube.metrics import NO_METRICS
from kohort.kube.notifying_store import NotifyingStore
from kohort.kube.options import ListScope
from kohort.kube.resource_types import typed_resource
from kohort.kube.sync_status import SyncState
from kohort.kube.watch_events import WatchEvent, WatchEventType
from kube.event_chains import EventChainChecker

KEY = ("ns", "a")


class InformerFixture:
    def __init__(self) -> None:
        self.api = FakeApiServer()
        self.clock = VirtualClock()
        self.network = FaultInjectingTransport(self.api, self.clock)
        self.client = Client(self.network, clock=self.clock, random=Random(1))  # noqa: S311
        self.informers = SharedInformerFactory(self.client)

    def put(self, name: str, **data: str) -> None:
        self.api.put("configmaps", ("ns", name), data=data)

    async def live(self) -> Informer[ConfigMap]:
        informer = self.informers.of(ConfigMap)
        self.informers.start()
        await settle()
        assert informer.synced
        return informer

    def watches(self) -> list[dict[str, str]]:
        return [dict(request.query) for request in self.network.sent if "watch" in dict(request.query)]

    def lists(self) -> int:
        return len(self.network.sent) - len(self.watches())


@pytest.fixture
async def room() -> AsyncIterator[InformerFixture]:
    room = InformerFixture()
    yield room
    await room.informers.stop()


async def test_an_informer_starts_not_live_and_says_so_until_its_watch_is_open(room: InformerFixture) -> None:
    room.network.disconnect()
    informer = room.informers.of(ConfigMap)
    assert informer.sync_status.state is SyncState.STARTING
    room.informers.start()
    await room.clock.advance(60)
    assert informer.sync_status.state is SyncState.STARTING
    assert "connection refused" in informer.sync_status.why
    room.network.reconnect()
    await room.clock.advance(60)
    assert informer.synced
    await asyncio.wait_for(informer.wait_for_sync(), 60)


async def test_a_cache_that_was_live_is_stale_from_the_moment_it_is_cut_off(room: InformerFixture) -> None:
    informer = await room.live()
    await room.clock.advance(100)
    room.network.disconnect()
    await settle()
    assert not informer.synced
    await room.clock.advance(300)
    assert informer.sync_status.state is SyncState.STALE
    assert informer.sync_status.since == START + timedelta(seconds=100)
    assert "connection refused" in str(informer.sync_status)
    assert room.informers.not_synced() == {"ConfigMap": informer.sync_status}


async def test_a_server_that_stalls_is_noticed(room: InformerFixture, caplog: pytest.LogCaptureFixture) -> None:
    informer = await room.live()
    room.network.stall_streams()
    room.put("a")
    await room.clock.advance(140)
    assert len(informer.cache) == 0
    with caplog.at_level(logging.DEBUG):
        await room.clock.advance(20)
    assert "no data for 150 s" in caplog.text
    assert informer.synced
    assert informer.cache.get(KEY) is not None


async def test_bookmarks_keep_a_quiet_watch_alive(room: InformerFixture) -> None:
    await room.live()
    for _ in range(4):
        await room.clock.advance(60)
        room.api.bookmark()
    assert len(room.watches()) == 1


async def test_a_watch_ends_by_itself_where_the_server_does_not_end_it(room: InformerFixture) -> None:
    await room.live()
    asked = int(room.watches()[0]["timeoutSeconds"])
    assert 300 <= asked <= 600
    for _ in range(asked // 60 + 1):
        await room.clock.advance(60)
        room.api.bookmark()
    assert len(room.watches()) == 2


async def test_a_watch_resumes_where_it_ended_without_listing(room: InformerFixture) -> None:
    informer = await room.live()
    room.put("a", x="1")
    await room.clock.advance(5)
    room.network.end_streams(StreamFault.RESET)
    room.put("a", x="2")
    await room.clock.advance(1)
    assert room.lists() == 1
    assert [watch["resourceVersion"] for watch in room.watches()] == ["0", "1"]
    found = informer.cache.get(KEY)
    assert found is not None
    assert found.data == {"x": "2"}


async def test_a_bookmark_moves_the_place_to_resume_from(room: InformerFixture) -> None:
    await room.live()
    for _ in range(5):
        room.api.put("pods", ("ns", "other"))
    room.api.bookmark()
    await room.clock.advance(5)
    room.network.end_streams(StreamFault.CLEAN)
    await room.clock.advance(1)
    assert room.watches()[-1]["resourceVersion"] == "5"


async def test_a_server_that_went_back_in_time_is_listed_anew(room: InformerFixture) -> None:
    informer = await room.live()
    room.put("a", x="1")
    room.put("a", x="2")
    await room.clock.advance(5)
    room.api.roll_back(1)
    room.api.bookmark()
    await room.clock.advance(1)
    found = informer.cache.get(KEY)
    assert found is not None
    assert (room.lists(), found.data) == (2, {"x": "1"})


async def test_a_server_that_ends_each_watch_at_once_is_not_hammered(room: InformerFixture) -> None:
    informer = await room.live()
    for _ in range(400):
        room.api.end_watches()
        await room.clock.advance(0.25)
    assert len(room.watches()) < 25
    await room.clock.advance(60)
    assert informer.synced


async def test_a_definition_that_changes_is_not_worth_a_line_of_log(
    room: InformerFixture, caplog: pytest.LogCaptureFixture
) -> None:
    informer = await room.live()
    with caplog.at_level(logging.INFO):
        room.api.end_watches()
        room.put("a", x="1")
        room.api.compact()
        await room.clock.advance(5)
    assert informer.synced
    assert informer.cache.get(KEY) is not None
    assert caplog.records == []


async def test_a_server_that_never_knows_our_revision_is_told_of_and_not_hammered(
    room: InformerFixture, caplog: pytest.LogCaptureFixture
) -> None:
    await room.live()
    before = room.lists()
    room.api.oldest = 10**9
    with caplog.at_level(logging.INFO):
        room.api.end_watches()
        for _ in range(60):
            await room.clock.advance(1)
    assert 5 < room.lists() - before < 25
    assert [record.message.split(":")[1] for record in caplog.records] == [" watch failed"]


async def test_an_outage_of_an_hour_costs_less_than_a_request_per_second_and_two_lines_of_log(
    room: InformerFixture, caplog: pytest.LogCaptureFixture
) -> None:
    informer = await room.live()
    await room.clock.advance(5)
    before = room.network.attempts
    room.network.disconnect()
    with caplog.at_level(logging.INFO):
        await room.clock.advance(3600)
        room.network.reconnect()
        await room.clock.advance(60)
    assert room.network.attempts - before < 3600
    assert informer.synced
    assert [record.message.split(":")[1] for record in caplog.records] == [" watch failed", " watch re-established"]


async def test_an_index_follows_every_change(room: InformerFixture) -> None:
    informer = await room.live()
    informer.index("by colour", lambda found: [found.data["colour"]] if "colour" in found.data else [])
    room.put("a", colour="red")
    room.put("b", colour="red")
    room.put("c")
    await settle()
    assert {one.metadata.name for one in informer.cache.find("by colour", "red")} == {"a", "b"}
    room.put("a", colour="blue")
    room.api.remove("configmaps", ("ns", "b"))
    await settle()
    assert informer.cache.find("by colour", "red") == []
    assert informer.cache.values("by colour") == ["blue"]
    informer.index("by name", lambda found: [found.metadata.name])
    assert len(informer.cache.find("by name", "c")) == 1


def by_name(found: ConfigMap) -> list[str]:
    return [found.metadata.name]


async def test_an_index_name_stands_for_one_function(room: InformerFixture) -> None:
    informer = room.informers.of(ConfigMap)
    informer.index("name", by_name)
    informer.index("name", by_name)
    with pytest.raises(ValueError, match="another function"):
        informer.index("name", lambda _: [])


async def test_who_comes_late_hears_of_everything_that_is_there(room: InformerFixture) -> None:
    room.put("a")
    room.put("b")
    informer = await room.live()
    chains = EventChainChecker(typed_resource(ConfigMap))
    informer.subscribe(chains)
    assert sorted(chains.calls) == ["+ns/a", "+ns/b"]


async def test_a_name_that_was_taken_by_another_object_is_told_as_going_and_coming(room: InformerFixture) -> None:
    room.put("a")
    informer = await room.live()
    chains = EventChainChecker(typed_resource(ConfigMap))
    informer.subscribe(chains)
    room.network.disconnect()
    room.api.remove("configmaps", KEY)
    room.put("a")
    room.network.reconnect()
    await room.clock.advance(60)
    assert chains.calls == ["+ns/a", "-ns/a", "+ns/a"]


async def test_a_handler_that_fails_does_not_keep_others_from_hearing(
    room: InformerFixture, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_old: ConfigMap | None, _new: ConfigMap | None) -> None:
        raise RuntimeError("a bug")

    informer = await room.live()
    chains = EventChainChecker(typed_resource(ConfigMap))
    informer.subscribe(broken)
    informer.subscribe(chains)
    room.put("a")
    await settle()
    assert chains.calls == ["+ns/a"]
    assert informer.synced
    assert "ConfigMap: event handler failed" in caplog.text


async def test_an_index_that_fails_is_told_and_does_not_end_the_informer(
    room: InformerFixture, caplog: pytest.LogCaptureFixture
) -> None:
    informer = await room.live()
    bugs = ["a bug"]

    def values(found: ConfigMap) -> list[str]:
        if bugs:
            raise RuntimeError(bugs[0])
        return [found.metadata.name]

    informer.index("odd", values)
    room.put("a")
    await room.clock.advance(5)
    assert room.informers.not_synced()
    assert "internal error" in informer.sync_status.why
    bugs.clear()
    await room.clock.advance(60)
    assert informer.synced
    assert len(informer.cache.find("odd", "a")) == 1


async def test_an_object_that_becomes_unreadable_is_kept_as_it_was_and_told(
    room: InformerFixture, caplog: pytest.LogCaptureFixture
) -> None:
    room.put("a", x="1")
    informer = await room.live()
    room.api.put("configmaps", KEY, data=["odd"])
    room.put("b")
    await settle()
    found = informer.cache.get(KEY)
    assert found is not None
    assert found.data == {"x": "1"}
    assert list(informer.unreadable) == [ObjectKey(*KEY)]
    assert len(informer.cache) == 2
    assert "ConfigMap ns/a: cannot decode object, keeping the previous version" in caplog.text
    room.put("a", x="2")
    await settle()
    assert informer.unreadable == {}


def test_the_going_of_what_was_never_there_is_not_told() -> None:
    mirror = NotifyingStore(typed_resource(ConfigMap), NO_METRICS)
    chains = EventChainChecker(typed_resource(ConfigMap))
    mirror.subscribe(chains)
    gone = ConfigMap(metadata=ObjectMeta(name="a", namespace="ns", uid="u", resource_version="7"))
    mirror.apply(WatchEvent(WatchEventType.DELETED, "7", gone))
    assert chains.calls == []


def test_the_going_of_an_object_tells_its_final_state() -> None:
    mirror = NotifyingStore(typed_resource(ConfigMap), NO_METRICS)
    first = ConfigMap(metadata=ObjectMeta(name="a", namespace="ns", uid="u", resource_version="1"))
    final = ConfigMap(metadata=ObjectMeta(name="a", namespace="ns", uid="u", resource_version="2"), data={"x": "1"})
    mirror.put(first)
    told: list[tuple[ConfigMap | None, ConfigMap | None]] = []
    mirror.subscribe(lambda old, new: told.append((old, new)))
    mirror.apply(WatchEvent(WatchEventType.DELETED, "2", final))
    assert told == [(None, first), (final, None)]


async def test_everybody_shares_one_informer_per_kind_and_scope(room: InformerFixture) -> None:
    one = room.informers.of(ConfigMap)
    assert room.informers.of(ConfigMap) is one
    assert room.informers.of(typed_resource(ConfigMap)) is one
    assert room.informers.of(ConfigMap, ListScope("ns")) is not one
    assert len(list(room.informers)) == 2


async def test_an_informer_asked_for_after_the_start_starts_at_once(room: InformerFixture) -> None:
    room.informers.start()
    informer = room.informers.of(ConfigMap, ListScope("ns"))
    room.put("a")
    room.api.put("configmaps", ("elsewhere", "b"))
    await settle()
    assert informer.synced
    assert informer.cache.all_keys() == [KEY]


async def test_stopping_ends_every_watch(room: InformerFixture) -> None:
    informer = await room.live()
    await room.informers.stop()
    assert informer.sync_status.state is SyncState.STOPPED
    assert room.clock.sleepers == 0
    assert room.network.streams == []


async def test_ten_thousand_objects_that_all_change(room: InformerFixture) -> None:
    for number in range(10_000):
        room.put(f"c{number}", n="0")
    informer = room.informers.of(ConfigMap)
    chains = EventChainChecker(typed_resource(ConfigMap))
    informer.subscribe(chains)
    room.informers.start()
    await asyncio.wait_for(informer.wait_for_sync(), 60)
    for number in range(10_000):
        room.put(f"c{number}", n="1")
        if number == 5000:
            await settle()
            room.network.end_streams(StreamFault.MID_FRAME)
    await room.clock.advance(5)
    assert len(informer.cache) == 10_000
    assert all(found.data == {"n": "1"} for found in informer.cache)
    assert chains.breaks == []
    assert len(chains.calls) == 20_000
