"""The manager of a local cluster: its Configuration, certificates, webhooks and visibility API.

It is a client like any other. The API server calls its webhooks over TLS on the loopback address.
"""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec
from cryptography import x509

from kohort.api.codec import Json
from kohort.api.config.common import InternalCertManagement, Webhook
from kohort.api.config.loading import Loaded, load_configuration
from kohort.api.config.parsing import ParsingContext, parse_configuration
from kohort.api.config.v1beta2 import Configuration, VisibilityServer
from kohort.api.core.config_objects import Secret
from kohort.api.meta import ObjectKey
from kohort.api.resource import Resource
from kohort.controllers.context import ManagerSettings
from kohort.install.manifests import api_services
from kohort.install.options import Options, default_document
from kohort.install.workload import CONFIG, CONFIG_FILE
from kohort.jobs.builtin import all_frameworks, known_frameworks, with_declared
from kohort.kube.client import Client
from kohort.kube.errors import StatusError
from kohort.local.bootstrap import apply_object
from kohort.local.ports import LOCAL
from kohort.manager.crds import NAMESPACES, WhenMissing
from kohort.manager.manager import Manager
from kohort.manager.options import ManagerOptions
from kohort.manager.startup import running_manager
from kohort.webhooks.ca_targets import API_SERVICES
from kohort.webhooks.configurations import CONFIGURATIONS, service_hosts, with_ca_bundle
from kohort.webhooks.sources import SecretSource
from kohort.webhooks.startup import VISIBILITY_SERVICE

USER: Final = "kohort"
"""User name of the manager at the API server."""
_DISABLED: Final = "0"
_POLL_SECONDS: Final = 0.02
"""Interval of checks whether the webhooks are registered, which takes a few writes."""
_CONFIG_MAPS: Final = Resource("", "v1", "ConfigMap", "configmaps", namespaced=True)
_SERVICES: Final = Resource("", "v1", "Service", "services", namespaced=True)
_SLICES: Final = Resource("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", namespaced=True)


@dataclass(frozen=True, slots=True)
class LocalManagerSpec:
    """Spec of the manager of a local cluster."""

    loaded: Loaded
    webhooks: socket.socket
    """Socket of the webhook server."""
    frameworks: tuple[Path, ...] = ()
    """Files that declare job frameworks."""

    @property
    def webhook_port(self) -> int:
        """Port of the webhook server."""
        return int(self.webhooks.getsockname()[1])

    @property
    def settings(self) -> ManagerSettings:
        """Settings of the manager."""
        configuration = local_configuration(self.loaded.config, self.webhook_port)
        configuration = with_declared(configuration, all_frameworks(self.frameworks))
        return ManagerSettings(configuration, self.loaded.gates, configuration.namespace, USER)

    @property
    def options(self) -> ManagerOptions:
        """Options of the manager: how its servers are reached."""
        url = f"https://{LOCAL}:{self.webhook_port}"
        return ManagerOptions(
            webhook_url=url,
            webhook_socket=self.webhooks,
            when_missing=WhenMissing.INSTALL,
            identity=USER,
            frameworks=all_frameworks(self.frameworks),
        )


def load(file: Path | None, declarations: tuple[Path, ...] = ()) -> Loaded:
    """The Configuration of a file, or the default of `kohort install`; raises an ApiError with every problem."""
    ours = all_frameworks(declarations)
    parsing_context = ParsingContext(frameworks=known_frameworks(ours))
    if file is not None:
        return load_configuration(file, parsing_context)
    usual = parse_configuration(default_document(), parsing_context)
    assert usual.config is not None  # noqa: S101 - the default is valid
    return Loaded(usual.config, usual.gates, usual.all_warnings)


def local_configuration(given: Configuration, webhook_port: int) -> Configuration:
    """The Configuration with servers on loopback addresses and without leader election.

    Addresses that differ from Kueue's defaults were set by the user and stay.
    """
    change, usual = msgspec.structs.replace, Configuration()
    metrics, health, connection = given.metrics, given.health, given.client_connection
    if metrics.bind_address == usual.metrics.bind_address:
        metrics = change(metrics, bind_address=f"{LOCAL}:0")
    if health.health_probe_bind_address == usual.health.health_probe_bind_address:
        health = change(health, health_probe_bind_address=_DISABLED)
    if connection == usual.client_connection:
        connection = change(connection, qps=-1.0)
    return change(
        given,
        webhook=Webhook(host=LOCAL, port=webhook_port),
        internal_cert_management=_own_certificates(given.internal_cert_management),
        visibility_server=VisibilityServer(bind_address=LOCAL, bind_port=0),
        metrics=metrics,
        health=health,
        client_connection=connection,
        leader_election=change(given.leader_election, leader_elect=False),
    )


