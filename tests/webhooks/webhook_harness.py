"""An API server in memory with Kueue's definitions, and the webhook server on 127.0.0.1."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from kit.apiserver import ADMIN, InMemoryApiServer, running_apiserver
from kit.builders.core import make_namespace
from kit.golden.admission_writes import WebhookBypass
from kit.ports import free_port
from kit.virtual_time import eventually
from kohort.api.config.loading import default_configuration
from kohort.api.config.v1beta2 import Configuration
from kohort.api.crds import WebhookService, definitions
from kohort.api.gates import DEFAULT_GATES
from kohort.embedded.auth.users import User
from kohort.kube.client import Client
from kohort.kube.clock import Clock, SystemClock
from kohort.webhooks.ca_injector import WebhookWiring
from kohort.webhooks.configurations import AtUrl, ManagerEndpoint
from kohort.webhooks.kueue import kueue_handlers
from kohort.webhooks.registrations import KUEUE
from kohort.webhooks.server import WebhookServer
from kohort.webhooks.startup import ServingCertificates, running_certificates, running_webhook_server

Json = Any

HOST = "127.0.0.1"
NAMESPACE = "kueue-system"
TIMEOUT = 60.0
VALIDATING = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
MUTATING = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SECRET = f"/api/v1/namespaces/{NAMESPACE}/secrets/kueue-webhook-server-cert"


def webhook_configuration() -> Configuration:
    """The default configuration with a reserved port."""
    usual = default_configuration()
    return replace(usual, webhook=replace(usual.webhook, host=HOST, port=free_port()))


def webhook_wiring(configuration: Configuration, user: str = "") -> WebhookWiring:
    """A manager outside the cluster."""
    location = AtUrl(f"https://{HOST}:{configuration.webhook.port}")
    return WebhookWiring(ManagerEndpoint(location, NAMESPACE, user), lambda: KUEUE)


@asynccontextmanager
async def running_cluster_without_kueue() -> AsyncIterator[InMemoryApiServer]:
    """Runs a server with the manager's namespace."""
    async with running_apiserver() as cluster:
        await cluster.create(make_namespace(NAMESPACE))
        yield cluster


@asynccontextmanager
async def running_kueue_cluster() -> AsyncIterator[InMemoryApiServer]:
    """Runs a server with Kueue's definitions and the manager's namespace."""
    async with running_cluster_without_kueue() as cluster:
        for definition in definitions(WebhookService()):
            await cluster.create(definition)
        yield cluster


def client_of(cluster: InMemoryApiServer, clock: Clock | None = None, user: User = ADMIN) -> Client:
    """The manager's client; certificates are verified with the system clock, so that is the default."""
    return Client(cluster.core.transport(user), clock or SystemClock())


@dataclass
class WebhookHarness:
    """A server and its webhooks."""

    cluster: InMemoryApiServer
    certificates: ServingCertificates
    server: WebhookServer
    bypass: WebhookBypass

    async def ask(self, method: str, path: str, body: Json, query: dict[str, str]) -> tuple[int, Json]:
        reply = await self.cluster.request(method, path, body, **query)
        return reply.status, reply.body


@asynccontextmanager
async def running_webhooks(
    cluster: InMemoryApiServer, clock: Clock | None = None, user: str = ""
) -> AsyncIterator[WebhookHarness]:
    """Webhooks that the server calls and verifies; a manager of this name is not called for its own writes."""
    configuration, bypass = webhook_configuration(), WebhookBypass()
    async with (
        running_certificates(
            client_of(cluster, clock), configuration, webhook_wiring(configuration, user)
        ) as certificates,
        running_webhook_server(configuration, certificates, bypass.guarding(kueue_handlers(DEFAULT_GATES))) as server,
    ):
        await eventually(lambda: is_wired(cluster))
        yield WebhookHarness(cluster, certificates, server, bypass)


@asynccontextmanager
async def running_webhook_harness() -> AsyncIterator[WebhookHarness]:
    """Runs a server with Kueue's definitions and webhooks."""
    async with running_kueue_cluster() as cluster, running_webhooks(cluster) as found:
        yield found


async def is_wired(cluster: InMemoryApiServer) -> bool:
    """Whether all configurations and definitions reference the webhooks."""
    found = [await cluster.get(path) for path in (MUTATING, VALIDATING, DEFINITIONS)]
    names = {each["metadata"]["name"] for listed in found[:2] for each in listed["items"]}
    configs = [_conversion(each) for each in found[2]["items"]]
    return len(names) == 2 and all("url" in config for config in configs if config)


def _conversion(definition: Json) -> Json:
    return (definition["spec"]["conversion"].get("webhook") or {}).get("clientConfig")
