"""Addresses and CA bundles in webhook configurations: written by a manager in the cluster, and by one outside."""

import asyncio
import ssl
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from msgspec.structs import replace

from embedded.server.objects import version, widget_definition
from jobs.simulations import simulation_framework
from kit.apiserver import InMemoryApiServer
from kit.virtual_time import VirtualClock, eventually
from kohort.api.config.loading import default_configuration
from kohort.api.config.v1beta2 import Configuration
from kohort.api.crds import WebhookService, definitions
from kohort.api.resource import Resource
from kohort.jobs.builtin import built_in_frameworks
from kohort.jobs.registry import FrameworkRegistry, registry_of
from kohort.kube.certificates import AUTHORITY_LIFE
from kohort.kube.errors import ConfigError, KubeError
from kohort.webhooks.ca_injector import WebhookWiring
from kohort.webhooks.certificates import TRUST_DELAY, new_certificates, to_secret
from kohort.webhooks.configurations import AtUrl, InCluster, ManagerEndpoint, at_url, configuration
from kohort.webhooks.jobs import framework_registrations
from kohort.webhooks.registrations import KUEUE, WebhookRegistration, WebhookType, job_registrations
from kohort.webhooks.startup import (
    VISIBILITY_SERVICE,
    ServingCertificates,
    own_username,
    running_certificates,
    running_webhook_server,
)
from webhooks.webhook_harness import (
    DEFINITIONS,
    MUTATING,
    NAMESPACE,
    SECRET,
    VALIDATING,
    client_of,
    running_cluster_without_kueue,
    running_kueue_cluster,
    running_webhook_harness,
    running_webhooks,
    webhook_configuration,
    webhook_wiring,
)

Json = Any
SERVICE = InCluster(NAMESPACE, "kueue-webhook-service")
INSIDE = WebhookWiring(ManagerEndpoint(SERVICE, NAMESPACE), lambda: KUEUE, InCluster(NAMESPACE, VISIBILITY_SERVICE))
FLAVORS = "/apis/kueue.x-k8s.io/v1beta2/resourceflavors"
SERVICES = ("kueue-webhook-service", "kueue-visibility-server", "kueue-controller-manager-metrics-service")
API_SERVICE = "/apis/apiregistration.k8s.io/v1/apiservices/v1beta2.visibility.kueue.x-k8s.io"
JOB = Resource("batch", "v1", "Job", "jobs", namespaced=True)
POD = Resource("", "v1", "Pod", "pods", namespaced=True)


def flavor(name: str) -> Json:
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": name}}


def api_service(**spec: Json) -> Json:
    service = {"namespace": NAMESPACE, "name": VISIBILITY_SERVICE, "port": 443}
    spec = {"group": "visibility.kueue.x-k8s.io", "version": "v1beta2", "service": service, **spec}
    priorities = {"groupPriorityMinimum": 100, "versionPriority": 100}
    head = {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService"}
    return {**head, "metadata": {"name": "v1beta2.visibility.kueue.x-k8s.io"}, "spec": {**priorities, **spec}}


def bundles(found: Json) -> set[str]:
    return {each["clientConfig"].get("caBundle", "") for each in found["webhooks"]}


# Written


def test_the_webhooks_are_registered_as_kueue_registers_them() -> None:
    """API-95."""
    found = configuration(WebhookType.VALIDATE, KUEUE, INSIDE.manager)
    by_name = {each["name"]: each for each in found["webhooks"]}
    assert set(by_name) == {f"v{kind}.kb.io" for kind in ("clusterqueue", "cohort", "resourceflavor", "workload")}
    assert by_name["vworkload.kb.io"]["rules"][0]["resources"] == ["workloads", "workloads/status"]
    path = by_name["vworkload.kb.io"]["clientConfig"]["service"]["path"]
    assert path == "/validate-kueue-x-k8s-io-v1beta2-workload"
    assert {each["failurePolicy"] for each in found["webhooks"]} == {"Fail"}
    assert {each["sideEffects"] for each in found["webhooks"]} == {"None"}


def test_webhooks_of_jobs_spare_the_system_and_the_manager() -> None:
    """API-96, JOB-76."""
    jobs = (*job_registrations("batch/job", JOB, ("CREATE",)), *job_registrations("pod", POD, ("CREATE",)))
    found = configuration(WebhookType.MUTATE, jobs, ManagerEndpoint(SERVICE, "elsewhere"))
    assert [each["name"] for each in found["webhooks"]] == ["mjob.kb.io", "mpod.kb.io"]
    assert found["webhooks"][1]["clientConfig"]["service"]["path"] == "/mutate--v1-pod"
    (requirement,) = found["webhooks"][0]["namespaceSelector"]["matchExpressions"]
    assert requirement["values"] == ["kube-system", "elsewhere"]


@pytest.mark.parametrize("text", ["http://127.0.0.1:9443", "127.0.0.1:9443", "https://", "https://[", "https://x?y"])
def test_a_url_that_no_api_server_takes_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="use one like https://"):
        at_url(text)