def _own_certificates(given: InternalCertManagement) -> InternalCertManagement:
    """Certificates of the manager itself, also if the file disables them: no others are mounted here."""
    return given if given.enable else load(None).config.internal_cert_management


@asynccontextmanager
async def running_local_manager(client: Client, queues: LocalManagerSpec) -> AsyncIterator[Manager]:
    """Runs the manager until the context exits; caches are synced, webhooks and visibility API registered."""
    settings = queues.settings
    await _certify(client, settings)
    async with running_manager(client, settings, queues.options) as manager:
        await _register_visibility(client, settings.namespace, manager)
        await manager.leading.wait()
        while not await _webhooks_registered(client, queues.options.webhook_url, manager):
            await client.clock.sleep(_POLL_SECONDS)
        yield manager


async def _certify(client: Client, settings: ManagerSettings) -> None:
    """Add the Service's name, by which the API server reaches the visibility API, to the manager's certificate.

    A manager reached by a URL would have a certificate for that alone; names of an existing certificate stay.
    """
    namespace, secret = settings.namespace, settings.configuration.internal_cert_management.webhook_secret_name
    await apply_object(client, NAMESPACES, {"metadata": {"name": namespace}})
    hosts = (LOCAL, *service_hosts(namespace, VISIBILITY_SERVICE))
    source = SecretSource(client, ObjectKey(namespace, secret), hosts)
    authorities = x509.load_pem_x509_certificates((await source.current()).bundle)
    if any(each.not_valid_before_utc > client.clock.wall() for each in authorities):
        # Issued while the clock of this machine was ahead, so it is not valid yet.
        await client.of(Secret.resource).delete(source.key)
        await source.current()


async def _webhooks_registered(client: Client, url: str, manager: Manager) -> bool:
    """Whether the webhooks are registered with the right CA bundle: a job created before would bypass its queue."""
    wanted = with_ca_bundle({}, manager.certificates.bundle if manager.certificates else b"")
    for resource in CONFIGURATIONS.values():
        webhooks = [each for found in (await client.of(resource).list()).items for each in found.get("webhooks", ())]
        places = [each["clientConfig"] for each in webhooks]
        ours = [each for each in places if each.get("url", "").startswith(f"{url}/")]
        if not ours or any({**each, **wanted} != each for each in ours):
            return False
    return True


async def _register_visibility(client: Client, namespace: str, manager: Manager) -> None:
    """Register the visibility API with the API server."""
    address, certificates = manager.addresses.get("visibility"), manager.certificates
    if address is None or certificates is None:
        return
    metadata = {"namespace": namespace, "name": VISIBILITY_SERVICE}
    labels = {"kubernetes.io/service-name": VISIBILITY_SERVICE}
    behind: Json = {
        "metadata": {**metadata, "labels": labels},
        "addressType": "IPv4",
        "endpoints": [{"addresses": [LOCAL]}],
        "ports": [{"port": address.port}],
    }
    await apply_object(client, _SERVICES, {"metadata": metadata, "spec": {"ports": [{"port": 443}]}})
    await apply_object(client, _SLICES, behind)
    for each in api_services(Options(namespace=namespace)):
        spec = {**with_ca_bundle(each["spec"], certificates.bundle), "insecureSkipTLSVerify": False}
        await apply_object(client, API_SERVICES, {**each, "spec": spec})


async def keep_configuration(client: Client, namespace: str, file: Path | None) -> None:
    """Store the Configuration in the ConfigMap that commands read; delete it if no file was given."""
    if file is not None:
        metadata = {"namespace": namespace, "name": CONFIG}
        await apply_object(client, _CONFIG_MAPS, {"metadata": metadata, "data": {CONFIG_FILE: file.read_text("utf-8")}})
        return
    try:
        await client.of(_CONFIG_MAPS).delete((namespace, CONFIG))
    except StatusError as error:
        if not error.is_not_found:
            raise


async def has_webhooks(client: Client) -> bool:
    """Whether webhooks of a previous manager are registered."""
    listed = [await client.of(resource).list() for resource in CONFIGURATIONS.values()]
    return any(each["metadata"]["name"].startswith("kueue-") for found in listed for each in found.items)
