"""Nodes and runtime of `kohort up`, from its arguments."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kohort.cli.runtimes import RuntimeChoice, RuntimeName
from kohort.embedded.control_plane import LocalNodes
from kohort.embedded.nodes.declared import DeclaredNode, NodePool
from kohort.embedded.nodes.files import read_nodes
from kohort.embedded.nodes.leases import PATIENT
from kohort.embedded.nodes.machine import this_machine
from kohort.embedded.nodes.registration import NodeRegistration, NodeShutdownPolicy
from kohort.embedded.nodes.simulated.plans import Defaults
from kohort.embedded.nodes.startup import AgentSettings
from kohort.embedded.runtimes.settings import AtStop
from kohort.local.runs import PodsAfterStop


@dataclass(frozen=True, slots=True)
class DeclaredNodes:
    """Nodes of `--nodes`."""

    nodes_option: str
    """A number, or a file of Node manifests."""
    capacity: str
    labels: str
    name: str
    taints: str

    def nodes(self) -> tuple[DeclaredNode, ...]:
        """The nodes; raises an ApiError for invalid arguments."""
        if self.nodes_option.isascii() and self.nodes_option.isdigit():
            return NodePool(int(self.nodes_option), self.capacity, self.labels, self.name, self.taints).nodes()
        return read_nodes(self.nodes_option)


@dataclass(frozen=True, slots=True)
class UpNodeArguments:
    """Arguments of the nodes."""

    declared: DeclaredNodes | None
    runtime: RuntimeName
    simulated: Defaults
    host_paths: tuple[str, ...]
    pods: PodsAfterStop

    async def make(self, scratch: Path) -> LocalNodes:
        """Build the nodes, with a folder for pod data; raises an ApiError."""
        nodes = self.declared.nodes() if self.declared else (await this_machine(),)
        at_stop = _AT_STOP[self.pods]
        choice = RuntimeChoice(self.runtime, scratch, nodes[0].offered, self.simulated, self.host_paths, at_stop)
        # Nodes are kept: the next start adopts them with their pods.
        registration = NodeRegistration(nodes, PATIENT, NodeShutdownPolicy.KEEP)
        return LocalNodes(registration, choice.make, AgentSettings(self.runtime, addresses=choice.addresses()))


_AT_STOP: Mapping[PodsAfterStop, AtStop] = {
    PodsAfterStop.LEFT: AtStop.LEAVE,
    PodsAfterStop.ENDED: AtStop.END,
    PodsAfterStop.SIMULATED: AtStop.LEAVE,
}
