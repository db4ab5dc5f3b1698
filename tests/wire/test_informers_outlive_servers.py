"""Kohort's informer and a server that halts, dies and forgets, the real one and ours: the law holds on both.

The cache ends equal to a fresh list, and while it can't be live it says so.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from kit.faults import FaultInjectingTransport
from kohort.api.core.config_objects import ConfigMap
from kohort.api.meta import ObjectMeta
from kohort.embedded.server.server import running_api_server
from kohort.embedded.server.settings import ServerSettings
from kohort.kube.client import Client
from kohort.kube.clock import SystemClock
from kohort.kube.config import ConfigOverrides, load_client_config
from kohort.kube.errors import StatusError
from kohort.kube.http import HttpTransport
from kohort.kube.informer import Informer
from kohort.kube.options import ListScope
from kohort.kube.reflector import WatchSettings
from wire.lone_servers import LoneServer, embedded_server, halted, kill, real_server

PATIENCE = 60
IMPATIENT = WatchSettings(silence=3.0)
"""A server that halts is noticed soon; one that is merely quiet is listed anew a little more often than it need be."""
HERE = ListScope(namespace="default")


@pytest.fixture(scope="module", params=["real", "embedded"])
def lone(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoneServer]:
    made = real_server() if request.param == "real" else embedded_server(tmp_path_factory.mktemp("embedded"))
    with made as running_one:
        yield running_one


@dataclass(frozen=True)
class Pair:
    """An informer behind a network that can be cut, and a client beside it."""

    client: Client
    network: FaultInjectingTransport
    informer: Informer[ConfigMap]

    @property
    def lists(self) -> int:
        """How often the informer listed."""
        return sum(("watch", "true") not in request.query for request in self.network.sent)

    async def list(self) -> set[str]:
        """What a fresh list shows; asked again where a connection of old turns out to be dead."""
        listed = await self.client.of(ConfigMap).list(HERE)
        return {each.metadata.resource_version for each in listed.items}

    async def write(self, name: str) -> None:
        await self.client.of(ConfigMap).create(ConfigMap(metadata=ObjectMeta(generate_name=name, namespace="default")))

    async def agrees(self) -> None:
        """Wait until the cache is live and equal to a fresh list."""
        expected, cache = await self.list(), self.informer.cache
        await until(lambda: self.informer.synced and {each.metadata.resource_version for each in cache} == expected)

    async def says_so(self) -> None:
        """Wait until the informer says that it is cut off."""
        await until(lambda: not self.informer.synced)

    @asynccontextmanager
    async def behind(self) -> AsyncIterator["Behind"]:
        """Cut the informer off and write something; it stays so after the block."""
        self.network.disconnect()
        await self.says_so()
        version = (await self.client.of(ConfigMap).list(HERE)).version
        await self.write("unheard-")
        yield Behind(version, self.lists)

    async def _first_change_after(self, version: str) -> object:
        async with asyncio.timeout(PATIENCE), self.client.of(ConfigMap).watch(version, HERE) as watch:
            return await anext(aiter(watch))

    async def is_told_to_list_anew(self, before: "Behind") -> None:
        """Whoever asks for the time before is refused, and the informer finds its way."""
        with pytest.raises(StatusError) as refused:
            await self._first_change_after(before.version)
        assert refused.value.is_expired
        self.network.reconnect()
        await self.agrees()
        assert self.lists > before.lists


@dataclass(frozen=True)
class Behind:
    """What an informer knew when it was cut off."""

    version: str
    lists: int


@asynccontextmanager
async def pair(kubeconfig: Path) -> AsyncIterator[Pair]:
    access = load_client_config(ConfigOverrides(kubeconfig=kubeconfig))
    client, network = Client(HttpTransport(access)), FaultInjectingTransport(HttpTransport(access), SystemClock())
    informer = Informer(Client(network).of(ConfigMap), HERE, IMPATIENT)
    following = asyncio.create_task(informer.run())
    made = Pair(client, network, informer)
    try:
        await made.agrees()
        yield made
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        await network.close()
        await client.close()


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not holds():
            await asyncio.sleep(0.02)


async def test_a_server_that_halts_without_hanging_up(lone: LoneServer) -> None:
    async with pair(lone.kubeconfig) as both:
        await both.write("before-")
        await both.agrees()
        with halted(lone):
            await both.says_so()
        await both.write("after-")
        await both.agrees()


async def test_a_server_that_is_killed_and_comes_back(lone: LoneServer) -> None:
    async with pair(lone.kubeconfig) as both:
        await both.write("before-")
        await both.agrees()
        kill(lone)
        await both.says_so()
        lone.serve()
        await both.list()
        await both.write("after-")
        await both.agrees()


async def test_a_server_that_is_another_process_when_the_network_is_back(lone: LoneServer) -> None:
    async with pair(lone.kubeconfig) as both:
        both.network.disconnect()
        await both.says_so()
        await both.write("unheard-")
        kill(lone)
        lone.serve()
        await both.list()
        await both.write("unheard-")
        assert not both.informer.synced
        both.network.reconnect()
        await both.agrees()


async def test_a_history_that_is_compacted_while_nobody_listens(tmp_path: Path) -> None:
    """Ours is asked to forget."""
    async with (
        running_api_server(ServerSettings(kubeconfig=tmp_path / "kubeconfig")) as server,
        pair(server.kubeconfig) as both,
    ):
        async with both.behind() as before:
            await server.core.store.compact(server.core.store.revision)
        await both.is_told_to_list_anew(before)


async def test_a_history_that_the_real_server_lost_while_nobody_listened() -> None:
    """Started anew, it has in memory what happens from then on."""
    with real_server() as lone:
        async with pair(lone.kubeconfig) as both:
            async with both.behind() as before:
                kill(lone)
                lone.serve()
                await both.list()
            await both.is_told_to_list_anew(before)
