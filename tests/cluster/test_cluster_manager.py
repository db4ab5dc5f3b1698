"""The whole manager on a real API server, outside the cluster: webhooks by URL, the visibility API by aggregation.

On a control plane of its own, because the webhooks would receive writes of other tests too.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from cluster.client import JsonClient
from cluster.control_plane import ControlPlane, ControlPlaneWithoutScheduler
from cluster.kubectl import Kubectl
from kit.builders.kueue import make_cluster_queue, make_local_queue, make_resource_flavor, make_workload
from kit.ports import free_port
from kit.virtual_time import eventually
from kohort.api.config.common import Health, LeaderElection, Webhook
from kohort.api.config.loading import default_configuration
from kohort.api.config.v1beta2 import Configuration, Metrics, VisibilityServer
from kohort.controllers.context import ManagerSettings
from kohort.kube import client as kube
from kohort.kube.config import ConfigOverrides, load_client_config
from kohort.kube.http import HttpTransport
from kohort.manager.crds import WhenMissing
from kohort.manager.manager import Manager
from kohort.manager.options import ManagerOptions
from kohort.manager.startup import running_manager
from manager.managers import LOOPBACK, NAMESPACE, is_true

Json = Any
pytestmark = pytest.mark.asyncio(loop_scope="module")
GROUP = "visibility.kueue.x-k8s.io"
PENDING = f"/apis/{GROUP}/v1beta2/clusterqueues/q/pendingworkloads"


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    with ControlPlaneWithoutScheduler() as running:
        yield running


@pytest.fixture(scope="module")
def kubectl(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    return Kubectl(plane.kubectl, plane.kubeconfig, tmp_path_factory.mktemp("cache"))


def configuration() -> Configuration:
    return msgspec.structs.replace(
        default_configuration(),
        webhook=Webhook(host=LOOPBACK, port=free_port()),
        health=Health(health_probe_bind_address="0"),
        metrics=Metrics(bind_address="0"),
        visibility_server=VisibilityServer(bind_address=LOOPBACK, bind_port=free_port()),
        leader_election=LeaderElection(),
    )


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def manager(plane: ControlPlane, kubectl: Kubectl) -> AsyncIterator[Manager]:
    config = configuration()
    client = kube.Client(HttpTransport(load_client_config(ConfigOverrides(kubeconfig=plane.kubeconfig))))
    url = f"https://{LOOPBACK}:{config.webhook.port}"
    options = ManagerOptions(url, when_missing=WhenMissing.INSTALL, identity="there")
    try:
        async with running_manager(client, ManagerSettings(config, namespace=NAMESPACE), options) as found:
            async with asyncio.timeout(60):
                await found.leading.wait()
            await asyncio.to_thread(kubectl.apply, *aggregation(found.addresses["visibility"].port))
            yield found
    finally:
        await client.close()


def aggregation(port: int) -> list[Json]:
    """A Service that leads to this machine by name, and both versions of the API behind it."""
    service = {"namespace": NAMESPACE, "name": "kueue-visibility-server", "port": port}
    made = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"namespace": NAMESPACE, "name": service["name"]},
        "spec": {"type": "ExternalName", "externalName": "localhost", "ports": [{"port": port, "protocol": "TCP"}]},
    }
    spec = {"group": GROUP, "groupPriorityMinimum": 100, "versionPriority": 100, "insecureSkipTLSVerify": True}
    services = [
        {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": f"{version}.{GROUP}"},
            "spec": {**spec, "version": version, "service": service},
        }
        for version in ("v1beta1", "v1beta2")
    ]
    return [made, *services]


def asking(client: JsonClient, method: str, path: str, body: Json = None) -> Callable[[], Awaitable[tuple[int, Json]]]:
    async def ask() -> tuple[int, Json]:
        answer = await asyncio.to_thread(client.call, method, path, body)
        return answer.code, answer.body

    return ask


async def test_pending_workloads_are_visible_to_authorized_users(
    plane: ControlPlane, kubectl: Kubectl, manager: Manager
) -> None:
    """API-99…104: through the API server, as the user that it authenticated."""
    objects = [make_resource_flavor(), make_cluster_queue("q", "1"), make_local_queue("lq", "q")]
    work = [make_workload(name, "lq", priority=priority) for name, priority in (("a", 9), ("b", 0), ("c", 5))]
    await asyncio.to_thread(kubectl.apply, *objects)
    admin, ann = JsonClient(plane.admin), JsonClient(plane.user("ann"))
    try:
        await asyncio.to_thread(kubectl.apply, work[0])
        path = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads/a"
        await eventually(asking(admin, "GET", path), lambda found: is_true(found[1], "Admitted"))
        await asyncio.to_thread(kubectl.apply, *work[1:])
        code, body = await eventually(asking(admin, "GET", PENDING), lambda found: len(found[1].get("items", ())) == 2)
        assert (code, [each["metadata"]["name"] for each in body["items"]]) == (200, ["c", "b"])
        code, body = await asking(ann, "GET", PENDING)()
        assert (code, body["reason"]) == (403, "Forbidden")
        await asyncio.to_thread(
            kubectl, "create", "clusterrole", "r", "--verb=get", f"--resource=clusterqueues.{GROUP}/pendingworkloads"
        )
        await asyncio.to_thread(kubectl, "create", "clusterrolebinding", "b", "--clusterrole=r", "--user=ann")
        await eventually(asking(ann, "GET", PENDING), lambda found: found[0] == 200)
    finally:
        admin.close()
        ann.close()


async def test_kubectl_finds_both_versions(kubectl: Kubectl, manager: Manager) -> None:
    """API-99."""

    async def available() -> list[str]:
        found = json.loads((await asyncio.to_thread(kubectl, "get", "apiservices", "-o", "json")).out)["items"]
        return [
            each["metadata"]["name"]
            for each in found
            if GROUP in each["metadata"]["name"] and is_true(each, "Available")
        ]

    assert len(await eventually(available, lambda names: len(names) == 2)) == 2
    versions = (await asyncio.to_thread(kubectl, "api-versions")).lines
    assert {f"{GROUP}/v1beta1", f"{GROUP}/v1beta2"} <= set(versions)
    raw = (await asyncio.to_thread(kubectl, "get", "--raw", f"/apis/{GROUP}/v1beta1")).out
    assert json.loads(raw)["resources"][1]["name"] == "clusterqueues/pendingworkloads"


async def test_a_job_is_suspended_admitted_and_started(plane: ControlPlane, kubectl: Kubectl, manager: Manager) -> None:
    """API-96, JOB-66: the webhook, the Workload and the start on the real thing."""
    admin = JsonClient(plane.admin)
    jobs = "/apis/batch/v1/namespaces/default/jobs"
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    labels = {"kueue.x-k8s.io/queue-name": "for-jobs"}
    body = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "labels": labels},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}},
    }
    try:
        queues = [make_resource_flavor(), make_cluster_queue("jobs", "1"), make_local_queue("for-jobs", "jobs")]
        await asyncio.to_thread(kubectl.apply, *queues)
        code, made = await asking(admin, "POST", jobs, body)()
        assert (code, made["spec"]["suspend"]) == (201, True)
        await eventually(asking(admin, "GET", f"{jobs}/j"), lambda found: found[1]["spec"]["suspend"] is False)
    finally:
        admin.close()
