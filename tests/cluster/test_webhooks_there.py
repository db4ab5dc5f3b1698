"""Our webhooks on a real API server: a manager outside the cluster, reached by its URL, conversion included.

On a control plane of its own, because everybody else's writes would meet the webhooks too.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio

from cluster.client import Client
from cluster.control_plane import ControlPlane, WithoutScheduler
from cluster.kubectl import Kubectl
from kohort.api.crds import WebhookService, definitions
from kohort.api.gates import DEFAULT_GATES
from kohort.api.kueue.admission import Write
from kohort.kube import client as kube
from kohort.kube.config import Choice, find_access
from kohort.kube.http import HttpTransport
from kohort.webhooks.kueue import kueue_judges
from kohort.webhooks.running import answering, certified, own_name
from webhooks.planes import DEFINITIONS, MUTATING, NAMESPACE, VALIDATING, configured, outside, until
from webhooks.replaying import WRITES, Door, expected, outcome

Json = Any
pytestmark = pytest.mark.asyncio(loop_scope="module")
FLAVOR = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "heard"}}


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    with WithoutScheduler() as running:
        yield running


@dataclass
class Served:
    """The administrator's connection, and the door of the webhooks that he meets."""

    client: Client
    door: Door

    async def ask(self, method: str, path: str, body: Json, query: dict[str, str]) -> tuple[int, Json]:
        answer = await asyncio.to_thread(self.client.call, method, path, body, **query)
        return answer.code, answer.body


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def served(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Served]:
    kubectl = Kubectl(plane.kubectl, plane.kubeconfig, tmp_path_factory.mktemp("cache"))
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    await asyncio.to_thread(kubectl.apply, space, *definitions(WebhookService()))
    await asyncio.to_thread(kubectl, "wait", "--for=condition=Established", "--timeout=30s", "crd", "--all")
    manager = kube.Client(HttpTransport(find_access(Choice(kubeconfig=plane.kubeconfig))))
    configuration, client, door = configured(), Client(plane.admin), Door()
    found = Served(client, door)
    try:
        async with (
            certified(manager, configuration, outside(configuration, await own_name(manager))) as certificates,
            answering(configuration, certificates, door.guarding(kueue_judges(DEFAULT_GATES))),
        ):
            await until(lambda: _is_heard(found))
            yield found
    finally:
        client.close()
        await manager.close()


async def _is_heard(served: Served) -> bool:
    """Whether the server has taken up both configurations and the conversion."""
    code, made = await served.ask("POST", "/apis/kueue.x-k8s.io/v1beta2/resourceflavors", FLAVOR, {"dryRun": "All"})
    if code != 201 or not made["metadata"].get("finalizers"):
        return False
    found = [(await served.ask("GET", path, None, {}))[1]["items"] for path in (MUTATING, VALIDATING, DEFINITIONS)]
    if not all(found):
        return False
    body = {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "LocalQueue", "metadata": {"name": "heard"}}
    path = "/apis/kueue.x-k8s.io/v1beta1/namespaces/default/localqueues"
    return (await served.ask("POST", path, body, {"dryRun": "All"}))[0] == 201


@pytest.mark.parametrize("write", WRITES)
async def test_the_webhooks_say_what_the_functions_say(served: Served, write: Write) -> None:
    """API-9, API-73, API-95."""
    assert await outcome(served.ask, served.door, write) == expected(write)


async def test_the_managers_own_status_writes_do_not_come_back_to_it(served: Served) -> None:
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
