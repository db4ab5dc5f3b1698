import asyncio
import logging
from collections.abc import AsyncIterator
from datetime import timedelta
from random import Random

import pytest

from kit.fake_apiserver import FakeApiServer
from kit.faults import FaultInjectingTransport, StreamFault
from kit.virtual_time import START, VirtualClock, settle
from kohort.api.core.config_objects import ConfigMap
from kohort.api.meta import ObjectKey, ObjectMeta
from kohort.kube.client import Client
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
async def env() -> AsyncIterator[InformerFixture]:
    env = InformerFixture()
    yield env
    await env.informers.stop()


async def test_an_informer_is_not_synced_until_its_watch_is_open(env: InformerFixture) -> None:
    env.network.disconnect()
    informer = env.informers.of(ConfigMap)
    assert informer.sync_status.state is SyncState.STARTING
    env.informers.start()
    await env.clock.advance(60)
    assert informer.sync_status.state is SyncState.STARTING
    assert "connection refused" in informer.sync_status.why
    env.network.reconnect()
    await env.clock.advance(60)
    assert informer.synced
    await asyncio.wait_for(informer.wait_for_sync(), 60)


async def test_a_synced_cache_is_stale_from_the_moment_it_is_disconnected(env: InformerFixture) -> None:
    informer = await env.live()
    await env.clock.advance(100)
    env.network.disconnect()
    await settle()
    assert not informer.synced
    await env.clock.advance(300)
    assert informer.sync_status.state is SyncState.STALE
    assert informer.sync_status.since == START + timedelta(seconds=100)
    assert "connection refused" in str(informer.sync_status)
    assert env.informers.not_synced() == {"ConfigMap": informer.sync_status}


async def test_a_server_that_stalls_is_noticed(env: InformerFixture, caplog: pytest.LogCaptureFixture) -> None:
    informer = await env.live()
    env.network.stall_streams()
    env.put("a")
    await env.clock.advance(140)
    assert len(informer.cache) == 0
    with caplog.at_level(logging.DEBUG):
        await env.clock.advance(20)
    assert "no data for 150 s" in caplog.text
    assert informer.synced
    assert informer.cache.get(KEY) is not None


async def test_bookmarks_keep_a_quiet_watch_open(env: InformerFixture) -> None:
    await env.live()
    for _ in range(4):
        await env.clock.advance(60)
        env.api.bookmark()
    assert len(env.watches()) == 1


