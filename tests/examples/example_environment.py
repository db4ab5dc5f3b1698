"""A control plane with the manager on it, where the manifests of `examples/` are applied as they are."""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from e2e.environment import Environment
from kohort.api.config.common import Integrations
from kohort.api.documents import read_documents
from kohort.embedded.auth.users import AUTHENTICATED, User
from kohort.embedded.control_plane import LocalNodes, running_control_plane
from kohort.embedded.nodes.declared import DeclaredNode
from kohort.embedded.nodes.registration import NodeRegistration
from kohort.embedded.nodes.runtime import Runtime
from kohort.embedded.nodes.simulated.plans import Defaults
from kohort.embedded.nodes.simulated.runtime import SimulatedRuntime
from kohort.embedded.nodes.startup import AgentSettings
from kohort.embedded.server.settings import ServerSettings
from kohort.install.options import default_integrations
from kohort.kube.client import Client
from manager.managers import configuration, running_test_manager

EXAMPLES = Path(__file__).parents[2] / "examples"

Object = dict[str, Any]


def example_folders() -> list[Path]:
    """Every example."""
    return sorted(each for each in EXAMPLES.iterdir() if each.is_dir())


def files_of(example: str) -> list[Path]:
    """The manifests of an example, in the order in which kubectl takes a folder."""
    return sorted((EXAMPLES / example).glob("*.yaml"))


def objects_in(file: Path, edit: Callable[[str], str] = str) -> Iterator[Object]:
    """The objects of a manifest, optionally after an edit of its text."""
    for document in read_documents(edit(file.read_text("utf-8")).encode(), str(file)):
        yield document.value


def simulated_runtime(client: Client) -> Runtime:
    """Simulated pods that run for half a second by default."""
    return SimulatedRuntime(client.clock, Defaults(run_seconds=0.5))


@asynccontextmanager
async def running_environment(
    nodes: Sequence[DeclaredNode], runtime: Callable[[Client], Runtime] = simulated_runtime
) -> AsyncIterator[Environment]:
    """Runs a cluster of these nodes with every framework that `kohort install` enables."""
    node_agent = LocalNodes(NodeRegistration(tuple(nodes)), runtime, AgentSettings())
    usual = configuration(integrations=Integrations(frameworks=tuple(default_integrations())))
    async with running_control_plane(ServerSettings(), node_agent) as plane, running_test_manager(plane, usual):
        yield Environment(
            plane.client("admin"), lambda name: Client(plane.server.core.transport(User(name, (AUTHENTICATED,))))
        )
