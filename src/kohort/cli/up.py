"""`kohort up`: runs a local cluster in the foreground until Ctrl-C, or in the background until `kohort down`.

Modules that are slow to import are imported after the arguments were checked.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from kohort.api.errors import ApiError
from kohort.cli.option_types import DIRECTORY, FILE, PORT
from kohort.cli.options import framework_option, simulated_pod_options
from kohort.embedded.nodes.declared import DEFAULT_CAPACITY, DEFAULT_NAME
from kohort.local.directories import DEFAULT_NAME as DEFAULT_CLUSTER
from kohort.local.directories import ClusterDirectory, cluster_directory
from kohort.local.progress import PipedProgress, ProgressReporter, Ready, SilentProgress, TerminalProgress, step
from kohort.local.runs import AlreadyRunningError, ClusterLock, ClusterRun, PodsAfterStop, start_command, stop_command
from kohort.local.signals import interruptible
from kohort.operators.names import ALL, OPERATORS, operator_names
from kohort.terminal.screen import screen_of
from kohort.terminal.style import can_draw

if TYPE_CHECKING:
    from kohort.local.cluster import ClusterSpec, Front, LocalCluster
    from kohort.local.logs import Echo
    from kohort.local.view import ClusterInfo

RUNTIMES = ("process", "simulated", "podman", "docker")

EXAMPLES = """\b
Examples:
  kohort up --starter                         # with a default queue
  kohort up -d --name lab                     # another cluster in the background
  kohort up --ephemeral --runtime simulated   # in memory, with simulated pods
  kohort up --nodes 640 --node-capacity cpu=96,memory=256Gi,nvidia.com/gpu=8 \\
      --node-labels 'cloud.provider.com/topology-block=b{block:0..3},cloud.provider.com/topology-rack=b{block}-r{0..15}'
  kohort up --nodes nodes.yaml                # simulated nodes from Node manifests
  kohort up --starter --operators jobset      # with a stand-in for the JobSet operator
