"""`kohort node`: nodes for any API server, in the foreground until Ctrl-C; simulated ones by the thousand."""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from kohort.api.core.nodes import Node
from kohort.api.errors import ApiError
from kohort.cli.options import PATIENT, running_client
from kohort.cli.runtimes import RuntimeChoice, RuntimeName
from kohort.cli.signals import stop_asked
from kohort.embedded.nodes.declared import DEFAULT_CAPACITY, DEFAULT_NAME, DeclaredNode, NodePool
from kohort.embedded.nodes.files import read_nodes
from kohort.embedded.nodes.log_endpoint import LogEndpointAddress
from kohort.embedded.nodes.machine import this_machine
from kohort.embedded.nodes.registration import NodeRegistration, NodeShutdownPolicy
from kohort.embedded.nodes.simulated.plans import Defaults
from kohort.embedded.nodes.startup import AgentSettings, running_nodes
from kohort.embedded.runtimes.errors import RuntimeSetupError
from kohort.embedded.runtimes.settings import AtStop
from kohort.kube.client import Client
from kohort.kube.config import ClientConfig, ConfigOverrides, load_client_config
from kohort.kube.errors import KubeError

EXAMPLES = """\b
Examples:
  kohort node --count 100
  kohort node --kubeconfig admin.conf --count 640 --capacity cpu=96,memory=256Gi,nvidia.com/gpu=8 \\
      --labels 'cloud.provider.com/topology-block=b{block:0..3},cloud.provider.com/topology-rack=b{block}-r{0..15}'
  kubectl get nodes -o yaml > nodes.yaml; kohort node --kubeconfig elsewhere.conf --file nodes.yaml
"""


@dataclass(frozen=True, slots=True)
class NodeArguments:
    """What the command line asks for."""

    access: ClientConfig
    nodes: tuple[DeclaredNode, ...]
    """None where this machine is to be the node."""
    runtime: RuntimeName
    simulated: Defaults
    data: Path
    leaving: NodeShutdownPolicy
    address: str
    logs: LogEndpointAddress | None


