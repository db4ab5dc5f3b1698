"""`kohort node`: registers nodes at an API server and runs their pods, in the foreground until Ctrl-C."""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from kohort.api.core.nodes import Node
from kohort.api.errors import ApiError
from kohort.cli.option_types import DIRECTORY, FILE, PORT, switch_option
from kohort.cli.options import LONG_RUNNING_ATTEMPTS, kubeconfig_options, running_client, simulated_pod_options
from kohort.cli.runtimes import RuntimeChoice, RuntimeName
from kohort.cli.signals import stop_on_signals
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
  kohort node --count 100                                       # simulated nodes
  kohort node --kubeconfig admin.conf --count 640 --capacity cpu=96,memory=256Gi,nvidia.com/gpu=8 \\
      --labels 'cloud.provider.com/topology-block=b{block:0..3},cloud.provider.com/topology-rack=b{block}-r{0..15}'
  kubectl get nodes -o yaml > nodes.yaml; kohort node --kubeconfig elsewhere.conf --file nodes.yaml
"""


@dataclass(frozen=True, slots=True)
class NodeArguments:
    """Arguments of `kohort node`."""

    access: ClientConfig
    nodes: tuple[DeclaredNode, ...]
    """Empty if this machine is the node."""
    runtime: RuntimeName
    simulated: Defaults
    data: Path
    leaving: NodeShutdownPolicy
    address: str
    logs: LogEndpointAddress | None


@click.command(epilog=EXAMPLES)
@kubeconfig_options
@click.option(
    "--runtime",
    type=click.Choice([each.value for each in RuntimeName]),
    default=RuntimeName.SIMULATED.value,
    show_default=True,
    help="Runtime of the pods.",
)
@click.option("--count", type=int, metavar="N", help="Number of nodes (default: 1).")
@click.option("--file", "file", metavar="FILE|-", help="Node manifests (YAML or JSON) instead of --count.")
@click.option("--name", default=DEFAULT_NAME, show_default=True, metavar="PATTERN", help="Node name pattern.")
@click.option(
    "--capacity",
    default=DEFAULT_CAPACITY,
    show_default=True,
    metavar="RESOURCE=AMOUNT,…",
    help="Capacity of each node.",
)
@click.option(
    "--labels", default="", metavar="KEY=PATTERN,…", help="Node labels; {0..15} distributes values over the nodes."
)
@click.option("--taints", default="", metavar="KEY=VALUE:EFFECT,…", help="Taints of each node.")
@simulated_pod_options
@click.option(
    "--data",
    type=DIRECTORY,
    default=Path("~/.local/state/kohort/node"),
    show_default=True,
    help="Directory for pod data and logs.",
)
@switch_option(
    "--keep",
    "leaving",
    on=NodeShutdownPolicy.KEEP,
    off=NodeShutdownPolicy.REMOVE,
    text="Keep the nodes (NotReady) on exit instead of deleting them.",
)
@click.option(
    "--address",
    metavar="ADDRESS",
    default="127.0.0.1",
    show_default=True,
    help="Address at which the API server reaches the log endpoint.",
)
@click.option("--port", type=PORT, default=0, help="Port of the log endpoint (default: a free port).")
@click.option(
    "--client-ca", type=FILE, help="CA that signs the API server's client certificate (default: from the kubeconfig)."
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
    """Register nodes at an API server and run their pods, until Ctrl-C.

    Simulated pods start, run and finish according to their annotations (kohort.dev/run-seconds, kohort.dev/exit-code
    and others); thousands of nodes fit on a laptop. With any other runtime this machine is the node.
    """
    if file is not None and count is not None:
        raise click.UsageError("--count and --file are mutually exclusive")
    chosen = RuntimeName(runtime)
    is_machine = chosen is not RuntimeName.SIMULATED
    if is_machine and (file is not None or count is not None):
        raise click.UsageError(f"--runtime {runtime} uses this machine as the node: omit --count and --file")
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
    """Address of the log endpoint; None without a CA for client certificates."""
    if client_ca is not None:
        return LogEndpointAddress(client_ca.read_bytes(), address, port)
    authority = access.trust.authority
    return LogEndpointAddress(authority.read(), address, port) if authority is not None else None


async def _run(arguments: NodeArguments) -> None:
    stopped = stop_on_signals()
    async with running_client(arguments.access, LONG_RUNNING_ATTEMPTS) as client:
        # Fail early if listing is rejected: an informer would retry forever.
        await client.of(Node).page(limit=1)
        await _serve(arguments, client, stopped)


async def _serve(arguments: NodeArguments, client: Client, stopped: asyncio.Event) -> None:
    nodes = arguments.nodes or (await this_machine(),)
    # Pods are terminated with a deleted node; on a kept one they run on for the next agent.
    at_stop = AtStop.LEAVE if arguments.leaving is NodeShutdownPolicy.KEEP else AtStop.END
    choice = RuntimeChoice(arguments.runtime, arguments.data, nodes[0].offered, arguments.simulated, at_stop=at_stop)
    settings = AgentSettings(arguments.runtime, arguments.address, arguments.logs, choice.addresses())
    registration = NodeRegistration(nodes, leaving=arguments.leaving)
    async with running_nodes(client, registration, choice.make(client), settings):
        what = f"{len(nodes)} nodes" if len(nodes) > 1 else f"node {nodes[0].name}"
        click.echo(f"{what} on {arguments.access.server}; press Ctrl-C to stop: {_ON_STOP[arguments.leaving]}")
        await stopped.wait()


_ON_STOP: Mapping[NodeShutdownPolicy, str] = {
    NodeShutdownPolicy.REMOVE: "nodes are deleted (use --keep to keep them)",
    NodeShutdownPolicy.KEEP: "nodes are kept (NotReady)",
}