def test_a_url_may_end_in_a_slash() -> None:
    assert at_url("https://gpu.example:9443/") == AtUrl("https://gpu.example:9443")
    assert at_url("https://[::1]:9443").hosts == ("::1",)


# Inside


@asynccontextmanager
async def inside(cluster: InMemoryApiServer) -> AsyncIterator[ServingCertificates]:
    async with running_certificates(client_of(cluster), webhook_configuration(), INSIDE) as found:
        yield found


async def test_every_configuration_with_our_services_gets_our_bundle() -> None:
    async with running_kueue_cluster() as cluster:
        for act in WebhookType:
            await cluster.create(configuration(act, KUEUE, INSIDE.manager))
        await cluster.create(api_service())
        async with inside(cluster) as found:
            bundle = b64encode(found.bundle).decode()

            async def is_logged() -> bool:
                hooks = [(await cluster.get(path))["items"][0] for path in (MUTATING, VALIDATING)]
                queue = await cluster.get(f"{DEFINITIONS}/clusterqueues.kueue.x-k8s.io")
                served = await cluster.get(API_SERVICE)
                configs = [queue["spec"]["conversion"]["webhook"]["clientConfig"], served["spec"]]
                bundles_seen = set().union(*map(bundles, hooks)) | {each.get("caBundle") for each in configs}
                return bundles_seen == {bundle}

            await eventually(is_logged)


async def test_what_belongs_to_others_is_left_alone() -> None:
    async with running_cluster_without_kueue() as cluster:
        theirs = configuration(WebhookType.VALIDATE, KUEUE, ManagerEndpoint(InCluster("theirs", "hooks"), NAMESPACE))
        before = await cluster.create({**theirs, "metadata": {"name": "theirs"}})
        widgets = widget_definition(version(), version("v2", storage=False))
        widgets["spec"]["conversion"] = {
            "strategy": "Webhook",
            "webhook": {
                "conversionReviewVersions": ["v1"],
                "clientConfig": {"service": {"namespace": "theirs", "name": "hooks", "path": "/convert"}},
            },
        }
        await cluster.create(widgets)
        await cluster.create(definitions(WebhookService())[1])
        async with inside(cluster):

            async def is_logged() -> bool:
                found = await cluster.get(f"{DEFINITIONS}/clusterqueues.kueue.x-k8s.io")
                return "caBundle" in found["spec"]["conversion"]["webhook"]["clientConfig"]

            await eventually(is_logged)
            assert await cluster.get(f"{VALIDATING}/theirs") == before
            kept = await cluster.get(f"{DEFINITIONS}/widgets.example.com")
            assert "caBundle" not in kept["spec"]["conversion"]["webhook"]["clientConfig"]


async def _is_trusted(cluster: InMemoryApiServer, path: str, name: str) -> bool:
    reply = await cluster.request("GET", f"{path}/{name}")
    return reply.status == 200 and all(bundles(reply.body))


async def test_a_recreated_configuration_gets_its_bundle_again() -> None:
    async with running_cluster_without_kueue() as cluster:
        wanted = configuration(WebhookType.VALIDATE, KUEUE, INSIDE.manager)
        name = wanted["metadata"]["name"]
        async with inside(cluster):
            for _ in range(2):
                await cluster.create(wanted)
                await eventually(lambda: _is_trusted(cluster, VALIDATING, name))
                await cluster.request("DELETE", f"{VALIDATING}/{name}")


