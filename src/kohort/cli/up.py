"""`kohort up`: a control plane on this machine, in the foreground until Ctrl-C; stock kubectl works against it."""

import asyncio
import logging
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

import click
from click.core import ParameterSource

from kohort.api.errors import ApiError
from kohort.cli.runtimes import RuntimeChoice, RuntimeName
from kohort.cli.stopping import stop_asked
from kohort.embedded.auth.certificates import CertificateFileError
from kohort.embedded.memory import give_memory_back, settle_in
from kohort.embedded.nodes.declared import DEFAULT_CAPACITY, DEFAULT_NAME, DeclaredNode, Fleet
from kohort.embedded.nodes.files import read_nodes
from kohort.embedded.nodes.leases import PATIENT
from kohort.embedded.nodes.machine import this_machine
from kohort.embedded.nodes.registration import Leaving, Registration
from kohort.embedded.nodes.running import AgentSettings
from kohort.embedded.nodes.simulated.plans import Defaults
from kohort.embedded.plane import Crew, control_plane
from kohort.embedded.runtimes.errors import RuntimeSetupError
from kohort.embedded.runtimes.settings import AtStop
from kohort.embedded.server.server import ApiServer
from kohort.embedded.server.settings import Settings
from kohort.embedded.store import StoreError
from kohort.kube.errors import KubeError

EXAMPLES = """\b
Examples:
  kohort up                                   # jobs run as processes of this machine
  kohort up --ephemeral --runtime simulated   # try things out; nothing is kept and nothing runs
  kohort up --nodes 640 --node-capacity cpu=96,memory=256Gi,nvidia.com/gpu=8 \\
      --node-labels 'cloud.provider.com/topology-block=b{block:0..3},cloud.provider.com/topology-rack=b{block}-r{0..15}'
  kohort up --nodes nodes.yaml                # simulated nodes as a file of Node manifests declares them
Then, in another terminal: export KUBECONFIG=… as it prints, and kubectl get nodes
"""


@dataclass(frozen=True, slots=True)
class Declared:
    """Nodes in place of this machine."""

    wanted: str
    """A number, or a file of Node manifests."""
    capacity: str
    labels: str
    name: str
    taints: str

    def nodes(self) -> tuple[DeclaredNode, ...]:
        """The nodes; raises an ApiError that says what is wrong with them."""
        if self.wanted.isascii() and self.wanted.isdigit():
            return Fleet(int(self.wanted), self.capacity, self.labels, self.name, self.taints).nodes()
        return read_nodes(self.wanted)


@dataclass(frozen=True, slots=True)
class Wish:
    """What the command line asks for."""

    settings: Settings
    declared: Declared | None
    runtime: RuntimeName
    simulated: Defaults
    host_paths: tuple[str, ...]
    at_stop: AtStop


