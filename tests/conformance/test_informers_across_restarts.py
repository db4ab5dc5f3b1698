"""Kohort's informer while kube-apiserver or the embedded server is suspended, killed, or loses its history.

The cache ends equal to a fresh list, and the informer reports while it is stale.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from conformance.restartable_servers import (
    RestartableServer,
    kill,
    running_embedded_server,
    running_kubernetes_server,
    suspended,
)
from kit.faults import FaultInjectingTransport
from kit.virtual_time import eventually_true
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

PATIENCE = 60
IMPATIENT = WatchSettings(silence=3.0)
"""A short timeout, so that a suspended server is detected soon; an idle one is relisted more often than necessary."""
HERE = ListScope(namespace="default")


@pytest.fixture(scope="module", params=["real", "embedded"])
def lone(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestartableServer]:
    made = (
        running_kubernetes_server()
        if request.param == "real"
        else running_embedded_server(tmp_path_factory.mktemp("embedded"))
    )
    with made as running_one:
        yield running_one


@dataclass(frozen=True)
class InformerUnderTest:
    """An informer on an unreliable network, and a client on a reliable one."""

    client: Client
    network: FaultInjectingTransport
    informer: Informer[ConfigMap]

    @property
    def lists(self) -> int:
        """The number of lists by the informer."""
        return sum(("watch", "true") not in request.query for request in self.network.sent)

    async def list(self) -> set[str]:
        """The revisions in a fresh list."""
        listed = await self.client.of(ConfigMap).list(HERE)
        return {each.metadata.resource_version for each in listed.items}

    async def write(self, name: str) -> None:
        await self.client.of(ConfigMap).create(ConfigMap(metadata=ObjectMeta(generate_name=name, namespace="default")))

    async def wait_synced(self) -> None:
        """Wait until the cache is synced and equal to a fresh list."""
        expected, cache = await self.list(), self.informer.cache
        await eventually_true(
            lambda: self.informer.synced and {each.metadata.resource_version for each in cache} == expected
        )

    async def wait_stale(self) -> None:
        """Wait until the informer reports that it is stale."""
        await eventually_true(lambda: not self.informer.synced)

    @asynccontextmanager
    async def behind(self) -> AsyncIterator["InformerPosition"]:
        """Disconnect the informer and write an object; it stays disconnected when the context exits."""
        self.network.disconnect()
        await self.wait_stale()
        version = (await self.client.of(ConfigMap).list(HERE)).version
        await self.write("unheard-")
        yield InformerPosition(version, self.lists)

    async def _first_change_after(self, version: str) -> object:
        async with asyncio.timeout(PATIENCE), self.client.of(ConfigMap).watch(version, HERE) as watch:
            return await anext(aiter(watch))

    async def lists_again(self, before: "InformerPosition") -> None:
        """A watch from the old revision is rejected, and the informer lists again."""
        with pytest.raises(StatusError) as refused:
            await self._first_change_after(before.version)
        assert refused.value.is_expired
        self.network.reconnect()
        await self.wait_synced()
        assert self.lists > before.lists


@dataclass(frozen=True)
class InformerPosition:
    """Revision and lists of an informer when it was disconnected."""

    version: str
    lists: int


@asynccontextmanager
async def running_informer(kubeconfig: Path) -> AsyncIterator[InformerUnderTest]:
    access = load_client_config(ConfigOverrides(kubeconfig=kubeconfig))
    client, network = Client(HttpTransport(access)), FaultInjectingTransport(HttpTransport(access), SystemClock())
    informer = Informer(Client(network).of(ConfigMap), HERE, IMPATIENT)
    following = asyncio.create_task(informer.run())
    made = InformerUnderTest(client, network, informer)
    try:
        await made.wait_synced()
        yield made
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        await network.close()
        await client.close()


async def test_a_server_that_halts_without_hanging_up(lone: RestartableServer) -> None:
    async with running_informer(lone.kubeconfig) as both:
        await both.write("before-")
        await both.wait_synced()
        with suspended(lone):
            await both.wait_stale()
        await both.write("after-")
        await both.wait_synced()


async def test_a_server_that_is_killed_and_comes_back(lone: RestartableServer) -> None:
    async with running_informer(lone.kubeconfig) as both:
        await both.write("before-")
        await both.wait_synced()
        kill(lone)
        await both.wait_stale()
        lone.serve()
        await both.list()
        await both.write("after-")
        await both.wait_synced()


async def test_a_server_that_is_another_process_when_the_network_is_back(lone: RestartableServer) -> None:
    async with running_informer(lone.kubeconfig) as both:
        both.network.disconnect()
        await both.wait_stale()
        await both.write("unheard-")
        kill(lone)
        lone.serve()
        await both.list()
        await both.write("unheard-")
        assert not both.informer.synced
        both.network.reconnect()
        await both.wait_synced()


async def test_a_history_that_is_compacted_while_no_client_watches(tmp_path: Path) -> None:
    """Compaction on request: only our server."""
    async with (
        running_api_server(ServerSettings(kubeconfig=tmp_path / "kubeconfig")) as server,
        running_informer(server.kubeconfig) as both,
    ):
        async with both.behind() as before:
            await server.core.store.compact(server.core.store.revision)
        await both.lists_again(before)


async def test_a_history_that_the_real_server_lost_while_no_client_watched() -> None:
    """Started anew, it has in memory what happens from then on."""
    with running_kubernetes_server() as lone:
        async with running_informer(lone.kubeconfig) as both:
            async with both.behind() as before:
                kill(lone)
                lone.serve()
                await both.list()
            await both.lists_again(before)