async def test_an_api_that_is_not_to_be_verified_stays_so() -> None:
    async with running_cluster_without_kueue() as cluster:
        await cluster.create(api_service(insecureSkipTLSVerify=True))
        ours = configuration(WebhookType.MUTATE, KUEUE, INSIDE.manager)
        await cluster.create(ours)
        async with inside(cluster):
            await eventually(lambda: _is_trusted(cluster, MUTATING, ours["metadata"]["name"]))
        served = await cluster.get(API_SERVICE)
        assert "caBundle" not in served["spec"]


async def test_the_certificate_bears_the_names_of_all_our_services() -> None:
    async with running_cluster_without_kueue() as cluster, inside(cluster):
        secret = await cluster.get(SECRET)
        shown = x509.load_pem_x509_certificate(b64decode(secret["data"]["tls.crt"]))
        names = shown.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        assert {f"{service}.{NAMESPACE}.svc" for service in SERVICES} <= set(names.get_values_for_type(x509.DNSName))


# Outside


async def test_a_manager_outside_registers_itself_and_mends_what_others_break() -> None:
    async with running_webhook_harness() as found:
        name = "kueue-validating-webhook-configuration"
        await found.cluster.merge(f"{VALIDATING}/{name}", {"webhooks": []})

        async def is_back() -> bool:
            return len((await found.cluster.get(f"{VALIDATING}/{name}"))["webhooks"]) == 4

        await eventually(is_back)


async def test_a_manager_outside_registers_webhooks_that_are_added_later() -> None:
    """JOB-236."""
    registry = registry_of(default_configuration(), built_in_frameworks())
    outside = webhook_wiring(webhook_configuration())
    wiring = WebhookWiring(outside.manager, lambda: registered(registry), outside.aggregated, registry.subscribe)
    async with (
        running_cluster_without_kueue() as cluster,
        running_certificates(client_of(cluster), webhook_configuration(), wiring),
    ):
        await eventually(lambda: _is_trusted(cluster, MUTATING, "kueue-mutating-webhook-configuration"))
        registry.add(simulation_framework())

        async def is_added() -> bool:
            found = (await cluster.get(MUTATING))["items"][0]
            return "msimulation.kb.io" in {each["name"] for each in found["webhooks"]}

        await eventually(is_added)


def registered(registry: FrameworkRegistry) -> tuple[WebhookRegistration, ...]:
    return (*KUEUE, *framework_registrations(registry.active()))


async def test_writes_fail_without_a_running_webhook() -> None:
    """API-95: failurePolicy Fail."""
    async with running_webhook_harness() as found:
        cluster = found.cluster
        assert (await cluster.try_create(flavor("while-there"), dryRun="All")).status == 201
        unreachable = AtUrl("https://127.0.0.1:1")
        unreachable_configuration = configuration(WebhookType.MUTATE, KUEUE, ManagerEndpoint(unreachable, NAMESPACE))
        await cluster.create({**unreachable_configuration, "metadata": {"name": "lonely"}})
        reply = await cluster.try_create(flavor("while-away"))
        assert reply.status == 500
        assert 'failed calling webhook "mresourceflavor.kb.io"' in reply.message


async def test_a_webhook_url_in_use_is_reported() -> None:
    async with running_webhook_harness() as found:
        taken = webhook_configuration()
        busy: Configuration = replace(taken, webhook=replace(taken.webhook, port=found.server.port))
        with pytest.raises(ConfigError, match=r"webhooks: cannot listen on .* Address already in use: choose another"):
            async with running_webhook_server(busy, found.certificates, {}):
                pass


async def test_mounted_certificates_that_do_not_match_are_reported_in_one_line(tmp_path: Any) -> None:
    now = datetime.now(UTC)
    one, other = (to_secret(new_certificates(["127.0.0.1"], now)) for _ in range(2))
    (tmp_path / "tls.crt").write_bytes(one["tls.crt"])
    (tmp_path / "tls.key").write_bytes(other["tls.key"])
    usual = webhook_configuration()
    management = replace(usual.internal_cert_management, enable=False)
    settings = replace(
        usual, internal_cert_management=management, webhook=replace(usual.webhook, cert_dir=str(tmp_path))
    )
    async with running_cluster_without_kueue() as cluster:
        with pytest.raises(KubeError) as caught:
            async with running_certificates(client_of(cluster), settings, INSIDE):
                pass
    assert str(caught.value) == f"{tmp_path}: tls.crt and tls.key are not a matching PEM pair: replace both"


