"""Nodes for a cluster: our own agent with simulated pods, in the test's process."""

import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from cluster.control_plane import START_SECONDS, ControlPlane
from kit.processes import ChildProcess
from kohort.embedded.nodes.agent import NodeAgent
from kohort.embedded.nodes.declared import DeclaredNode
from kohort.embedded.nodes.log_endpoint import LogEndpointAddress
from kohort.embedded.nodes.registration import NodeRegistration
from kohort.embedded.nodes.simulated.runtime import SimulatedRuntime
from kohort.embedded.nodes.startup import AgentSettings, running_nodes
from kohort.kube.client import Client
from kohort.kube.config import ConfigOverrides, load_client_config
from kohort.kube.http import HttpTransport

PROGRAM = Path(sys.executable).with_name("kohort")
_CAPACITY = {"cpu": "8", "memory": "32Gi", "pods": "110"}


def simulated(name: str, labels: Mapping[str, str] | None = None) -> DeclaredNode:
    """A node of eight CPUs."""
    return DeclaredNode(name, _CAPACITY, labels=labels or {})


@asynccontextmanager
async def simulated_nodes(cluster: ControlPlane, *nodes: DeclaredNode) -> AsyncIterator[NodeAgent]:
    """Nodes that are there, and run pods in name only, for as long as the context lasts."""
    client = Client(HttpTransport(load_client_config(ConfigOverrides(kubeconfig=cluster.kubeconfig))))
    logs = LogEndpointAddress(cluster.admin.authority)
    try:
        runtime = SimulatedRuntime(client.clock)
        async with running_nodes(client, NodeRegistration(nodes), runtime, AgentSettings(logs=logs)) as agent:
            yield agent
    finally:
        await client.close()


def child_node(cluster: ControlPlane, log: Path, *options: str) -> ChildProcess:
    """A simulated node in a process of its own; the caller stops it."""
    place = f"--kubeconfig={cluster.kubeconfig}"
    command: list[str | Path] = [PROGRAM, "node", place, "--capacity=cpu=32,memory=64Gi", *options]
    child = ChildProcess.start("kohort node", command, log)
    child.wait_until(lambda: "Ctrl-C to stop" in log.read_text(), START_SECONDS)
    return child
