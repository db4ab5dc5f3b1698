"""An agent and its log endpoint, started and stopped as one."""

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
    """How an agent is reached and what it says of its pods."""

    runtime: str = "simulated"
    """The name by which nodes call their runtime."""
    address: str = "127.0.0.1"
    """Where API servers find the agent."""
    logs: LogEndpointAddress | None = None
    """Where logs are served; None where nobody outside the process asks for them."""
    addresses: PodIpAllocator = field(default_factory=PodIpAllocator)


USUAL = AgentSettings()


@asynccontextmanager
async def running_nodes(
    client: Client, registration: NodeRegistration, runtime: Runtime, settings: AgentSettings = USUAL
) -> AsyncIterator[NodeAgent]:
    """Nodes that run pods for as long as the block lasts."""
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
