"""An agent and its log endpoint, started and stopped as one."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from kohort.embedded.nodes.addresses import PodAddresses
from kohort.embedded.nodes.agent import NodeAgent
from kohort.embedded.nodes.endpoint import LogEndpoint, Place
from kohort.embedded.nodes.manifests import Site
from kohort.embedded.nodes.registration import Registration
from kohort.embedded.nodes.runtime import Runtime
from kohort.kube.client import Client


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """How an agent is reached and what it says of its pods."""

    runtime: str = "simulated"
    """The name by which nodes call their runtime."""
    address: str = "127.0.0.1"
    """Where API servers find the agent."""
    logs: Place | None = None
    """Where logs are served; None where nobody outside the process asks for them."""
    addresses: PodAddresses = field(default_factory=PodAddresses)


USUAL = AgentSettings()


@asynccontextmanager
async def running_nodes(
    client: Client, registration: Registration, runtime: Runtime, settings: AgentSettings = USUAL
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
        await agent.start(Site(settings.address, port, settings.runtime))
        yield agent
