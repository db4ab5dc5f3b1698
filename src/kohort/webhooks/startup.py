"""Webhooks at work: certificates that are kept, shown and trusted, and a server that answers.

The manager starts `certified` first, since its other servers show the same certificate, then `answering`.
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
from kohort.webhooks.reviews import Judge
from kohort.webhooks.server import WebhookServer
from kohort.webhooks.sources import CertificateSource, MountedSource, SecretSource, ServedCertificate

VISIBILITY_SERVICE = "kueue-visibility-server"
METRICS_SERVICE = "kueue-controller-manager-metrics-service"
_ONLY = "certificates"
"""The one key of the controller: everything is looked at together."""


async def own_name(client: Client) -> str:
    """As whom the API server knows us; empty where it does not say."""
    try:
        answer = await client.of(SelfSubjectReview).create(SelfSubjectReview())
    except StatusError as error:
        if error.code in (403, 404):
            return ""
        raise
    return answer.status.user_info.username


class ServingCertificates:
    """The certificate of the moment, in every context that shows it."""

    def __init__(self, source: CertificateSource) -> None:
        self._source = source
        self._contexts: list[ssl.SSLContext] = []
        self._served: ServedCertificate | None = None

    @property
    def is_ready(self) -> bool:
        """Whether there is a certificate to show."""
        return self._served is not None

    @property
    def bundle(self) -> bytes:
        """By what clients verify it; empty where somebody else tells them."""
        return self._served.bundle if self._served else b""

    def context(self, tls: Tls) -> ssl.SSLContext:
        """A new context that shows the certificate of the moment, whichever it will be; raises ConfigError."""
        context = server_context(tls)
        if self._served is not None:
            use_key_pair(context, self._served.key_pair, self._source.origin)
        self._contexts.append(context)
        return context

    async def refresh(self) -> None:
        """Show what the source has now; raises KubeError, and then goes on to show what it had."""
        served = await self._source.current()
        if self._served is None or served.key_pair != self._served.key_pair:
            for context in (server_context(Tls()), *self._contexts):
                use_key_pair(context, served.key_pair, self._source.origin)
        self._served = served


@asynccontextmanager
async def running_certificates(
    client: Client, configuration: Configuration, wiring: WebhookWiring
) -> AsyncIterator[ServingCertificates]:
    """Certificates for as long as the block lasts: made, kept and renewed, and told to who has to trust them."""
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
        injector.subscribe(lambda: queue.add(_ONLY))
    if isinstance(source, SecretSource):
        scope = ListScope(source.key.namespace, fields=f"metadata.name={source.key.name}")
        informers.of(typed_resource(Secret), scope).subscribe(lambda _old, _new: queue.add(_ONLY))
    controller = Controller("webhook-certificates", queue, reconcile, client.clock)
    queue.add(_ONLY)
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
    """Every name under which a server of the manager is known: they all show one certificate."""
    place, namespace = wiring.manager.place, wiring.manager.namespace
    others = [InCluster(namespace, METRICS_SERVICE), *([wiring.aggregated] if wiring.aggregated else [])]
    inside = () if isinstance(place, AtUrl) else (host for each in others for host in each.hosts)
    return (*place.hosts, *inside)


@asynccontextmanager
async def running_webhook_server(
    configuration: Configuration,
    certificates: ServingCertificates,
    judges: Mapping[str, Judge],
    client_authorities: Path | None = None,
    bound: socket.socket | None = None,
) -> AsyncIterator[WebhookServer]:
    """The webhook server, for as long as the block lasts, on a bound socket if there is one; raises ConfigError.

    Where authorities of clients are given, admission reviews need a certificate that one of them signed.
    """
    place = configuration.webhook
    context = certificates.context(configuration.tls)
    if client_authorities is not None:
        verify_clients(context, client_authorities)
    async with WebhookServer(judges).listening(place.host, place.port, context, bound) as server:
        yield server
