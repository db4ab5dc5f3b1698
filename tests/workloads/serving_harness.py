"""The control planes for cases of serving workloads, with kubectl."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from cluster.binaries import built
from cluster.control_plane import ControlPlane, ControlPlaneWithoutScheduler
from cluster.nodes import simulated, simulated_nodes
from kit.commands import CommandResult
from kohort.api.core.events import Event
from kohort.api.meta import Taint
from kohort.api.resource import Resource
from kohort.embedded.auth.users import AUTHENTICATED, MASTERS, User
from kohort.embedded.controllers.startup import running_controllers
from kohort.embedded.garbage_collector.startup import running_cleanup
from kohort.embedded.nodes.declared import DeclaredNode
from kohort.embedded.nodes.registration import NodeRegistration
from kohort.embedded.nodes.simulated.runtime import SimulatedRuntime
from kohort.embedded.nodes.startup import running_nodes
from kohort.embedded.scheduler.scheduler import running_pod_scheduler
from kohort.embedded.server.server import running_api_server
from kohort.embedded.server.settings import ServerSettings
from kohort.kube.client import Client
from kohort.kube.config import ConfigOverrides, load_client_config
from kohort.kube.errors import StatusError
from kohort.kube.http import HttpTransport
from kohort.kube.options import ListScope
from kohort.kube.patches import MergePatch

Object = dict[str, Any]
PATIENCE = 100.0
LOOK = 0.2
QUIET = 2.0
"""Seconds without a change after which the state is final."""
T = TypeVar("T")

PODS = Resource("", "v1", "Pod", "pods", namespaced=True)
NODES = Resource("", "v1", "Node", "nodes", namespaced=False)
NAMESPACES = Resource("", "v1", "Namespace", "namespaces", namespaced=False)
CLAIMS = Resource("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", namespaced=True)
QUOTAS = Resource("", "v1", "ResourceQuota", "resourcequotas", namespaced=True)
DEPLOYMENTS = Resource("apps", "v1", "Deployment", "deployments", namespaced=True)
REPLICA_SETS = Resource("apps", "v1", "ReplicaSet", "replicasets", namespaced=True)
STATEFUL_SETS = Resource("apps", "v1", "StatefulSet", "statefulsets", namespaced=True)
BUDGETS = Resource("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", namespaced=True)

_LONELY = DeclaredNode(
    "lonely",
    {"cpu": "8", "memory": "32Gi", "pods": "110"},
    labels={"lonely": "yes"},
    taints=(Taint(key="lonely", effect="NoSchedule"),),
)
"""A node that only pods with a toleration use, so that taints on it affect no other case."""
_FLEET = (*(simulated(f"node-{number}") for number in range(3)), _LONELY)
_ADMIN = User("admin", (MASTERS, AUTHENTICATED))


@dataclass(frozen=True)
class ServingCaseRunner:
    """One control plane, and the namespace of one case on it."""

    client: Client
    kubeconfig: Path
    home: Path
    namespace: str = ""

    async def kubectl(self, *arguments: str) -> CommandResult:
        command = [f"--kubeconfig={self.kubeconfig}", f"--cache-dir={self.home}", f"--namespace={self.namespace}"]
        process = await asyncio.create_subprocess_exec(
            built() / "kubectl",
            *command,
            *arguments,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await asyncio.wait_for(process.communicate(), PATIENCE)
        return CommandResult(process.returncode or 0, out.decode(), err.decode())

    def place(self, resource: Resource) -> str:
        return self.namespace if resource.namespaced else ""

    async def create(self, resource: Resource, found: Object) -> Object:
        return await self.client.of(resource).create(found, self.place(resource))

    async def get(self, resource: Resource, name: str) -> Object:
        return await self.client.of(resource).get((self.place(resource), name))

    async def items(self, resource: Resource) -> list[Object]:
        return list((await self.client.of(resource).list(ListScope(self.place(resource)))).items)

    async def merge(self, resource: Resource, name: str, patch: Object, subresource: str = "") -> None:
        await self.client.of(resource).patch((self.place(resource), name), MergePatch(patch), subresource=subresource)

    async def delete(self, resource: Resource, name: str) -> None:
        await self.client.of(resource).delete((self.place(resource), name))

    async def is_there(self, resource: Resource, name: str) -> bool:
        try:
            await self.get(resource, name)
        except StatusError as error:
            if error.is_not_found:
                return False
            raise
        return True

    async def events(self, *reasons: str) -> list[tuple[str, str, str]]:
        """Type, reason and text of the namespace's events with these reasons, once no more arrive."""

        async def listed() -> list[tuple[str, str, str]]:
            found = (await self.client.of(Event).list(ListScope(self.namespace))).items
            return sorted({(each.type, each.reason, each.note) for each in found if each.reason in reasons})

        return await self.settled(listed)

    async def settled(self, look: Callable[[], Awaitable[T]]) -> T:
        """The observation, once it has not changed for a while."""
        seen, quiet = await look(), 0.0
        for _ in range(int(PATIENCE / LOOK)):
            await asyncio.sleep(LOOK)
            before, seen = seen, await look()
            quiet = quiet + LOOK if seen == before else 0.0
            if quiet >= QUIET:
                return seen
        raise AssertionError(f"{self.namespace}: {seen} keeps changing")

    async def until(self, what: str, holds: Callable[[], Awaitable[object]]) -> None:
        """Wait until a condition holds."""
        for _ in range(int(PATIENCE / LOOK)):
            if await holds():
                return
            await asyncio.sleep(LOOK)
        raise AssertionError(f"{self.namespace}: {what}: not within {PATIENCE:g} s")