"""


@dataclass(frozen=True, slots=True)
class UpArguments:
    """Arguments of `kohort up`."""

    directory: ClusterDirectory | None
    """Directory of its objects; None for an ephemeral cluster."""
    known: ClusterDirectory | None
    """Directory of its lock and record; None for an ephemeral cluster in the foreground."""
    context: str
    host: str
    port: int
    kubeconfig: Path | None
    is_merged: bool
    uses_context: bool
    """Whether a merged context becomes the current one."""
    config: Path | None
    frameworks: tuple[Path, ...]
    """Files that declare job frameworks."""
    has_manager: bool
    has_starter: bool
    operators: tuple[str, ...]
    """Operators that have a stand-in."""
    nodes: str | None
    node_options: tuple[str, str, str, str]
    """Capacity, labels, name, taints."""
    runtime: str
    seconds: tuple[float, float]
    """Start-up time and run time of simulated pods."""
    host_paths: tuple[str, ...]
    pods: PodsAfterStop

    def cluster_spec(self) -> "ClusterSpec":
        """The spec of the cluster."""
        from kohort.cli.runtimes import RuntimeName
        from kohort.cli.up_nodes import DeclaredNodes, UpNodeArguments
        from kohort.embedded.nodes.simulated.plans import Defaults
        from kohort.local.cluster import ClusterSpec, QueueSpec
        from kohort.local.kubeconfig_files import kubectl_files
        from kohort.local.kubeconfigs import KubeconfigMerge
        from kohort.local.ports import ListenAddress

        declared = None if self.nodes is None else DeclaredNodes(self.nodes, *self.node_options)
        node_arguments = UpNodeArguments(
            declared, RuntimeName(self.runtime), Defaults(*self.seconds), self.host_paths, self.pods
        )
        return ClusterSpec(
            directory=self.directory,
            listen=ListenAddress(self.host, self.port),
            make_nodes=node_arguments.make,
            runtime=self.runtime,
            pods=self.pods,
            queues=QueueSpec(self.config, self.has_starter, self.frameworks) if self.has_manager else None,
            operators=self.operators,
            kubeconfig=self.kubeconfig,
            merge=KubeconfigMerge(kubectl_files(), self.uses_context) if self.is_merged else None,
            context=self.context,
            ephemeral_folder=self.known.ephemeral_folder if self.known and self.directory is None else None,
        )


@click.command(epilog=EXAMPLES)
@click.option("--name", metavar="NAME", default=DEFAULT_CLUSTER, show_default=True, help="Name of the cluster.")
@click.option("-d", "--detach", is_flag=True, help="Run in the background until `kohort down`.")
@click.option("--starter", is_flag=True, help="Create a default queue that covers all nodes, if there is no queue.")
@click.option(
    "--merge-kubeconfig",
    is_flag=True,
    help="Add the context to the default kubeconfig and make it current until the cluster stops.",
)
@click.option("--no-use-context", is_flag=True, help="With --merge-kubeconfig: keep the current context.")
@click.option("--config", type=FILE, help="Kueue Configuration file for the manager.")
@framework_option
@click.option(
    "--operators",
    metavar="NAME,…",
    help="Run stand-ins for these operators, which create the pods of their jobs and report status: "
    f"{', '.join(OPERATORS)}, or {ALL}.",
)
@click.option("--no-manager", is_flag=True, help="Do not run the manager.")
@click.option("--data", type=DIRECTORY, help="Data directory (default: by name).")
@click.option("--ephemeral", is_flag=True, help="Keep everything in memory; state and pods are lost on exit.")
@click.option("--host", metavar="ADDRESS", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", type=PORT, default=0, help="Port to listen on (default: a free port, reused at the next start)."
)
@click.option("--kubeconfig", type=FILE, help="Path of the kubeconfig to write (default: in the data directory).")
@click.option(
    "--nodes",
    metavar="N|FILE",
    help="Number of simulated nodes, or a file of Node manifests, instead of this machine.",
)
@click.option(
    "--node-capacity",
    default=DEFAULT_CAPACITY,
    show_default=True,
    metavar="RESOURCE=AMOUNT,…",
    help="Capacity of each node of --nodes.",
)
@click.option(
    "--node-labels",
    default="",
    metavar="KEY=PATTERN,…",
    help="Labels of the nodes of --nodes; {0..15} distributes values over the nodes.",
)
@click.option(
    "--node-name",
    default=DEFAULT_NAME,
    show_default=True,
    metavar="PATTERN",
    help="Name pattern of the nodes of --nodes.",
)
@click.option("--node-taints", default="", metavar="KEY=VALUE:EFFECT,…", help="Taints of the nodes of --nodes.")
@click.option(
    "--runtime",
    type=click.Choice(RUNTIMES),
    help="Runtime of the pods (default: process, or simulated with --nodes).",
)
@simulated_pod_options
@click.option(
    "--host-path", "host_paths", multiple=True, metavar="DIR", help="Directory that pods may mount; repeatable."
)
@click.option("--end-pods", is_flag=True, help="Terminate running pods on exit instead of leaving them running.")
def up(
    *,
    name: str,
    detach: bool,
    starter: bool,
    merge_kubeconfig: bool,
    no_use_context: bool,
    config: Path | None,
    framework_files: tuple[Path, ...],
    operators: str | None,
    no_manager: bool,
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
    """Start a local cluster.

    Start an API server, controllers, scheduler, the Kohort manager and a node in one process. State is kept in the
    user's data directory (or $KOHORT_DATA) and restored at the next start; pods keep running in between.
    """
    _check_conflicts(click.get_current_context())
    chosen = runtime or ("process" if nodes is None else "simulated")
    directory = cluster_directory(name, data and data.absolute())
    arguments = UpArguments(
        directory=None if ephemeral else directory,
        known=directory if detach or not ephemeral else None,
        context=directory.context,
        host=host,
        port=port,
        kubeconfig=kubeconfig,
        is_merged=merge_kubeconfig,
        uses_context=not no_use_context,
        config=config,
        frameworks=framework_files,
        has_manager=not no_manager,
        has_starter=starter,
        operators=operator_names(operators) if operators is not None else (),
        nodes=nodes,
        node_options=(node_capacity, node_labels, node_name, node_taints),
        runtime=chosen,
        seconds=(start_seconds, run_seconds),
        host_paths=host_paths,
        pods=_pods(chosen, ends=ephemeral or end_pods),
    )
    try:
        _in_background(arguments, directory) if detach else _in_foreground(arguments)
    except KeyboardInterrupt:
        click.echo("\nstopped before the cluster was ready", err=True, nl=False)
        raise
    except ApiError as error:
        if getattr(error, "exit_code", 2) != AlreadyRunningError.exit_code:
            raise
        click.echo(f"kohort: {error}", err=True)
        raise SystemExit(AlreadyRunningError.exit_code) from None


def _check_conflicts(context: click.Context) -> None:
    given = {name for name in context.params if context.get_parameter_source(name) is ParameterSource.COMMANDLINE}
    for one, other in _CONFLICTS:
        if {one, other} <= given:
            raise click.UsageError(f"{_option(other)} and {_option(one)} are mutually exclusive")
    if "no_use_context" in given and "merge_kubeconfig" not in given:
        raise click.UsageError("--no-use-context requires --merge-kubeconfig")
    if "nodes" in given:
        return
    for name in ("node_capacity", "node_labels", "node_name", "node_taints"):
        if name in given:
            raise click.UsageError(f"{_option(name)} requires --nodes")


_CONFLICTS = (
    ("ephemeral", "data"),
    ("no_manager", "config"),
    ("no_manager", "framework_files"),
    ("no_manager", "starter"),
)


def _option(name: str) -> str:
    return f"--{name.removesuffix('_files').replace('_', '-')}"


def _pods(runtime: str, *, ends: bool) -> PodsAfterStop:
    if runtime == "simulated":
        return PodsAfterStop.SIMULATED
    return PodsAfterStop.ENDED if ends else PodsAfterStop.LEFT


def start_progress() -> ProgressReporter:
    """The progress reporter of a start: lines on a terminal, otherwise nothing."""
    is_seen = can_draw(sys.stdout, os.environ)
    return TerminalProgress(sys.stdout, screen_of(sys.stdout, os.environ)) if is_seen else SilentProgress()


def _run(
    arguments: UpArguments, lock: ClusterLock | None, progress: ProgressReporter, seen: "tuple[Front, Echo | None]"
) -> int | None:
    """Run the cluster until it stops; returns the number of running pods, None if it was never ready."""
    from kohort.embedded.memory import tune_allocator
    from kohort.local.cluster import Service
    from kohort.local.logs import logging_to

    front, echo = seen
    tune_allocator()
    with logging_to(arguments.known.log if arguments.known is not None else None, echo):
        return Service(arguments.cluster_spec(), lock, progress, front).run()


@contextmanager
def _locked(directory: ClusterDirectory | None) -> Iterator[ClusterLock | None]:
    """Hold the lock of the cluster; an ephemeral one in the foreground has none."""
    if directory is None:
        yield None
        return
    with interruptible():
        lock = ClusterLock.take(directory)
        try:
            yield lock
        finally:
            lock.release()


def _in_background(arguments: UpArguments, directory: ClusterDirectory) -> None:
    from kohort.local.background import detach

    def work(relay: PipedProgress) -> None:
        with _locked(arguments.known) as lock:

            async def front(cluster: "LocalCluster", stopped: Any) -> None:
                relay.send(_ready(arguments, cluster, lock.before if lock else None))
                relay.close()
                await stopped.wait()

            with step(relay, "loading"):
                import kohort.local.cluster  # noqa: F401 - slow to import
            _run(arguments, lock, relay, (front, None))

    ready = detach(work, directory.log.with_suffix(".out"), start_progress())
    _print_ready(ready, f"Stop it with `{stop_command(directory)}`")


def _in_foreground(arguments: UpArguments) -> None:
    progress = start_progress()
    with _locked(arguments.known) as lock:
        with step(progress, "loading"):
            from kohort.local.foreground import foreground
        running = _run(arguments, lock, progress, foreground(_ReadyReporter(arguments, lock.before if lock else None)))
    if running is None:
        raise KeyboardInterrupt
    from kohort.local.stopping import left_over

    click.echo(f"stopped; {left_over(arguments.pods, running)}")
    if arguments.is_merged and arguments.uses_context:
        from kohort.local.kubeconfig_files import kubectl_files
        from kohort.local.kubeconfigs import current_context_text

        click.echo(current_context_text(kubectl_files()))


@dataclass(frozen=True, slots=True)
class _ReadyReporter:
    """Prints the ready message of a cluster in the foreground."""

    arguments: UpArguments
    before: ClusterRun | None
    """The previous run."""

    def report_ready(self, cluster: "LocalCluster", warnings: Sequence[str]) -> None:
        """Print the ready message; also the warnings if there is no log file."""
        arguments = self.arguments
        _print_ready(_ready(arguments, cluster, self.before, len(warnings)), "Press Ctrl-C to stop")
        if arguments.known is None:
            for warning in warnings:
                click.echo(warning, err=True)

    def cluster_info(self, cluster: "LocalCluster") -> "ClusterInfo":
        """The static part of the view."""
        from kohort.local.messages import nodes_text
        from kohort.local.view import ClusterInfo

        arguments = self.arguments
        on_stop = f"Press Ctrl-C to stop; {_on_stop(arguments)}"
        return ClusterInfo(f"{arguments.context}  {cluster.url}", nodes_text(cluster.nodes, arguments.runtime), on_stop)


def _ready(arguments: UpArguments, cluster: "LocalCluster", before: ClusterRun | None, warnings: int = 0) -> Ready:
    from kohort.local.messages import nodes_text, previous_run_lines

    return Ready(
        url=cluster.url,
        kubeconfig=str(cluster.published.own.absolute()),
        context=arguments.context,
        nodes=nodes_text(cluster.nodes, arguments.runtime),
        on_stop=_on_stop(arguments),
        before=tuple(previous_run_lines(before, cluster.previous_run)),
        starter=cluster.starter,
        has_queues=cluster.has_queues,
        operators=cluster.operators,
        again=_again(arguments),
        shared=str(cluster.published.shared or ""),
        is_current=arguments.is_merged and arguments.uses_context,
        needs_context=arguments.is_merged and (not arguments.uses_context or _prefers_pod()),
        previous=cluster.previous_context,
        warnings=cluster.warnings,
        log=_log(arguments.known, warnings),
    )


def _prefers_pod() -> bool:
    """Whether commands without --context use the in-cluster configuration."""
    from kohort.kube.config.incluster import is_in_cluster

    return not os.environ.get("KUBECONFIG") and is_in_cluster(os.environ)


def _again(arguments: UpArguments) -> str:
    start = start_command(arguments.known) if arguments.known else "kohort up"
    return start if arguments.directory is not None else f"{start} --ephemeral"


def _log(directory: ClusterDirectory | None, warnings: int) -> str:
    if directory is None:
        return ""
    many = "" if not warnings else ", with 1 warning" if warnings == 1 else f", with {warnings} warnings"
    return f"{directory.log}{many}"


def _print_ready(ready: Ready, stop: str) -> None:
    from kohort.local.messages import ready_message

    for line in ready_message(ready, stop):
        click.echo(line)


def _on_stop(arguments: UpArguments) -> str:
    from kohort.local.messages import EPHEMERAL_ON_STOP, ON_STOP

    return EPHEMERAL_ON_STOP if arguments.directory is None else ON_STOP[arguments.pods]
