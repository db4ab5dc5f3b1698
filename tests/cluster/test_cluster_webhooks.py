"""Our webhooks on a real API server: a manager outside the cluster, reached by its URL, conversion included.

On a control plane of its own, because the webhooks would receive writes of other tests too.
"""

import asyncio
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio
from cryptography import x509

from cluster.client import JsonClient
from cluster.control_plane import ControlPlane, ControlPlaneWithoutScheduler
from cluster.kubectl import Kubectl
from kit.golden.admission_writes import WRITES, WebhookBypass, expected, outcome
from kit.virtual_time import VirtualClock, eventually
from kohort.api.crds import WebhookService, definitions
from kohort.api.gates import DEFAULT_GATES
from kohort.api.kinds import kind_of
from kohort.api.kueue.admission import ObjectWrite
from kohort.kube import client as kube
from kohort.kube.certificates import AUTHORITY_LIFE
from kohort.kube.config import ConfigOverrides, load_client_config
from kohort.kube.http import HttpTransport
from kohort.webhooks.certificates import TRUST_DELAY, new_certificates, to_secret
from kohort.webhooks.kueue import kueue_handlers
from kohort.webhooks.startup import own_username, running_certificates, running_webhook_server
from webhooks.webhook_harness import DEFINITIONS, MUTATING, NAMESPACE, VALIDATING, webhook_configuration, webhook_wiring

Json = Any
pytestmark = pytest.mark.asyncio(loop_scope="module")
WORKLOADS = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads"
FLAVORS = "/apis/kueue.x-k8s.io/v1beta2/resourceflavors"
SECRET_NAME = "kueue-webhook-server-cert"  # noqa: S105  a name
FLAVOR = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "heard"}}


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    with ControlPlaneWithoutScheduler() as running:
        yield running


@dataclass
class WebhooksFixture:
    """The administrator's connection, the bypass of the webhooks, and the manager's clock."""

    client: JsonClient
    bypass: WebhookBypass
    clock: VirtualClock

    async def ask(self, method: str, path: str, body: Json, query: dict[str, str]) -> tuple[int, Json]:
        answer = await asyncio.to_thread(self.client.call, method, path, body, **query)
        return answer.code, answer.body


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def served(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[WebhooksFixture]:
    kubectl = Kubectl(plane.kubectl, plane.kubeconfig, tmp_path_factory.mktemp("cache"))
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    await asyncio.to_thread(kubectl.apply, space, *definitions(WebhookService()))
    await asyncio.to_thread(kubectl, "wait", "--for=condition=Established", "--timeout=30s", "crd", "--all")
    clock = VirtualClock(datetime.now(UTC) - TRUST_DELAY - timedelta(minutes=25))
    await asyncio.to_thread(kubectl.apply, _ageing(clock.wall()))
    manager = kube.Client(HttpTransport(load_client_config(ConfigOverrides(kubeconfig=plane.kubeconfig))), clock)
    configuration, client, bypass = webhook_configuration(), JsonClient(plane.admin), WebhookBypass()
    found = WebhooksFixture(client, bypass, clock)
    try:
        async with (
            running_certificates(
                manager, configuration, webhook_wiring(configuration, await own_username(manager))
            ) as certificates,
            running_webhook_server(configuration, certificates, bypass.guarding(kueue_handlers(DEFAULT_GATES))),
        ):
            await eventually(lambda: _is_reachable(found))
            yield found
    finally:
        client.close()
        await manager.close()


def _ageing(now: datetime) -> Json:
    """A Secret whose authority is to be replaced soon."""
    found = to_secret(new_certificates(["127.0.0.1"], now - AUTHORITY_LIFE + timedelta(days=50)))
    data = {name: b64encode(content).decode() for name, content in found.items()}
    metadata = {"name": SECRET_NAME, "namespace": NAMESPACE}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}


