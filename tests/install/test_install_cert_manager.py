"""Certificates by cert-manager: what is installed for it, and a manager that serves what it brings."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from cryptography import x509
from msgspec.structs import replace

from kit.apiserver import InMemoryApiServer
from kit.ports import free_port
from kit.virtual_time import VirtualClock
from kohort.api.config.v1beta2 import Configuration
from kohort.api.gates import DEFAULT_GATES
from kohort.cli.main import cli
from kohort.controllers.context import ManagerSettings
from kohort.install.manifests import manager_endpoint, manifests, registrations
from kohort.install.options import Issuer, OptionalManifest, Options, OptionsError, default_document, parse_issuer
from kohort.jobs.builtin import all_frameworks
from kohort.jobs.registry import registry_of
from kohort.kube.certificates import CertificateAuthority
from kohort.manager.permissions import RequiredPermission, framework_permissions, startup_permissions
from kohort.webhooks.ca_injector import WebhookWiring
from kohort.webhooks.certificates import CertificateError
from kohort.webhooks.configurations import AtUrl, InCluster, ManagerEndpoint, configuration
from kohort.webhooks.kueue import kueue_handlers
from kohort.webhooks.registrations import KUEUE, WebhookType
from kohort.webhooks.startup import VISIBILITY_SERVICE, running_certificates, running_webhook_server
from webhooks.webhook_harness import HOST, client_of, running_cluster_without_kueue, running_kueue_cluster

Json = Any
OPTIONS = Options(extras=frozenset({OptionalManifest.SERVICE_MONITOR}), issuer=Issuer())
HOME = OPTIONS.namespace
WEBHOOKS = "kueue-webhook-service.kueue-system.svc"
INJECT = "cert-manager.io/inject-ca-from"


def installed(options: Options, kind: str) -> dict[str, Json]:
    """The objects of a kind, by name."""
    return {each["metadata"]["name"]: each for each in manifests(options) if each["kind"] == kind}


def serving(options: Options) -> Json:
    """The Certificate of the manager's servers."""
    return installed(options, "Certificate")["kueue-serving-cert"]


def mounted(options: Options) -> tuple[str, Json]:
    """Where the certificate's Secret is found in the container, and its volume."""
    pod = installed(options, "Deployment")["kueue-controller-manager"]["spec"]["template"]["spec"]
    (volume,) = [each for each in pod["volumes"] if "secret" in each]
    (place,) = [each for each in pod["containers"][0]["volumeMounts"] if each["name"] == volume["name"]]
    return place["mountPath"], volume["secret"]


# What is installed


def test_the_manager_reads_what_cert_manager_writes() -> None:
    place, secret = mounted(OPTIONS)
    assert place == OPTIONS.configuration.webhook.cert_dir
    assert secret["secretName"] == serving(OPTIONS)["spec"]["secretName"]
    assert OPTIONS.configuration.internal_cert_management.enable is False


def test_the_certificate_bears_the_names_of_all_services() -> None:
    names = serving(Options("queues", issuer=Issuer()))["spec"]["dnsNames"]
    for service in installed(OPTIONS, "Service"):
        assert {f"{service}.queues.svc", f"{service}.queues.svc.cluster.local"} <= set(names)


def leads_to_the_manager(found: Json) -> bool:
    return '"service": {' in json.dumps(found) and found["kind"] != "Service"


def test_objects_that_name_a_service_get_a_ca_bundle() -> None:
    objects = manifests(OPTIONS)
    annotated = [each for each in objects if INJECT in each["metadata"].get("annotations", {})]
    assert annotated == [each for each in objects if leads_to_the_manager(each)]
    assert {each["metadata"]["annotations"][INJECT] for each in annotated} == {f"{HOME}/kueue-serving-cert"}
    kinds = {each["kind"] for each in annotated}
    assert kinds == {
        "APIService",
        "CustomResourceDefinition",
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
    }


def test_an_authority_that_outlives_its_certificates_signs() -> None:
    issuers, certificates = installed(OPTIONS, "Issuer"), installed(OPTIONS, "Certificate")
    signer = issuers[serving(OPTIONS)["spec"]["issuerRef"]["name"]]
    (authority,) = [each for each in certificates.values() if each["spec"].get("isCA")]
    assert signer["spec"]["ca"]["secretName"] == authority["spec"]["secretName"]
    assert issuers[authority["spec"]["issuerRef"]["name"]]["spec"] == {"selfSigned": {}}


