"""Starts and stops an agent with its log endpoint."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from kohort.embedded.nodes.addresses import PodIpAllocator
from kohort.embedded.nodes.agent import NodeAgent
from kohort.embedded.nodes.log_endpoint import LogEndpoint, LogEndpointAddress
from kohort.embedded.nodes.manifests import AgentDefaults
from kohort.embedded.nodes.registration import NodeRegistration
from kohort.embedded.nodes.runtime import Runtime
from kohort.kube.client import Client


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """Address, runtime name and log endpoint of an agent."""

    runtime: str = "simulated"
    """Runtime name reported by the nodes."""
    address: str = "127.0.0.1"
    """Address of the agent for API servers."""
    logs: LogEndpointAddress | None = None
    """Log endpoint; None if logs are read only within the process."""
    addresses: PodIpAllocator = field(default_factory=PodIpAllocator)


USUAL = AgentSettings()


@asynccontextmanager
async def running_nodes(
    client: Client, registration: NodeRegistration, runtime: Runtime, settings: AgentSettings = USUAL
) -> AsyncIterator[NodeAgent]:
    """Runs nodes until the context exits."""
    agent = NodeAgent(client, registration, runtime, settings.addresses)
    async with AsyncExitStack() as stack:
        port = 0
        if settings.logs is not None:
            endpoint = LogEndpoint(agent, client)
            port = await endpoint.start(settings.logs)
            stack.push_async_callback(endpoint.stop)
        stack.push_async_callback(agent.stop)
        await agent.start(AgentDefaults(settings.address, port, settings.runtime))
        yield agent
