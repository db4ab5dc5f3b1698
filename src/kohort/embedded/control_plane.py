"""A whole control plane in one process: API server, garbage collector, controllers, scheduler, node agents.

Each component uses its own user and the ordinary client, as it would with any other API server.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace

from kohort.embedded.auth.users import AUTHENTICATED, MASTERS, User
from kohort.embedded.controllers.startup import running_controllers
from kohort.embedded.garbage_collector.startup import running_cleanup
from kohort.embedded.nodes.agent import NodeAgent
from kohort.embedded.nodes.log_source import AgentLogs, RemoteLogs
from kohort.embedded.nodes.registration import NodeRegistration
from kohort.embedded.nodes.runtime import Runtime
from kohort.embedded.nodes.startup import AgentSettings, running_nodes
from kohort.embedded.scheduler.scheduler import running_pod_scheduler
from kohort.embedded.server.server import ApiServer, running_api_server
from kohort.embedded.server.settings import ServerSettings
from kohort.kube.client import Client
from kohort.kube.clock import Clock, SystemClock
from kohort.kube.config.secrets import KeyPair

CONTROLLERS = "system:kube-controller-manager"
SCHEDULER = "system:kube-scheduler"
NODES = "system:nodes"
SERVER = "kube-apiserver"
"""User with which the server requests logs from node agents of other processes."""


@dataclass(frozen=True, slots=True)
class LocalNodes:
    """Nodes of this process, and the runtime of their pods."""

    registration: NodeRegistration
    runtime: Callable[[Client], Runtime]
    settings: AgentSettings


class ControlPlane:
    """An API server, and in-process clients of it."""

    def __init__(self, server: ApiServer, clock: Clock) -> None:
        self.server = server
        self.agents: list[NodeAgent] = []
        """Agents of the nodes of this process."""
        self._clock = clock

    def client(self, name: str) -> Client:
        """A client with full permissions under its own user name."""
        return self._client(User(name, (MASTERS, AUTHENTICATED)))

    def restricted_client(self, name: str) -> Client:
        """A client with the permissions that roles grant to its user name."""
        return self._client(User(name, (AUTHENTICATED,)))

    def _client(self, user: User) -> Client:
        return Client(self.server.core.transport(user), self._clock)


@asynccontextmanager
async def running_control_plane(
    settings: ServerSettings, local_nodes: LocalNodes | None = None, clock: Clock | None = None
) -> AsyncIterator[ControlPlane]:
    """Runs a control plane until the context exits; without local nodes, other processes provide them."""
    moment = clock or SystemClock()
    logs = AgentLogs()
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(running_api_server(replace(settings, logs=logs), moment))
        plane = ControlPlane(server, moment)
        logs.remote = RemoteLogs(plane.client(SERVER), _identity(server, moment))
        controllers = plane.client(CONTROLLERS)
        await stack.enter_async_context(running_cleanup(controllers))
        await stack.enter_async_context(running_controllers(controllers))
        await stack.enter_async_context(running_pod_scheduler(plane.client(SCHEDULER)))
        if local_nodes is not None:
            nodes = plane.client(NODES)
            agent = running_nodes(nodes, local_nodes.registration, local_nodes.runtime(nodes), local_nodes.settings)
            plane.agents.append(await stack.enter_async_context(agent))
            logs.agents += plane.agents
        yield plane


def _identity(server: ApiServer, clock: Clock) -> KeyPair:
    pair = server.keyring.client(User(SERVER, (MASTERS, AUTHENTICATED)), clock.wall())
    return KeyPair(pair.certificate_pem, pair.key_pem)