def test_another_issuer_replaces_ours() -> None:
    options = Options(issuer=Issuer("company", "ClusterIssuer"))
    assert installed(options, "Issuer") == {}
    assert list(installed(options, "Certificate")) == ["kueue-serving-cert"]
    reference = {"group": "cert-manager.io", "kind": "ClusterIssuer", "name": "company"}
    assert serving(options)["spec"]["issuerRef"] == reference


def test_prometheus_verifies_the_manager() -> None:
    (monitor,) = installed(OPTIONS, "ServiceMonitor").values()
    (endpoint,) = monitor["spec"]["endpoints"]
    assert endpoint["tlsConfig"]["serverName"] in serving(OPTIONS)["spec"]["dnsNames"]
    assert endpoint["tlsConfig"]["ca"]["secret"] == {"name": "kueue-webhook-server-cert", "key": "ca.crt"}


def test_a_given_configuration_keeps_everything_else() -> None:
    names = {"webhookServiceName": "hooks", "webhookSecretName": "hooks-cert"}
    document = {**default_document(), "internalCertManagement": {"enable": True, **names}}
    options = Options(document=document, issuer=Issuer())
    assert options.installed_document == {**document, "internalCertManagement": {"enable": False, **names}}
    assert mounted(options)[1]["secretName"] == "hooks-cert"
    assert f"hooks.{HOME}.svc" in serving(options)["spec"]["dnsNames"]


# Rights


def missing(options: Options, rights: list[RequiredPermission]) -> list[str]:
    """Those rights that the manager's roles do not grant."""
    roles = [each for each in manifests(options) if each["metadata"]["name"].startswith("kueue-manager-")]
    return [str(right) for right in rights if not any(grants(role, right) for role in roles)]


def grants(role: Json, right: RequiredPermission) -> bool:
    what = f"{right.resource}/{right.subresource}" if right.subresource else right.resource
    return bool(right.namespace or role["kind"] == "ClusterRole") and any(
        right.group in rule["apiGroups"] and what in rule["resources"] and right.verb in rule["verbs"]
        for rule in role.get("rules", ())
    )


def test_the_manager_has_the_permissions_that_it_needs() -> None:
    settings = OPTIONS.configuration
    registry = registry_of(settings, all_frameworks())
    asked = [
        *startup_permissions(ManagerSettings(settings, namespace=HOME)),
        *framework_permissions(registry),
    ]
    assert missing(OPTIONS, asked) == []


@pytest.mark.parametrize(
    ("group", "resource"),
    [
        ("", "secrets"),
        ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"),
        ("admissionregistration.k8s.io", "validatingwebhookconfigurations"),
        ("apiregistration.k8s.io", "apiservices"),
    ],
)
def test_the_manager_has_no_rights_that_only_its_own_certificates_need(group: str, resource: str) -> None:
    rights = [RequiredPermission(verb, group, resource, namespace=HOME) for verb in ("list", "watch", "get", "update")]
    assert missing(Options(), rights) == []
    assert missing(OPTIONS, rights) == [str(right) for right in rights]


# The command


def issuer_of(*arguments: str) -> Json:
    done = CliRunner().invoke(cli, ["install", "-o", "json", *arguments])
    assert done.exit_code == 0, done.output
    found = [each for each in json.loads(done.output)["items"] if each["kind"] == "Certificate"]
    return found[-1]["spec"]["issuerRef"] if found else None


def test_the_command_names_an_issuer() -> None:
    group = {"group": "cert-manager.io"}
    assert issuer_of() is None
    assert issuer_of("--cert-manager") == {**group, "kind": "Issuer", "name": "kueue-ca-issuer"}
    assert issuer_of("--issuer", "x/ClusterIssuer") == {**group, "kind": "ClusterIssuer", "name": "x"}


@pytest.mark.parametrize(
    ("text", "message"),
    [("x/Secret", "unknown kind Secret: use x/Issuer or ClusterIssuer"), ("", "the name "), ("X", "the name ")],
)
def test_an_invalid_issuer_is_rejected_in_one_line(text: str, message: str) -> None:
    with pytest.raises(OptionsError, match=message) as caught:
        parse_issuer(text)
    assert "\n" not in str(caught.value)


# Running