def _pod_set(resources: Json) -> Json:
    container = {"name": "c", "image": "i", "resources": resources}
    return {"name": "main", "count": 3, "template": {"spec": {"containers": [container]}}}


def _workload(name: str, spec: Json) -> Json:
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": {"name": name}, "spec": spec}


V1BETA1_SPECS: dict[str, Json] = {
    "ClusterQueue": {},
    "Cohort": {},
    "LocalQueue": {},
    "MultiKueueCluster": {"kubeConfig": {"location": "worker", "locationType": "Secret"}},
    "Workload": {"podSets": [_pod_set({})]},
}
"""A valid v1beta1 spec of every kind that is converted by webhook."""


async def _is_reachable(served: WebhooksFixture) -> bool:
    """Whether the server uses both webhook configurations, and the conversion webhook of every converted kind."""
    await served.clock.advance(0.1)
    code, made = await served.ask("POST", FLAVORS, FLAVOR, {"dryRun": "All"})
    if code != 201 or not made["metadata"].get("finalizers"):
        return False
    found = [(await served.ask("GET", path, None, {}))[1]["items"] for path in (MUTATING, VALIDATING, DEFINITIONS)]
    if not all(found):
        return False
    converted = [each for each in found[2] if each["spec"]["conversion"]["strategy"] == "Webhook"]
    return all([await _is_converted(served, each["spec"]["names"]["kind"]) for each in converted])