@click.command(epilog=EXAMPLES)
@click.option("--kubeconfig", type=click.Path(path_type=Path), metavar="FILE", help="Which API server; as for kubectl.")
@click.option("--context", default="", metavar="NAME", help="Context of the kubeconfig.")
@click.option(
    "--runtime",
    type=click.Choice([each.value for each in RuntimeName]),
    default=RuntimeName.SIMULATED.value,
    show_default=True,
    help="Pods in name only, or on this machine: as processes or in containers.",
)
@click.option("--count", type=int, metavar="N", help="How many nodes; 1 if nothing else is said.")
@click.option("--file", "file", metavar="FILE|-", help="Node manifests (YAML or JSON) in place of --count.")
@click.option("--name", default=DEFAULT_NAME, show_default=True, metavar="PATTERN", help="Names of the nodes.")
@click.option(
    "--capacity", default=DEFAULT_CAPACITY, show_default=True, metavar="RESOURCE=AMOUNT,…", help="What each offers."
)
@click.option("--labels", default="", metavar="KEY=PATTERN,…", help="Labels; {0..15} deals values out over the nodes.")
@click.option("--taints", default="", metavar="KEY=VALUE:EFFECT,…", help="Taints of every node.")
@click.option(
    "--start-seconds", type=click.FloatRange(min=0), default=0.0, show_default=True, help="How long pods take to start."
)
@click.option(
    "--run-seconds", type=click.FloatRange(min=0), default=10.0, show_default=True, help="How long pods that end run."
)
@click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("~/.local/state/kohort/node"),
    show_default=True,
    metavar="DIR",
    help="Scratch directories and logs of pods that really run.",
)
@click.option(
    "--keep",
    "leaving",
    flag_value=NodeShutdownPolicy.KEEP,
    default=NodeShutdownPolicy.REMOVE,
    type=click.UNPROCESSED,
    help="Leave the nodes, not ready, when stopped; they are deleted otherwise.",
)
@click.option("--address", default="127.0.0.1", show_default=True, help="Where the API server asks for logs.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port for that; a free one by default.")
@click.option(
    "--client-ca",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Who vouches for an API server that asks for logs; the kubeconfig's authority by default.",
)
def node(
    *,
    kubeconfig: Path | None,
    context: str,
    runtime: str,
    count: int | None,
    file: str | None,
    name: str,
    capacity: str,
    labels: str,
    taints: str,
    start_seconds: float,
    run_seconds: float,
    data: Path,
    leaving: NodeShutdownPolicy,
    address: str,
    port: int,
    client_ca: Path | None,
) -> None:
    """Attach nodes to an API server and run their pods, until Ctrl-C.

    Simulated pods start, run and end by the clock, as their annotations say (kohort.dev/run-seconds,
    kohort.dev/exit-code and others); a laptop holds thousands of such nodes. With any other runtime this machine is
    the node, and pods run on it.
    """
    if file is not None and count is not None:
        raise click.UsageError("give --count or --file, not both")
    chosen = RuntimeName(runtime)
    is_machine = chosen is not RuntimeName.SIMULATED
    if is_machine and (file is not None or count is not None):
        raise click.UsageError(f"with --runtime {runtime} this machine is the node: leave --count and --file out")
    fleet = NodePool(1 if count is None else count, capacity, labels, name, taints)
    nodes = () if is_machine else read_nodes(file) if file is not None else fleet.nodes()
    logging.basicConfig(format="%(levelname)s %(message)s", level=logging.WARNING)
    simulated = Defaults(start_seconds, run_seconds)
    try:
        access = load_client_config(ConfigOverrides(kubeconfig, context))
        logs = _logs(access, client_ca, address, port)
        asyncio.run(_run(NodeArguments(access, nodes, chosen, simulated, data.expanduser(), leaving, address, logs)))
    except (KubeError, RuntimeSetupError) as error:
        raise ApiError(str(error)) from None


def _logs(access: ClientConfig, client_ca: Path | None, address: str, port: int) -> LogEndpointAddress | None:
    """Where logs are served; nowhere when nobody is known who could vouch for those that ask."""
    if client_ca is not None:
        return LogEndpointAddress(client_ca.read_bytes(), address, port)
    authority = access.trust.authority
    return LogEndpointAddress(authority.read(), address, port) if authority is not None else None


async def _run(wish: NodeArguments) -> None:
    stopped = stop_asked()
    async with running_client(wish.access, PATIENT) as client:
        # See that the server lets us: an informer would wait for ever for one that says no.
        await client.of(Node).page(limit=1)
        await _serve(wish, client, stopped)


async def _serve(wish: NodeArguments, client: Client, stopped: asyncio.Event) -> None:
    nodes = wish.nodes or (await this_machine(),)
    # Pods that really run go with a node that is deleted; on one that is kept they wait for the next agent.
    at_stop = AtStop.LEAVE if wish.leaving is NodeShutdownPolicy.KEEP else AtStop.END
    choice = RuntimeChoice(wish.runtime, wish.data, nodes[0].offered, wish.simulated, at_stop=at_stop)
    settings = AgentSettings(wish.runtime, wish.address, wish.logs, choice.addresses())
    registration = NodeRegistration(nodes, leaving=wish.leaving)
    async with running_nodes(client, registration, choice.make(client), settings):
        what = f"{len(nodes)} nodes" if len(nodes) > 1 else f"node {nodes[0].name}"
        click.echo(f"{what} on {wish.access.server}; Ctrl-C stops, and then {_FAREWELLS[wish.leaving]}")
        await stopped.wait()


_FAREWELLS: Mapping[NodeShutdownPolicy, str] = {
    NodeShutdownPolicy.REMOVE: "deletes them (--keep leaves them)",
    NodeShutdownPolicy.KEEP: "leaves them, not ready",
}