class CertManager:
    """Issues what the Certificate requests, into files as kubelet mounts and replaces a Secret."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.authority = CertificateAuthority.create(datetime.now(UTC))
        self._issued = 0

    def issue(self) -> None:
        """Write a new certificate, or a renewed one."""
        # The embedded server reaches webhooks by their address.
        hosts = [*serving(OPTIONS)["spec"]["dnsNames"], HOST]
        pair = self.authority.issue_server("x", hosts, datetime.now(UTC))
        self._issued += 1
        made = self.directory / f"..{self._issued}"
        made.mkdir()
        for name, content in (("tls.crt", pair.certificate_pem), ("tls.key", pair.key_pem)):
            (made / name).write_bytes(content)
            if self._issued == 1:
                (self.directory / name).symlink_to(Path("..data") / name)
        swapped = self.directory / "..data_tmp"
        swapped.symlink_to(made.name)
        swapped.replace(self.directory / "..data")


@pytest.fixture
def cert_manager(tmp_path: Path) -> CertManager:
    return CertManager(tmp_path)


def settings(directory: Path) -> Configuration:
    """The Configuration that is installed, in another directory and on a port of this machine."""
    defaults = OPTIONS.configuration
    return replace(defaults, webhook=replace(defaults.webhook, host=HOST, port=free_port(), cert_dir=str(directory)))


WIRING = WebhookWiring(manager_endpoint(OPTIONS), lambda: registrations(OPTIONS), InCluster(HOME, VISIBILITY_SERVICE))


@asynccontextmanager
async def manager(cluster: InMemoryApiServer, clock: VirtualClock, directory: Path) -> AsyncIterator[int]:
    """A manager's webhooks; the port."""
    config = settings(directory)
    async with (
        running_certificates(client_of(cluster, clock), config, WIRING) as certificates,
        running_webhook_server(config, certificates, kueue_handlers(DEFAULT_GATES)) as server,
    ):
        yield server.port


async def shown(port: int, authority: CertificateAuthority) -> int:
    """The serial number of the certificate that an API server is shown."""
    context = ssl.create_default_context(cadata=authority.pem.decode())
    async with asyncio.timeout(60):
        _, writer = await asyncio.open_connection(HOST, port, ssl=context, server_hostname=WEBHOOKS)
    found = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.close()
    return x509.load_der_x509_certificate(found).serial_number


async def test_a_manager_shows_a_renewed_certificate_without_a_restart(cert_manager: CertManager) -> None:
    cert_manager.issue()
    clock = VirtualClock(datetime.now(UTC))
    async with running_cluster_without_kueue() as cluster, manager(cluster, clock, cert_manager.directory) as port:
        before = await shown(port, cert_manager.authority)
        cert_manager.issue()
        async with asyncio.timeout(60):
            while (await shown(port, cert_manager.authority)) == before:
                await clock.advance(1.0)


async def test_a_missing_certificate_is_logged_and_loaded_once_it_exists(cert_manager: CertManager) -> None:
    clock = VirtualClock(datetime.now(UTC))
    async with running_cluster_without_kueue() as cluster:
        with pytest.raises(CertificateError, match=r"cannot read .*tls\.crt: .*; mount"):
            async with manager(cluster, clock, cert_manager.directory):
                pass
        cert_manager.issue()
        async with manager(cluster, clock, cert_manager.directory) as port:
            assert await shown(port, cert_manager.authority)


async def test_writes_go_through_the_webhooks_before_and_after_a_renewal(cert_manager: CertManager) -> None:
    cert_manager.issue()
    clock = VirtualClock(datetime.now(UTC))
    async with running_kueue_cluster() as cluster, manager(cluster, clock, cert_manager.directory) as port:
        place = ManagerEndpoint(AtUrl(f"https://{HOST}:{port}"), HOME)
        for act in WebhookType:
            await cluster.create(configuration(act, KUEUE, place, cert_manager.authority.pem))
        flavor = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "f"}}
        for _ in range(3):
            assert (await cluster.try_create(flavor, dryRun="All")).status == 201
            cert_manager.issue()
            await clock.advance(30.0)


async def test_a_manager_leaves_ca_bundles_to_cert_manager(cert_manager: CertManager) -> None:
    cert_manager.issue()
    clock = VirtualClock(datetime.now(UTC))
    async with running_cluster_without_kueue() as cluster:
        hooks = configuration(WebhookType.VALIDATE, KUEUE, manager_endpoint(OPTIONS))
        before = await cluster.create(hooks)
        async with manager(cluster, clock, cert_manager.directory):
            await clock.advance(60.0)
            path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
            assert await cluster.get(f"{path}/{hooks['metadata']['name']}") == before