@asynccontextmanager
async def running_kubernetes() -> AsyncIterator[ServingCaseRunner]:
    """Runs etcd, kube-apiserver, kube-controller-manager and kube-scheduler until the context exits."""
    cluster = ControlPlane()
    await asyncio.to_thread(cluster.__enter__)
    client = Client(HttpTransport(load_client_config(ConfigOverrides(kubeconfig=cluster.kubeconfig))))
    try:
        with tempfile.TemporaryDirectory(prefix="kohort-") as home:
            async with simulated_nodes(cluster, *_FLEET):
                yield ServingCaseRunner(client, cluster.kubeconfig, Path(home))
    finally:
        await client.close()
        await asyncio.to_thread(cluster.__exit__, None, None, None)


_LEFT_TO_KUBERNETES = (
    "garbage-collector-controller",
    "namespace-controller",
    "resourcequota-controller",
    "root-ca-certificate-publisher-controller",
    "serviceaccount-controller",
)


@asynccontextmanager
async def running_mixed() -> AsyncIterator[ServingCaseRunner]:
    """Runs our controllers and scheduler on kube-apiserver, with those of its controllers that ours do not replace."""
    cluster = ControlPlaneWithoutScheduler(*_LEFT_TO_KUBERNETES)
    await asyncio.to_thread(cluster.__enter__)
    client = Client(HttpTransport(load_client_config(ConfigOverrides(kubeconfig=cluster.kubeconfig))))
    try:
        with tempfile.TemporaryDirectory(prefix="kohort-") as home:
            async with running_controllers(client), running_pod_scheduler(client), simulated_nodes(cluster, *_FLEET):
                yield ServingCaseRunner(client, cluster.kubeconfig, Path(home))
    finally:
        await client.close()
        await asyncio.to_thread(cluster.__exit__, None, None, None)


@asynccontextmanager
async def running_embedded() -> AsyncIterator[ServingCaseRunner]:
    """Runs the embedded control plane in this process until the context exits."""
    async with AsyncExitStack() as stack:
        home = stack.enter_context(tempfile.TemporaryDirectory(prefix="kohort-"))
        server = await stack.enter_async_context(running_api_server(ServerSettings()))
        client = Client(server.core.transport(_ADMIN))
        for part in (running_cleanup(client), running_controllers(client), running_pod_scheduler(client)):
            await stack.enter_async_context(part)
        runtime = SimulatedRuntime(client.clock)
        await stack.enter_async_context(running_nodes(client, NodeRegistration(_FLEET), runtime))
        yield ServingCaseRunner(client, server.kubeconfig, Path(home))
