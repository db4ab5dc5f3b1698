"""Requests for what is not supported, on a real API server with a whole manager."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import msgspec
import pytest
import pytest_asyncio

from cluster.control_plane import ControlPlane, ControlPlaneWithoutScheduler
from kohort.api.config.common import Health
from kohort.controllers.context import ManagerSettings
from kohort.kube.client import Client
from kohort.kube.config import ConfigOverrides, load_client_config
from kohort.kube.http import HttpTransport
from kohort.manager.crds import WhenMissing
from kohort.manager.options import ManagerOptions
from kohort.manager.startup import running_manager
from manager.managers import NAMESPACE, configuration, webhook_url
from manager.unsupported_requests import (
    a_queue_with_an_unsupported_check_names_the_cause,
    called_webhooks,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    with ControlPlaneWithoutScheduler() as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(plane: ControlPlane) -> AsyncIterator[Client]:
    """A client of a cluster with a manager whose webhooks are called."""
    config = msgspec.structs.replace(configuration(), health=Health(health_probe_bind_address="0"))
    options = ManagerOptions(webhook_url(config), when_missing=WhenMissing.INSTALL, identity="there")
    found = Client(HttpTransport(load_client_config(ConfigOverrides(kubeconfig=plane.kubeconfig))))
    try:
        async with running_manager(found, ManagerSettings(config, namespace=NAMESPACE), options) as manager:
            async with asyncio.timeout(60):
                await manager.leading.wait()
            await called_webhooks(found)
            yield found
    finally:
        await found.close()


async def test_a_queue_with_an_unsupported_check_names_the_cause(client: Client) -> None:
    await a_queue_with_an_unsupported_check_names_the_cause(client)