@click.command(epilog=EXAMPLES)
@click.option(
    "--data", type=click.Path(path_type=Path, file_okay=False), metavar="DIR", help="Where everything is kept."
)
@click.option("--ephemeral", is_flag=True, help="Keep nothing: all is gone when it stops, pods included.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port to listen on; a free one by default.")
@click.option(
    "--kubeconfig",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Where to write it; DIR/kubeconfig by default.",
)
@click.option("--nodes", metavar="N|FILE", help="So many nodes, or those of a file, in place of this machine.")
@click.option(
    "--node-capacity",
    default=DEFAULT_CAPACITY,
    show_default=True,
    metavar="RESOURCE=AMOUNT,…",
    help="What each of N nodes offers.",
)
@click.option("--node-labels", default="", metavar="KEY=PATTERN,…", help="Labels; {0..15} deals values out over them.")
@click.option("--node-name", default=DEFAULT_NAME, show_default=True, metavar="PATTERN", help="Names of N nodes.")
@click.option("--node-taints", default="", metavar="KEY=VALUE:EFFECT,…", help="Taints of N nodes.")
@click.option(
    "--runtime",
    type=click.Choice([each.value for each in RuntimeName]),
    help="What runs the pods: process on this machine, simulated on --nodes, unless said otherwise.",
)
@click.option(
    "--start-seconds", type=click.FloatRange(min=0), default=0.0, show_default=True, help="Start of simulated pods."
)
@click.option(
    "--run-seconds", type=click.FloatRange(min=0), default=10.0, show_default=True, help="Run time of simulated pods."
)
@click.option(
    "--host-path", "host_paths", multiple=True, metavar="DIR", help="A directory that pods may mount; repeatable."
)
@click.option(
    "--end-pods", is_flag=True, help="End running pods when stopped; they run on otherwise, and are found again."
)
def up(
    *,
    data: Path | None,
    ephemeral: bool,
    host: str,
    port: int,
    kubeconfig: Path | None,
    nodes: str | None,
    node_capacity: str,
    node_labels: str,
    node_name: str,
    node_taints: str,
    runtime: str | None,
    start_seconds: float,
    run_seconds: float,
    host_paths: tuple[str, ...],
    end_pods: bool,
) -> None:
    """Run a Kubernetes-compatible control plane on this machine, until Ctrl-C.

    One process has the API server, its controllers, the pod scheduler and a node that runs pods as local processes.
    Everything is kept in DIR (by default $KOHORT_DATA, or kohort in the user's data directory), and is there again at
    the next start.
    """
    if ephemeral and data is not None:
        raise click.UsageError("give --data or --ephemeral, not both")
    if nodes is None:
        _refuse_lonely(click.get_current_context())
    folder = None if ephemeral else (data or default_data())
    declared = None if nodes is None else Declared(nodes, node_capacity, node_labels, node_name, node_taints)
    usual = RuntimeName.PROCESS if declared is None else RuntimeName.SIMULATED
    wish = Wish(
        Settings(data=folder, host=host, port=port, kubeconfig=kubeconfig),
        declared,
        RuntimeName(runtime) if runtime else usual,
        Defaults(start_seconds, run_seconds),
        host_paths,
        AtStop.END if ephemeral or end_pods else AtStop.LEAVE,
    )
    logging.basicConfig(format="%(levelname)s %(message)s", level=logging.WARNING)
    give_memory_back()
    try:
        asyncio.run(_run(wish))
    except (CertificateFileError, KubeError, RuntimeSetupError, StoreError) as error:
        raise ApiError(str(error)) from None


def _refuse_lonely(context: click.Context) -> None:
    """Refuse what is said about nodes that nobody asked for: it would count for nothing."""
    for name in ("node_capacity", "node_labels", "node_name", "node_taints"):
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{name.replace('_', '-')} is for the nodes of --nodes: say how many there are")


def default_data() -> Path:
    """Where things are kept when nobody says where."""
    if own := os.environ.get("KOHORT_DATA"):
        return Path(own)
    shared = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(shared) / "kohort"


async def _run(wish: Wish) -> None:
    stopped = stop_asked()
    nodes = wish.declared.nodes() if wish.declared else (await this_machine(),)
    with _scratch(wish.settings) as scratch:
        choice = RuntimeChoice(wish.runtime, scratch, nodes[0].offered, wish.simulated, wish.host_paths, wish.at_stop)
        # Nodes stay for the next start, which takes them over with the pods that are still on them.
        registration = Registration(nodes, PATIENT, Leaving.KEEP)
        crew = Crew(registration, choice.make, AgentSettings(wish.runtime, addresses=choice.addresses()))
        async with control_plane(wish.settings, crew) as plane:
            settle_in()
            for line in _greeting(wish, nodes, plane.server):
                click.echo(line)
            await stopped.wait()
            click.echo("stopping")


@contextmanager
def _scratch(settings: Settings) -> Iterator[Path]:
    """Where pods have their files: beside the store, or in a folder that goes with everything else."""
    if settings.data is not None:
        yield settings.data / "runtime"
        return
    with tempfile.TemporaryDirectory(prefix="kohort-pods-") as folder:
        yield Path(folder)


def _greeting(wish: Wish, nodes: Sequence[DeclaredNode], server: ApiServer) -> Iterator[str]:
    yield f"{server.url} is ready; in another terminal:"
    yield f"  export KUBECONFIG={quote(str(Path(server.kubeconfig).absolute()))}"
    yield "  kubectl get nodes"
    what = f"node {nodes[0].name}" if len(nodes) == 1 else f"{len(nodes)} nodes, each"
    yield f"{what}: {_offer(nodes[0].offered)}; runtime {wish.runtime}"
    yield f"Ctrl-C stops; {_FAREWELLS[wish.at_stop]}" if wish.runtime in _REAL else "Ctrl-C stops"


def _offer(offered: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {amount}" for name, amount in sorted(offered.items()) if name != "ephemeral-storage")


_REAL = (RuntimeName.PROCESS, RuntimeName.PODMAN, RuntimeName.DOCKER)
_FAREWELLS: Mapping[AtStop, str] = {
    AtStop.LEAVE: "pods run on, and the next start finds them (--end-pods ends them)",
    AtStop.END: "pods are ended then",
}