async def test_a_watch_ends_by_itself_where_the_server_does_not_end_it(env: InformerFixture) -> None:
    await env.live()
    asked = int(env.watches()[0]["timeoutSeconds"])
    assert 300 <= asked <= 600
    for _ in range(asked // 60 + 1):
        await env.clock.advance(60)
        env.api.bookmark()
    assert len(env.watches()) == 2


async def test_a_watch_resumes_where_it_ended_without_listing(env: InformerFixture) -> None:
    informer = await env.live()
    env.put("a", x="1")
    await env.clock.advance(5)
    env.network.end_streams(StreamFault.RESET)
    env.put("a", x="2")
    await env.clock.advance(1)
    assert env.lists() == 1
    assert [watch["resourceVersion"] for watch in env.watches()] == ["0", "1"]
    found = informer.cache.get(KEY)
    assert found is not None
    assert found.data == {"x": "2"}


async def test_a_bookmark_advances_the_revision_to_resume_from(env: InformerFixture) -> None:
    await env.live()
    for _ in range(5):
        env.api.put("pods", ("ns", "other"))
    env.api.bookmark()
    await env.clock.advance(5)
    env.network.end_streams(StreamFault.CLEAN)
    await env.clock.advance(1)
    assert env.watches()[-1]["resourceVersion"] == "5"


async def test_a_server_that_went_back_in_time_is_listed_anew(env: InformerFixture) -> None:
    informer = await env.live()
    env.put("a", x="1")
    env.put("a", x="2")
    await env.clock.advance(5)
    env.api.roll_back(1)
    env.api.bookmark()
    await env.clock.advance(1)
    found = informer.cache.get(KEY)
    assert found is not None
    assert (env.lists(), found.data) == (2, {"x": "1"})


async def test_a_server_that_ends_each_watch_at_once_is_not_hammered(env: InformerFixture) -> None:
    informer = await env.live()
    for _ in range(400):
        env.api.end_watches()
        await env.clock.advance(0.25)
    assert len(env.watches()) < 25
    await env.clock.advance(60)
    assert informer.synced


async def test_a_definition_that_changes_is_not_worth_a_line_of_log(
    env: InformerFixture, caplog: pytest.LogCaptureFixture
) -> None:
    informer = await env.live()
    with caplog.at_level(logging.INFO):
        env.api.end_watches()
        env.put("a", x="1")
        env.api.compact()
        await env.clock.advance(5)
    assert informer.synced
    assert informer.cache.get(KEY) is not None
    assert caplog.records == []


async def test_a_server_that_never_has_the_revision_is_reported_and_not_overloaded(
    env: InformerFixture, caplog: pytest.LogCaptureFixture
) -> None:
    await env.live()
    before = env.lists()
    env.api.oldest = 10**9
    with caplog.at_level(logging.INFO):
        env.api.end_watches()
        for _ in range(60):
            await env.clock.advance(1)
    assert 5 < env.lists() - before < 25
    assert [record.message.split(":")[1] for record in caplog.records] == [" watch failed"]


async def test_an_outage_of_an_hour_costs_less_than_a_request_per_second_and_two_lines_of_log(
    env: InformerFixture, caplog: pytest.LogCaptureFixture
) -> None:
    informer = await env.live()
    await env.clock.advance(5)
    before = env.network.attempts
    env.network.disconnect()
    with caplog.at_level(logging.INFO):
        await env.clock.advance(3600)
        env.network.reconnect()
        await env.clock.advance(60)
    assert env.network.attempts - before < 3600
    assert informer.synced
    assert [record.message.split(":")[1] for record in caplog.records] == [" watch failed", " watch re-established"]


async def test_an_index_follows_every_change(env: InformerFixture) -> None:
    informer = await env.live()
    informer.index("by colour", lambda found: [found.data["colour"]] if "colour" in found.data else [])
    env.put("a", colour="red")
    env.put("b", colour="red")
    env.put("c")
    await settle()
    assert {one.metadata.name for one in informer.cache.find("by colour", "red")} == {"a", "b"}
    env.put("a", colour="blue")
    env.api.remove("configmaps", ("ns", "b"))
    await settle()
    assert informer.cache.find("by colour", "red") == []
    assert informer.cache.values("by colour") == ["blue"]
    informer.index("by name", lambda found: [found.metadata.name])
    assert len(informer.cache.find("by name", "c")) == 1


def by_name(found: ConfigMap) -> list[str]:
    return [found.metadata.name]


async def test_an_index_name_has_one_function(env: InformerFixture) -> None:
    informer = env.informers.of(ConfigMap)
    informer.index("name", by_name)
    informer.index("name", by_name)
    with pytest.raises(ValueError, match="another function"):
        informer.index("name", lambda _: [])


async def test_a_late_handler_gets_all_existing_objects(env: InformerFixture) -> None:
    env.put("a")
    env.put("b")
    informer = await env.live()
    chains = EventChainChecker(typed_resource(ConfigMap))
    informer.subscribe(chains)
    assert sorted(chains.calls) == ["+ns/a", "+ns/b"]


async def test_a_recreated_name_is_reported_as_deleted_and_added(env: InformerFixture) -> None:
    env.put("a")
    informer = await env.live()
    chains = EventChainChecker(typed_resource(ConfigMap))
    informer.subscribe(chains)
    env.network.disconnect()
    env.api.remove("configmaps", KEY)
    env.put("a")
    env.network.reconnect()
    await env.clock.advance(60)
    assert chains.calls == ["+ns/a", "-ns/a", "+ns/a"]


async def test_a_handler_that_fails_does_not_block_other_handlers(
    env: InformerFixture, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_old: ConfigMap | None, _new: ConfigMap | None) -> None:
        raise RuntimeError("a bug")

    informer = await env.live()
    chains = EventChainChecker(typed_resource(ConfigMap))
    informer.subscribe(broken)
    informer.subscribe(chains)
    env.put("a")
    await settle()
    assert chains.calls == ["+ns/a"]
    assert informer.synced
    assert "ConfigMap: event handler failed" in caplog.text


async def test_an_index_that_fails_is_reported_and_does_not_end_the_informer(
    env: InformerFixture, caplog: pytest.LogCaptureFixture
) -> None:
    informer = await env.live()
    bugs = ["a bug"]

    def values(found: ConfigMap) -> list[str]:
        if bugs:
            raise RuntimeError(bugs[0])
        return [found.metadata.name]

    informer.index("odd", values)
    env.put("a")
    await env.clock.advance(5)
    assert env.informers.not_synced()
    assert "internal error" in informer.sync_status.why
    bugs.clear()
    await env.clock.advance(60)
    assert informer.synced
    assert len(informer.cache.find("odd", "a")) == 1


async def test_an_object_that_becomes_unreadable_is_kept_as_it_was_and_reported(
    env: InformerFixture, caplog: pytest.LogCaptureFixture
) -> None:
    env.put("a", x="1")
    informer = await env.live()
    env.api.put("configmaps", KEY, data=["odd"])
    env.put("b")
    await settle()
    found = informer.cache.get(KEY)
    assert found is not None
    assert found.data == {"x": "1"}
    assert list(informer.unreadable) == [ObjectKey(*KEY)]
    assert len(informer.cache) == 2
    assert "ConfigMap ns/a: cannot decode object, keeping the previous version" in caplog.text
    env.put("a", x="2")
    await settle()
    assert informer.unreadable == {}


def test_the_deletion_of_an_unknown_object_is_not_reported() -> None:
    mirror = NotifyingStore(typed_resource(ConfigMap), NO_METRICS)
    chains = EventChainChecker(typed_resource(ConfigMap))
    mirror.subscribe(chains)
    gone = ConfigMap(metadata=ObjectMeta(name="a", namespace="ns", uid="u", resource_version="7"))
    mirror.apply(WatchEvent(WatchEventType.DELETED, "7", gone))
    assert chains.calls == []


def test_the_deletion_of_an_object_has_its_final_state() -> None:
    mirror = NotifyingStore(typed_resource(ConfigMap), NO_METRICS)
    first = ConfigMap(metadata=ObjectMeta(name="a", namespace="ns", uid="u", resource_version="1"))
    final = ConfigMap(metadata=ObjectMeta(name="a", namespace="ns", uid="u", resource_version="2"), data={"x": "1"})
    mirror.put(first)
    reported: list[tuple[ConfigMap | None, ConfigMap | None]] = []
    mirror.subscribe(lambda old, new: reported.append((old, new)))
    mirror.apply(WatchEvent(WatchEventType.DELETED, "2", final))
    assert reported == [(None, first), (final, None)]


async def test_all_callers_share_one_informer_per_kind_and_scope(env: InformerFixture) -> None:
    one = env.informers.of(ConfigMap)
    assert env.informers.of(ConfigMap) is one
    assert env.informers.of(typed_resource(ConfigMap)) is one
    assert env.informers.of(ConfigMap, ListScope("ns")) is not one
    assert len(list(env.informers)) == 2


async def test_an_informer_created_after_the_start_starts_at_once(env: InformerFixture) -> None:
    env.informers.start()
    informer = env.informers.of(ConfigMap, ListScope("ns"))
    env.put("a")
    env.api.put("configmaps", ("elsewhere", "b"))
    await settle()
    assert informer.synced
    assert informer.cache.all_keys() == [KEY]


async def test_stopping_ends_every_watch(env: InformerFixture) -> None:
    informer = await env.live()
    await env.informers.stop()
    assert informer.sync_status.state is SyncState.STOPPED
    assert env.clock.sleepers == 0
    assert env.network.streams == []


async def test_ten_thousand_objects_that_all_change(env: InformerFixture) -> None:
    for number in range(10_000):
        env.put(f"c{number}", n="0")
    informer = env.informers.of(ConfigMap)
    chains = EventChainChecker(typed_resource(ConfigMap))
    informer.subscribe(chains)
    env.informers.start()
    await asyncio.wait_for(informer.wait_for_sync(), 60)
    for number in range(10_000):
        env.put(f"c{number}", n="1")
        if number == 5000:
            await settle()
            env.network.end_streams(StreamFault.MID_FRAME)
    await env.clock.advance(5)
    assert len(informer.cache) == 10_000
    assert all(found.data == {"n": "1"} for found in informer.cache)
    assert chains.breaks == []
    assert len(chains.calls) == 20_000


async def test_a_paused_informer_has_no_objects_and_sends_no_requests_until_it_is_resumed(
    env: InformerFixture,
) -> None:
    env.put("a")
    informer = await env.live()
    seen: list[tuple[bool, bool]] = []
    informer.subscribe(lambda old, new: seen.append((old is not None, new is not None)))
    env.informers.pause(informer)
    assert len(informer.cache) == 0
    assert env.informers.not_synced() == {}
    requests = len(env.network.sent)
    env.put("b")
    await env.clock.advance(600)
    assert len(env.network.sent) == requests
    env.informers.resume(informer)
    await settle()
    assert informer.synced
    assert seen == [(False, True), (True, False), (False, True), (False, True)]


async def test_an_informer_can_be_paused_and_resumed_at_once(env: InformerFixture) -> None:
    env.put("a")
    informer = await env.live()
    for _ in range(3):
        env.informers.pause(informer)
        env.informers.resume(informer)
    await settle()
    assert informer.synced
    assert informer.cache.get(KEY) is not None


async def test_an_informer_that_is_paused_before_the_start_is_not_started(env: InformerFixture) -> None:
    informer = env.informers.of(ConfigMap)
    env.informers.pause(informer)
    env.informers.start()
    await env.clock.advance(60)
    assert env.network.sent == []
    await asyncio.wait_for(env.informers.wait_for_sync(), 60)
