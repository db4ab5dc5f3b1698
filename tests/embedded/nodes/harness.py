"""An API server with a node agent in virtual time."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from kit.apiserver import ADMIN, InMemoryApiServer, running_apiserver
from kit.virtual_time import settle
from kohort.embedded.nodes.agent import NodeAgent
from kohort.embedded.nodes.declared import DeclaredNode
from kohort.embedded.nodes.manifests import AgentDefaults
from kohort.embedded.nodes.registration import NodeRegistration, NodeShutdownPolicy
from kohort.embedded.nodes.runtime import Runtime
from kohort.embedded.nodes.simulated.runtime import SimulatedRuntime
from kohort.kube.client import Client
from kohort.kube.transport import Transport

Object = dict[str, Any]
CAPACITY = {"cpu": "4", "memory": "8Gi", "pods": "10"}
PODS, NODES = "/api/v1/namespaces/default/pods", "/api/v1/nodes"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
EVENTS = "/api/v1/namespaces/default/events"


class NodeAgentHarness:
    """An API server whose nodes are run by an agent."""

    def __init__(self, cluster: InMemoryApiServer, agent: NodeAgent, client: Client) -> None:
        self.cluster = cluster
        self.agent = agent
        self.client = client

    async def run(self, found: Object) -> None:
        """Create a pod and let the agent observe it."""
        await self.cluster.create(found)
        await self.advance(0)

    async def advance(self, seconds: float) -> None:
        """Advance time and run everything that is due."""
        await self.cluster.clock.advance(seconds)
        for _ in range(8):
            await settle()

    async def pod(self, name: str) -> Object:
        return await self.cluster.get(f"{PODS}/{name}")

    async def status(self, name: str) -> Object:
        return dict((await self.pod(name))["status"])

    async def phase(self, name: str) -> str:
        return str((await self.status(name)).get("phase"))

    async def condition(self, name: str, kind: str) -> tuple[str, str, str]:
        """Status, reason and message of a condition."""
        found = {each["type"]: each for each in (await self.status(name)).get("conditions", ())}[kind]
        return found["status"], found.get("reason", ""), found.get("message", "")

    async def exists(self, path: str) -> bool:
        return (await self.cluster.request("GET", path)).status == 200

    async def delete(self, name: str, grace: int | None = None) -> None:
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": grace}
        reply = await self.cluster.request("DELETE", f"{PODS}/{name}", options if grace is not None else None)
        assert reply.status in (200, 202), reply
        await self.advance(0)

    async def events(self, name: str) -> list[tuple[str, str]]:
        """Reason and message of a pod's events."""
        found = (await self.cluster.get(EVENTS))["items"]
        return [(each["reason"], each["message"]) for each in found if each["involvedObject"]["name"] == name]


def node(name: str = "one", **fields: Any) -> DeclaredNode:
    return DeclaredNode(name, CAPACITY, **fields)


def pod(
    name: str = "a", on: str = "one", restart: str = "Never", annotations: Object | None = None, **spec: Any
) -> Object:
    """A bound pod; `annotations` have no prefix."""
    notes = {f"kohort.dev/{key.replace('_', '-')}": str(text) for key, text in (annotations or {}).items()}
    container = {"name": "main", "image": "busybox:1", "resources": {"requests": {"cpu": "1"}}}
    body = {"nodeName": on, "restartPolicy": restart, "containers": [container], **spec}
    metadata = {"name": name, "namespace": "default", "annotations": notes}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": body}


def container(name: str, **more: Any) -> Object:
    return {"name": name, "image": "busybox:1", **more}


@asynccontextmanager
async def running_agent(
    cluster: InMemoryApiServer,
    *nodes: DeclaredNode,
    runtime: Runtime | None = None,
    leaving: NodeShutdownPolicy = NodeShutdownPolicy.KEEP,
    transport: Transport | None = None,
) -> AsyncIterator[NodeAgentHarness]:
    """Runs an agent until the context exits; its nodes and pods remain."""
    client = Client(transport or cluster.core.transport(ADMIN), cluster.clock)
    registration = NodeRegistration(nodes or (node(),), leaving=leaving)
    agent = NodeAgent(client, registration, runtime or SimulatedRuntime(cluster.clock))
    await agent.start(AgentDefaults())
    try:
        yield NodeAgentHarness(cluster, agent, client)
    finally:
        await agent.stop()


@asynccontextmanager
async def running_node_agent(*nodes: DeclaredNode) -> AsyncIterator[NodeAgentHarness]:
    """Runs an empty API server with an agent until the context exits."""
    async with running_apiserver() as cluster, running_agent(cluster, *nodes) as harness:
        yield harness