async def test_managers_with_different_urls_overwrite_each_other_within_limits(
    caplog: pytest.LogCaptureFixture,
) -> None:
    name = "kueue-mutating-webhook-configuration"
    async with running_cluster_without_kueue() as cluster, AsyncExitStack() as stack:
        for _ in range(2):
            settings = webhook_configuration()
            await stack.enter_async_context(
                running_certificates(client_of(cluster), settings, webhook_wiring(settings))
            )

        async def is_logged() -> bool:
            return "another client keeps changing it: use one webhook URL for all managers" in caplog.text

        await eventually(is_logged)
        assert (await cluster.get(f"{MUTATING}/{name}"))["metadata"]["generation"] < 100


async def test_a_replica_shows_what_another_one_has_renewed() -> None:
    async with running_cluster_without_kueue() as cluster:
        one, other = webhook_configuration(), webhook_configuration()
        async with (
            running_certificates(client_of(cluster), one, webhook_wiring(one)) as found,
            running_webhook_server(one, found, {}) as server,
        ):
            before = await handshake(server.port, b64encode(found.bundle).decode())
            await cluster.merge(SECRET, {"data": None})
            async with running_certificates(client_of(cluster), other, webhook_wiring(other)) as renewed:

                async def is_shared() -> bool:
                    return found.bundle == renewed.bundle

                await eventually(is_shared)
                assert await handshake(server.port, b64encode(renewed.bundle).decode()) != before


# Its own writes


async def test_writes_of_users_under_the_name_of_the_manager_are_checked() -> None:
    """The embedded server does not pass on the field manager; the other half is tested on a real one."""
    workload = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": {"name": "w"}, "spec": {}}
    path = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads/w/status"
    reserved = {"type": "QuotaReserved", "status": "True", "reason": "QuotaReserved", "message": ""}
    refused = {"status": {"conditions": [{**reserved, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}
    async with (
        running_kueue_cluster() as cluster,
        running_webhooks(cluster, user=await own_username(client_of(cluster))),
    ):
        await cluster.create(workload)
        assert (await cluster.merge(path, refused)).status == 403
        assert (await cluster.merge(path, refused, fieldManager="kubectl-edit")).status == 403


# Rotation


async def handshake(port: int, bundle: str) -> str:
    """The issuer of the certificate that a new client gets, which has the CA bundle of API servers."""
    context = ssl.create_default_context(cadata=b64decode(bundle).decode())
    async with asyncio.timeout(60):
        _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    shown = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.close()
    return x509.load_der_x509_certificate(shown).issuer.rfc4514_string()


async def test_no_write_is_refused_while_authority_and_certificate_are_replaced() -> None:
    """The clock ends at the machine's time, since TLS uses that."""
    start = datetime.now(UTC) - TRUST_DELAY - timedelta(minutes=25)
    clock = VirtualClock(start)
    ageing = new_certificates(["127.0.0.1"], start - AUTHORITY_LIFE + timedelta(days=50))
    data = {name: b64encode(content).decode() for name, content in to_secret(ageing).items()}
    metadata = {"name": "kueue-webhook-server-cert", "namespace": NAMESPACE}
    issuers, bundles_seen = set(), set()
    async with running_kueue_cluster() as cluster:
        await cluster.create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data})
        async with running_webhooks(cluster, clock) as found:
            for _ in range(20):
                await clock.advance(150)
                hooks = await cluster.get(f"{MUTATING}/kueue-mutating-webhook-configuration")
                bundles_seen |= bundles(hooks)
                issuers |= {await handshake(found.server.port, each) for each in bundles(hooks)}
                assert (await cluster.try_create(flavor("f"), dryRun="All")).status == 201
    assert len(issuers) == 2
    assert len(bundles_seen) == 2
