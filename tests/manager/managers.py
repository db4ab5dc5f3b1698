"""Managers on an embedded control plane: real sockets on 127.0.0.1, real but short time."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import aiohttp
import msgspec

from kit.ports import free_port
from kit.virtual_time import eventually
from kohort.api.config.common import Health, LeaderElection, Webhook
from kohort.api.config.loading import default_configuration
from kohort.api.config.v1beta2 import Configuration, Metrics, VisibilityServer
from kohort.api.meta import ObjectKey
from kohort.api.resource import Resource
from kohort.controllers.context import ManagerSettings
from kohort.embedded.control_plane import ControlPlane, running_control_plane
from kohort.embedded.server.settings import ServerSettings
from kohort.kube.client import Client
from kohort.manager.crds import WhenMissing
from kohort.manager.manager import Manager
from kohort.manager.options import ManagerOptions
from kohort.manager.startup import running_manager
from kohort.webhooks.configurations import CONFIGURATIONS

TIMEOUT = 60.0
LOOPBACK = "127.0.0.1"
ANY_PORT = f"{LOOPBACK}:0"
NAMESPACE = "kueue-system"
NO_ELECTION = LeaderElection(leader_elect=False)
QUICK_ELECTION = LeaderElection(retry_period="200ms")
"""A released lease is taken at once; on a busy machine it is not lost by mistake."""
SHORT_LEASE = LeaderElection(lease_duration="4s", renew_deadline="3s", retry_period="200ms")

T = TypeVar("T")
Object = dict[str, Any]


def configuration(election: LeaderElection = NO_ELECTION, **settings: Any) -> Configuration:
    """The defaults, with every server on a port of its own."""
    return msgspec.structs.replace(
        default_configuration(),
        webhook=Webhook(host=LOOPBACK, port=free_port()),
        health=Health(health_probe_bind_address=ANY_PORT),
        metrics=Metrics(bind_address=ANY_PORT),
        visibility_server=VisibilityServer(bind_address=LOOPBACK, bind_port=0),
        leader_election=election,
        **settings,
    )


@asynccontextmanager
async def running_plane() -> AsyncIterator[ControlPlane]:
    """A control plane without nodes."""
    async with running_control_plane(ServerSettings()) as plane:
        yield plane


def webhook_url(config: Configuration) -> str:
    """The URL at which a manager outside the cluster serves webhooks."""
    return f"https://{LOOPBACK}:{config.webhook.port}"


@asynccontextmanager
async def running_test_manager(
    plane: ControlPlane, config: Configuration | None = None, name: str = "kohort", url: str = ""
) -> AsyncIterator[Manager]:
    """A manager outside the cluster, leading or, where another one leads, as follower; webhooks use its own URL."""
    config = config or configuration()
    options = ManagerOptions(webhook_url=url or webhook_url(config), when_missing=WhenMissing.INSTALL, identity=name)
    settings = ManagerSettings(config, namespace=NAMESPACE, identity=name)
    async with running_manager(plane.client(name), settings, options) as manager:
        async with asyncio.timeout(TIMEOUT):
            await manager.caches_synced.wait()
        await eventually(lambda: registered(plane), lambda found: found)
        yield manager


async def registered(plane: ControlPlane) -> bool:
    """Whether the server calls webhooks already."""
    client = plane.client("looker")
    found = [await client.of(resource).list() for resource in CONFIGURATIONS.values()]
    return all(each.items for each in found)


KUEUE = "kueue.x-k8s.io"
RESOURCES = {
    kind: Resource(KUEUE, "v1beta2", kind, plural, namespaced=namespaced)
    for kind, plural, namespaced in (
        ("ResourceFlavor", "resourceflavors", False),
        ("ClusterQueue", "clusterqueues", False),
        ("LocalQueue", "localqueues", True),
        ("Workload", "workloads", True),
    )
}


async def create(client: Client, *objects: Object) -> None:
    for found in objects:
        await client.of(RESOURCES[found["kind"]]).create(found)


def is_true(found: Object, condition: str) -> bool:
    conditions = found.get("status", {}).get("conditions", ())
    return any(each["type"] == condition and each["status"] == "True" for each in conditions)


async def admitted(client: Client, name: str) -> Object:
    """The workload, once it is admitted."""
    key = ObjectKey("default", name)
    return await eventually(lambda: client.of(RESOURCES["Workload"]).get(key), lambda found: is_true(found, "Admitted"))


async def fetch(url: str, **headers: str) -> tuple[int, str]:
    """Status and text of a response, without verification of the server's certificate."""
    blind = ssl.create_default_context()
    blind.check_hostname, blind.verify_mode = False, ssl.CERT_NONE
    timeout = aiohttp.ClientTimeout(TIMEOUT)
    async with (
        aiohttp.ClientSession(timeout=timeout) as session,
        session.get(url, ssl=blind, headers=headers) as answer,
    ):
        return answer.status, await answer.text()


async def roles(*managers: Manager) -> list[str]:
    """What each of them is now."""
    return [each.leadership.role() for each in managers]
