"""When its API server is unavailable a manager waits, logs that, and continues; and it can be stopped meanwhile."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from kit.builders.kueue import make_cluster_queue, make_local_queue, make_resource_flavor, make_workload
from kit.faults import FaultInjectingTransport
from kit.virtual_time import eventually
from kohort.api.config.v1beta2 import Configuration
from kohort.controllers.context import ManagerSettings
from kohort.embedded.control_plane import ControlPlane
from kohort.kube.client import Client
from kohort.kube.clock import SystemClock
from kohort.manager.crds import WhenMissing
from kohort.manager.manager import Manager
from kohort.manager.options import ManagerOptions
from kohort.manager.startup import running_manager
from manager.managers import (
    LOOPBACK,
    NAMESPACE,
    SHORT_LEASE,
    TIMEOUT,
    admitted,
    configuration,
    create,
    fetch,
    roles,
    running_plane,
)


@dataclass
class RemoteManager:
    """A manager behind a transport that can be cut."""

    plane: ControlPlane
    manager: Manager
    transport: FaultInjectingTransport

    async def ready(self) -> int:
        """The response of `/readyz`."""
        return (await fetch(f"http://{self.manager.addresses['health']}/readyz"))[0]


@asynccontextmanager
async def an_outpost(config: Configuration) -> AsyncIterator[RemoteManager]:
    async with running_plane() as plane:
        clock = SystemClock()
        transport = FaultInjectingTransport(plane.client("outpost").transport, clock)
        url = f"https://{LOOPBACK}:{config.webhook.port}"
        options = ManagerOptions(url, when_missing=WhenMissing.INSTALL, identity="outpost")
        settings = ManagerSettings(config, namespace=NAMESPACE)
        async with running_manager(Client(transport, clock), settings, options) as manager:
            async with asyncio.timeout(TIMEOUT):
                await manager.leading.wait()
            yield RemoteManager(plane, manager, transport)


async def test_it_continues_when_the_server_is_back() -> None:
    async with an_outpost(configuration(SHORT_LEASE)) as outpost:
        client = outpost.plane.client("user")
        await create(client, make_resource_flavor(), make_cluster_queue("q", "9"), make_local_queue("lq", "q"))
        outpost.transport.disconnect()
        await eventually(outpost.ready, lambda status: status == 503)
        await eventually(lambda: roles(outpost.manager), lambda found: found == ["follower"])
        await create(client, make_workload("meanwhile", "lq"))
        outpost.transport.reconnect()
        await admitted(client, "meanwhile")
        await eventually(outpost.ready, lambda status: status == 200)


async def test_it_can_be_stopped_while_the_server_is_away(caplog: pytest.LogCaptureFixture) -> None:
    async with asyncio.timeout(TIMEOUT):
        async with an_outpost(configuration()) as outpost:
            outpost.transport.disconnect()
            await eventually(outpost.ready, lambda status: status == 503)
    assert "reconciles cancelled" not in caplog.text
