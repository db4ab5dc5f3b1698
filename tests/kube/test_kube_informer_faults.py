"""The law of informers: after any failure, the cache ends equal to a fresh list, handlers get one consistent sequence,
and while the cache can't be synced it reports so."""

import asyncio
from collections.abc import Callable
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kit.fake_apiserver import FakeApiServer
from kit.faults import FaultInjectingTransport, Rejection, RequestFault, StreamFault
from kit.virtual_time import VirtualClock, settle
from kohort.api.core.config_objects import ConfigMap
from kohort.kube.client import Client
from kohort.kube.informer import Informer
from kohort.kube.reflector import WatchSettings
from kohort.kube.resource_types import typed_resource
from kohort.kube.sync_status import SyncState
from kube.event_chains import EventChainChecker

SETTINGS = WatchSettings(page_size=2)
RETRIED = 15.0
"""Longer than the longest pause between two attempts."""
LONG = (60.0, 200.0, 2000.0)
"""Pauses after the last fault: first a short one, in which no silence is noticed yet."""


class InformerFaultHarness:
    """A server, a bad network and an informer."""

    def __init__(self, seed: int = 0) -> None:
        self.api = FakeApiServer()
        self.clock = VirtualClock()
        self.network = FaultInjectingTransport(self.api, self.clock)
        client = Client(self.network, clock=self.clock, random=Random(seed))  # noqa: S311
        self.informer = Informer(client.of(ConfigMap), settings=SETTINGS)
        self.chains = EventChainChecker(typed_resource(ConfigMap))
        self.informer.subscribe(self.chains)
        self.is_stalled = False

    def cached(self) -> dict[tuple[str, str], tuple[str, str, dict[str, str]]]:
        found = (obj for obj in self.informer.cache)
        return {
            (one.metadata.namespace, one.metadata.name): (one.metadata.uid, one.metadata.resource_version, one.data)
            for one in found
        }

    def served(self) -> dict[tuple[str, str], tuple[str, str, dict[str, str]]]:
        return {
            (key.namespace, key.name): (obj["metadata"]["uid"], obj["metadata"]["resourceVersion"], obj.get("data", {}))
            for key, obj in self.api.state("configmaps").items()
        }

    def check(self) -> None:
        """What must hold at any moment at which nothing is on its way."""
        assert self.chains.breaks == []
        assert self.chains.known == {key: self.informer.cache.get(key) for key in self.informer.cache.all_keys()}
        if self.informer.synced and not self.is_stalled:
            assert self.cached() == self.served()
        if self.network.is_down and not self.is_stalled:
            assert not self.informer.synced
            assert self.informer.sync_status.why

    # Steps

    def put(self, name: int, value: int) -> None:
        self.api.put("configmaps", ("ns", f"c{name}"), data={"value": str(value)})

    def remove(self, name: int) -> None:
        self.api.remove("configmaps", ("ns", f"c{name}"))

    def recreate(self, name: int) -> None:
        self.remove(name)
        self.put(name, 0)

    def compact_after_cut(self, how: StreamFault) -> None:
        """History is compacted while no watch is open."""
        self.network.end_streams(how)
        self.put(0, 7)
        self.api.compact()

    def stall(self) -> None:
        self.network.stall_streams()
        self.is_stalled = True

    def lose_history(self, entries: int) -> None:
        """The server stops and is restored from a backup; for a moment no server responds."""
        self.network.end_streams(StreamFault.RESET)
        self.network.fail_next(RequestFault.UNREACHABLE)
        self.api.roll_back(entries)

    def restart_anew(self) -> None:
        """The server dies and comes back empty, and soon has as many revisions as before."""
        reached = self.api.revision
        self.network.end_streams(StreamFault.RESET)
        self.network.fail_next(RequestFault.UNREACHABLE)
        self.api.restart_empty()
        for number in range(reached + 1):
            self.put(number % 4, number)


names, values = st.integers(0, 4), st.integers(0, 9)
cuts = st.sampled_from(list(StreamFault))
refusals = st.sampled_from(
    [
        RequestFault.UNREACHABLE,
        RequestFault.LOST_RESPONSE,
        RequestFault.NO_RESPONSE,
        Rejection(429, retry_after=3),
        Rejection(500),
        Rejection(503),
        Rejection(503, retry_after=1),
        Rejection(200, body=b'{"kind":"List","items":[{"metad'),
        Rejection(504, body=b"<html>gateway</html>"),
    ]
)


def step(name: str, *arguments: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.tuples(st.just(name), *arguments)


steps = st.one_of(
    step("put", names, values),
    step("put", names, values),
    step("remove", names),
    step("recreate", names),
    step("compact_after_cut", cuts),
    step("stall"),
    step("lose_history", st.integers(1, 4)),
    step("restart_anew"),
    step("network.end_streams", cuts),
    step("network.fail_next", refusals, refusals),
    step("network.disconnect"),
    step("network.reconnect"),
    step("api.bookmark"),
    step("api.compact"),
    step("api.end_watches"),
    step("advance", st.sampled_from([0.01, 1.0, 20.0, 200.0])),
)


def action(harness: InformerFaultHarness, name: str) -> Callable[..., None]:
    found: Any = harness
    for part in name.split("."):
        found = getattr(found, part)
    return found  # type: ignore[no-any-return]


async def play(story: list[tuple[Any, ...]], *, in_stream: bool, piece: int, seed: int) -> None:
    harness = InformerFaultHarness(seed)
    harness.api.expires_in_stream, harness.network.piece = in_stream, piece
    running = asyncio.create_task(harness.informer.run())
    for name, *arguments in story:
        if name == "advance":
            await harness.clock.advance(arguments[0])
            harness.is_stalled = harness.is_stalled and arguments[0] < SETTINGS.silence
        else:
            action(harness, name)(*arguments)
            await settle()
        harness.check()
    harness.network.reconnect()
    # A server that comes back as another one is noticed by the refusal in between, which must be met first.
    await harness.clock.advance(RETRIED)
    harness.network.queued_faults.clear()
    for pause in LONG:
        await harness.clock.advance(pause)
        harness.is_stalled = harness.is_stalled and pause < SETTINGS.silence
        harness.check()
    assert harness.informer.synced, harness.informer.sync_status
    assert harness.cached() == harness.served()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert harness.informer.sync_status.state is SyncState.STOPPED


@given(st.lists(steps, max_size=25), st.booleans(), st.sampled_from([0, 1, 7, 100]), st.integers(0, 2**16))
def test_after_any_faults_the_cache_ends_equal_to_a_fresh_list(
    story: list[tuple[Any, ...]], in_stream: bool, piece: int, seed: int
) -> None:
    asyncio.run(asyncio.wait_for(play(story, in_stream=in_stream, piece=piece, seed=seed), 60))


def test_a_server_that_comes_back_with_another_history_is_listed_anew_before_any_silence_is_noticed() -> None:
    story: list[tuple[Any, ...]] = [("put", 0, 0), ("advance", 20.0), ("restart_anew",), ("advance", 20.0)]
    asyncio.run(asyncio.wait_for(play(story, in_stream=False, piece=0, seed=0), 60))
