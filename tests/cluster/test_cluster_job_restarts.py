"""A Job is stopped and restarted on Kubernetes' own control plane, and no write of the manager is rejected.

Its template may change only while the Job is suspended and no pod is active (JOB-101); so each write is watched.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from cluster.control_plane import ControlPlane
from cluster.nodes import simulated, simulated_nodes
from e2e.environment import Environment, Object, UserClient, condition, running
from kit.builders.batch import make_job
from kit.builders.kueue import make_cluster_queue, make_local_queue, make_resource_flavor
from kit.virtual_time import eventually
from kohort.controllers.context import ManagerSettings
from kohort.kube.client import Client
from kohort.kube.config import ConfigOverrides, load_client_config
from kohort.kube.http import HttpTransport
from kohort.kube.transport import Request, Response, Transport
from kohort.manager.crds import WhenMissing
from kohort.manager.options import ManagerOptions
from kohort.manager.startup import running_manager
from manager.managers import LOOPBACK, NAMESPACE, TIMEOUT, configuration

V1BETA2 = "kueue.x-k8s.io/v1beta2"
HOME = "default"
TOLERATION = {"key": "spot", "operator": "Exists"}


@dataclass
class RecordedRequests:
    """A transport that records writes to Jobs with the status of their responses."""

    inner: Transport
    sent: list[tuple[Any, int]] = field(default_factory=list)
    """Request bodies, and the status codes of the responses."""

    async def send(self, request: Request, timeout: float) -> Response:
        response = await self.inner.send(request, timeout)
        if request.method == "PATCH" and "/jobs/" in request.path:
            self.sent.append((json.loads(request.body), response.status))
        return response

    async def close(self) -> None:
        await self.inner.close()

    def rejected(self) -> list[tuple[Any, int]]:
        """Rejected writes, except conflicts."""
        return [(body, status) for body, status in self.sent if status >= 400 and status != 409]

    def templates(self) -> list[Any]:
        """Accepted changes of pod templates."""
        done = [body for body, status in self.sent if status == 200]
        return [body["spec"]["template"] for body in done if "template" in body.get("spec", {})]


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    """A separate control plane, because the manager would see the writes of all other tests."""
    with ControlPlane() as running_plane:
        yield running_plane


@asynccontextmanager
async def running_environment(plane: ControlPlane) -> AsyncIterator[tuple[Environment, RecordedRequests]]:
    config = configuration()
    options = ManagerOptions(f"https://{LOOPBACK}:{config.webhook.port}", when_missing=WhenMissing.INSTALL)
    access = load_client_config(ConfigOverrides(kubeconfig=plane.kubeconfig))
    nodes = (simulated("one", {"tier": "a"}), simulated("two", {"tier": "b"}))
    async with AsyncExitStack() as stack:
        watched = RecordedRequests(HttpTransport(access))
        client, admin = Client(watched), Client(HttpTransport(access))
        for each in (client, admin):
            stack.push_async_callback(each.close)
        await stack.enter_async_context(simulated_nodes(plane, *nodes))
        settings = ManagerSettings(config, namespace=NAMESPACE)
        manager = await stack.enter_async_context(running_manager(client, settings, options))
        async with asyncio.timeout(TIMEOUT):
            await manager.leading.wait()
        yield Environment(admin, lambda _: admin), watched


def a_job(name: str) -> Object:
    """A Job of one pod that runs until SIGTERM, and takes a while to end."""
    job = make_job(name)
    job["spec"]["template"]["metadata"] = {
        "annotations": {"kohort.dev/run-seconds": "600", "kohort.dev/stop-seconds": "2"}
    }
    return job


def selector(job: Object) -> Any:
    return job["spec"]["template"]["spec"].get("nodeSelector")


async def runs(user: UserClient, name: str) -> Object:
    """The Job, once its pod runs."""
    await eventually(lambda: user.pods_of(name, HOME), lambda pods: running(pods) == 1, f"a pod of {name} runs")
    return await user.job(name, HOME)


async def set_active(user: UserClient, name: str, *, active: bool) -> None:
    workload = await user.workload_of(name, HOME)
    assert workload is not None
    await user.patch(V1BETA2, "Workload", workload["metadata"]["name"], HOME, {"spec": {"active": active}})


async def test_a_stopped_job_is_restored_once_and_runs_in_another_flavor(plane: ControlPlane) -> None:
    async with running_environment(plane) as (running_env, watched):
        user = running_env.user()
        tiers = [make_resource_flavor(name, nodeLabels={"tier": name}, tolerations=[TOLERATION]) for name in "ab"]
        await user.create(a_job("first"))
        submitted = (await user.job("first", HOME))["spec"]["template"]
        await user.create(*tiers, make_cluster_queue("q", "1", "a b"), make_local_queue("q", "q"))
        assert selector(await runs(user, "first")) == {"tier": "a"}

        await set_active(user, "first", active=False)
        await eventually(
            lambda: user.workload_of("first", HOME),
            lambda found: condition(found, "QuotaReserved")[0] == "False",
            "the quota is free",
        )
        stopped = await user.job("first", HOME)
        assert stopped["spec"]["suspend"] is True
        assert stopped["spec"]["template"] == submitted
        assert "kueue.x-k8s.io/stopping" not in stopped["metadata"].get("annotations", {})

        await user.create(a_job("second"))
        assert selector(await runs(user, "second")) == {"tier": "a"}
        await set_active(user, "first", active=True)
        assert selector(await runs(user, "first")) == {"tier": "b"}

        assert watched.rejected() == []
        assert len(watched.templates()) == 4, "three starts and one restoration"