async def _is_converted(served: WebhooksFixture, kind: str) -> bool:
    body: Json = {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": kind, "metadata": {"name": "heard"}}
    found = kind_of(body["apiVersion"], kind)
    assert found is not None
    path = found.info.resource.path("default" if found.info.resource.namespaced else "")
    code, _ = await served.ask("POST", path, {**body, "spec": V1BETA1_SPECS[kind]}, {"dryRun": "All"})
    return code == 201


@pytest.mark.parametrize("write", WRITES)
async def test_the_webhooks_return_what_the_functions_return(served: WebhooksFixture, write: ObjectWrite) -> None:
    """API-9, API-73, API-95."""
    assert await outcome(served.ask, served.bypass, write) == expected(write)


async def test_the_managers_own_status_writes_do_not_come_back_to_it(served: WebhooksFixture) -> None:
    place = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads"
    workload = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": {"name": "own"}, "spec": {}}
    reserved = {"type": "QuotaReserved", "status": "True", "reason": "QuotaReserved", "message": ""}
    refused = {"status": {"conditions": [{**reserved, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}
    assert (await served.ask("POST", place, workload, {}))[0] == 201
    codes = [
        (await asyncio.to_thread(served.client.patch, f"{place}/own/status", refused, **query)).code
        for query in ({}, {"fieldManager": "kubectl-edit"}, {"fieldManager": "kueue-admission"})
    ]
    assert codes == [403, 403, 200]


async def test_a_status_without_news_for_the_rules_is_not_shown_to_them(served: WebhooksFixture) -> None:
    assert (await served.ask("POST", WORKLOADS, _workload("news", {}), {}))[0] == 201

    async def calls(status: Json) -> int:
        before = served.bypass.came
        answer = await asyncio.to_thread(served.client.patch, f"{WORKLOADS}/news/status", {"status": status})
        assert answer.code == 200
        # Until the server's own cache has it: what it looks at next would else be judged from the state before.
        version = answer.body["metadata"]["resourceVersion"]
        await served.ask("GET", f"{WORKLOADS}/news", None, {"resourceVersion": version})
        return served.bypass.came - before

    finished = {"type": "Finished", "status": "True", "reason": "Succeeded", "message": ""}
    assert await calls({"nominatedClusterNames": ["one"]}) == 1  # the first status of all
    assert await calls({"conditions": [{**finished, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}) == 0
    assert await calls({"clusterName": "one", "nominatedClusterNames": None}) == 1


async def test_a_new_workload_is_shown_only_if_something_in_it_may_be_changed_or_refused(
    served: WebhooksFixture,
) -> None:
    """API-55 to API-65; what has not the form of one is shown, and refused with the reason (API-9)."""

    async def calls(spec: Json, **query: str) -> tuple[int, int]:
        before = served.bypass.came
        code, _ = await served.ask("POST", WORKLOADS, _workload("fresh", spec), {"dryRun": "All", **query})
        return code, served.bypass.came - before

    main = _pod_set({"requests": {"cpu": "1", "example.com/gpu": 8}, "limits": {"memory": "1Gi"}})
    placed = {**main, "topologyRequest": {"required": "rack"}}
    assert await calls({"podSets": [main]}) == (201, 0)
    assert await calls({"podSets": [_pod_set({"requests": {"cpu": "-1"}})]}) == (403, 1)
    assert await calls({"podSets": [_pod_set({"limits": {"pods": 1}})]}) == (403, 1)
    assert await calls({"podSets": [placed]}) == (201, 1)
    assert await calls({"podSets": [placed]}, fieldManager="kueue-job-controller") == (201, 0)
    assert await calls({"podSets": [{**main, "minCount": 2}]}) == (201, 2)
    assert await calls({"podSets": "main"}) == (400, 1)
    assert await calls({"podSets": [{**main, "count": "three"}]}) == (422, 0)


async def test_metadata_is_the_same_in_both_versions(served: WebhooksFixture) -> None:
    """API-72: the conversion webhook leaves most of it out, and the server fills it in again."""
    made = _workload("both", {"podSets": [_pod_set({})]})
    made["metadata"] |= {"labels": {"l": "1"}, "annotations": {"a": "2"}, "finalizers": ["example.com/kept"]}
    assert (await served.ask("POST", WORKLOADS, made, {}))[0] == 201
    paths = [f"{WORKLOADS.replace('v1beta2', version)}/both" for version in ("v1beta2", "v1beta1")]
    (_, newer), (_, older) = [await served.ask("GET", path, None, {}) for path in paths]
    assert older["apiVersion"] == "kueue.x-k8s.io/v1beta1"
    assert older["metadata"] == newer["metadata"]
    assert {"uid", "managedFields", "finalizers", "labels", "annotations"} <= set(older["metadata"])


async def test_looking_at_the_largest_workloads_costs_no_more_than_the_server_allows(served: WebhooksFixture) -> None:
    crowded = _pod_set({"requests": {f"example.com/{number}": "1" for number in range(16)}})
    [container] = crowded["template"]["spec"]["containers"]
    crowded["template"]["spec"]["containers"] = [{**container, "name": f"c{number}"} for number in range(16)]
    pod_sets = [{**crowded, "name": f"set{number}"} for number in range(18)]
    before = served.bypass.came
    code, output = await served.ask("POST", WORKLOADS, _workload("large", {"podSets": pod_sets}), {"dryRun": "All"})
    assert (code, served.bypass.came - before) == (201, 0), output


async def test_no_write_is_refused_while_authority_and_certificate_are_replaced(served: WebhooksFixture) -> None:
    """The clock ends at the machine's time, since TLS uses that."""
    secret = f"/api/v1/namespaces/{NAMESPACE}/secrets/{SECRET_NAME}"

    async def issuer() -> str:
        data = (await served.ask("GET", secret, None, {}))[1]["data"]
        return x509.load_pem_x509_certificate(b64decode(data["tls.crt"])).issuer.rfc4514_string()

    before = await issuer()

    async def is_replaced() -> bool:
        await served.clock.advance(30)
        code, output = await served.ask("POST", FLAVORS, FLAVOR, {"dryRun": "All"})
        assert code == 201, output
        return await issuer() != before

    await eventually(is_replaced)
    codes = [(await served.ask("POST", FLAVORS, FLAVOR, {"dryRun": "All"}))[0] for _ in range(20)]
    assert set(codes) == {201}
