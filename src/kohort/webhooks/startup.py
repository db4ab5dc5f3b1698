"""Runs certificates with CA injection, and the webhook server.

The manager starts `running_certificates` first, because its other servers use the same certificate.
"""

import socket
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from kohort.api.config.common import Tls
from kohort.api.config.v1beta2 import Configuration
from kohort.api.core.config_objects import Secret
from kohort.api.core.reviews import SelfSubjectReview
from kohort.api.meta import ObjectKey
from kohort.kube.client import Client
from kohort.kube.controller import Controller, RequeueAfter
from kohort.kube.errors import StatusError
from kohort.kube.informer import SharedInformerFactory
from kohort.kube.options import ListScope
from kohort.kube.resource_types import typed_resource
from kohort.kube.server_tls import server_context, use_key_pair, verify_clients
from kohort.kube.workqueue import WorkQueue
from kohort.webhooks.ca_injector import CaInjector, WebhookWiring
from kohort.webhooks.configurations import AtUrl, InCluster
from kohort.webhooks.reviews import AdmissionHandler
from kohort.webhooks.server import WebhookServer
from kohort.webhooks.sources import CertificateSource, MountedSource, SecretSource, ServedCertificate

VISIBILITY_SERVICE = "kueue-visibility-server"
METRICS_SERVICE = "kueue-controller-manager-metrics-service"
_KEY = "certificates"
"""The only key of the controller."""


async def own_username(client: Client) -> str:
    """The user name of this client; empty if the API server does not provide it."""
    try:
        response = await client.of(SelfSubjectReview).create(SelfSubjectReview())
    except StatusError as error:
        if error.code in (403, 404):
            return ""
        raise
    return response.status.user_info.username


class ServingCertificates:
    """The current serving certificate, loaded into the TLS contexts of all servers."""

    def __init__(self, source: CertificateSource) -> None:
        self._source = source
        self._contexts: list[ssl.SSLContext] = []
        self._served: ServedCertificate | None = None

    @property
    def is_ready(self) -> bool:
        """Whether there is a certificate."""
        return self._served is not None

    @property
    def bundle(self) -> bytes:
        """The CA bundle; empty if something else injects it."""
        return self._served.bundle if self._served else b""

    def context(self, tls: Tls) -> ssl.SSLContext:
        """A new TLS context that always has the current certificate; raises ConfigError."""
        context = server_context(tls)
        if self._served is not None:
            use_key_pair(context, self._served.key_pair, self._source.origin)
        self._contexts.append(context)
        return context

    async def refresh(self) -> None:
        """Load the source's certificate; raises KubeError and then keeps the previous one."""
        served = await self._source.current()
        if self._served is None or served.key_pair != self._served.key_pair:
            for context in (server_context(Tls()), *self._contexts):
                use_key_pair(context, served.key_pair, self._source.origin)
        self._served = served


@asynccontextmanager
async def running_certificates(
    client: Client, configuration: Configuration, wiring: WebhookWiring
) -> AsyncIterator[ServingCertificates]:
    """Creates and renews certificates and injects their CA until the context exits."""
    informers = SharedInformerFactory(client)
    source = _source(client, configuration, wiring)
    found = ServingCertificates(source)
    await found.refresh()
    queue = WorkQueue[str](client.clock, "webhook-certificates")
    injector = CaInjector(client, informers, wiring) if found.bundle else None

    async def reconcile(_key: str) -> RequeueAfter:
        await found.refresh()
        if injector is not None:
            await injector.inject(found.bundle)
        return RequeueAfter(source.pause)

    if injector is not None:
        injector.subscribe(lambda: queue.add(_KEY))
    if isinstance(source, SecretSource):
        scope = ListScope(source.key.namespace, fields=f"metadata.name={source.key.name}")
        informers.of(typed_resource(Secret), scope).subscribe(lambda _old, _new: queue.add(_KEY))
    controller = Controller("webhook-certificates", queue, reconcile, client.clock)
    queue.add(_KEY)
    controller.start()
    informers.start()
    try:
        yield found
    finally:
        await informers.stop()
        await controller.stop()


def _source(client: Client, configuration: Configuration, wiring: WebhookWiring) -> CertificateSource:
    management = configuration.internal_cert_management
    if not management.enable:
        return MountedSource(Path(configuration.webhook.cert_dir))
    key = ObjectKey(wiring.manager.namespace, management.webhook_secret_name)
    return SecretSource(client, key, _hosts(wiring))


def _hosts(wiring: WebhookWiring) -> tuple[str, ...]:
    """The hosts of all servers of the manager, which share one certificate."""
    location, namespace = wiring.manager.location, wiring.manager.namespace
    others = [InCluster(namespace, METRICS_SERVICE), *([wiring.aggregated] if wiring.aggregated else [])]
    inside = () if isinstance(location, AtUrl) else (host for each in others for host in each.hosts)
    return (*location.hosts, *inside)


@asynccontextmanager
async def running_webhook_server(
    configuration: Configuration,
    certificates: ServingCertificates,
    handlers: Mapping[str, AdmissionHandler],
    client_authorities: Path | None = None,
    bound: socket.socket | None = None,
) -> AsyncIterator[WebhookServer]:
    """Runs the webhook server until the context exits, on a bound socket if given; raises ConfigError.

    With `client_authorities`, admission reviews require a client certificate signed by one of them.
    """
    location = configuration.webhook
    context = certificates.context(configuration.tls)
    if client_authorities is not None:
        verify_clients(context, client_authorities)
    async with WebhookServer(handlers).listening(location.host, location.port, context, bound) as server:
        yield server
