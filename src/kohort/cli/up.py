"""`kohort up`: a cluster with queues on this machine, in the foreground until Ctrl-C or in the background until `down`.

What takes long to import comes in once it is clear that there will be a cluster.
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
from kohort.embedded.nodes.declared import DEFAULT_CAPACITY, DEFAULT_NAME
from kohort.local.directories import DEFAULT_NAME as DEFAULT_CLUSTER
from kohort.local.directories import ClusterDirectory, cluster_directory
from kohort.local.progress import PipedProgress, ProgressReporter, Ready, SilentProgress, TerminalProgress, step
from kohort.local.runs import AlreadyRunningError, ClusterLock, ClusterRun, PodsAfterStop, start_command, stop_command
from kohort.local.signals import interruptible
from kohort.terminal.screen import screen_of
from kohort.terminal.style import can_draw

if TYPE_CHECKING:
    from kohort.local.cluster import ClusterSpec, Front, LocalCluster
    from kohort.local.logs import Echo
    from kohort.local.view import ClusterInfo

RUNTIMES = ("process", "simulated", "podman", "docker")

EXAMPLES = """\b
Examples:
  kohort up --starter                         # a cluster of this machine, with a queue to begin with
  kohort up -d --name lab                     # another one, in the background; kohort down --name lab stops it
  kohort up --ephemeral --runtime simulated   # try things out; nothing is kept and nothing runs
  kohort up --nodes 640 --node-capacity cpu=96,memory=256Gi,nvidia.com/gpu=8 \\
      --node-labels 'cloud.provider.com/topology-block=b{block:0..3},cloud.provider.com/topology-rack=b{block}-r{0..15}'
  kohort up --nodes nodes.yaml                # simulated nodes as a file of Node manifests declares them
Then, in another terminal: export KUBECONFIG=… as it prints, and kubectl get nodes
"""


@dataclass(frozen=True, slots=True)
class UpArguments:
    """What the command line asks for."""

    place: ClusterDirectory | None
    """Where its objects are kept; None for one that keeps nothing."""
    known: ClusterDirectory | None
    """Where others find it; None for one that only its terminal knows."""
    context: str
    host: str
    port: int
    kubeconfig: Path | None
    is_merged: bool
    uses_context: bool
    """Whether a merged context becomes the current one."""
    config: Path | None
    has_manager: bool
    has_starter: bool
    nodes: str | None
    node_options: tuple[str, str, str, str]
    """Capacity, labels, name, taints."""
    runtime: str
    seconds: tuple[float, float]
    """Of the start and the run of simulated pods."""
    host_paths: tuple[str, ...]
    pods: PodsAfterStop

    def wish(self) -> "ClusterSpec":
        """The same in the terms of those who carry it out."""
        from kohort.cli.runtimes import RuntimeName
        from kohort.cli.up_nodes import DeclaredNodes, UpNodeArguments
        from kohort.embedded.nodes.simulated.plans import Defaults
        from kohort.local.cluster import ClusterSpec, QueueSpec
        from kohort.local.kubeconfig_files import kubectl_files
        from kohort.local.kubeconfigs import Merge
        from kohort.local.ports import ListenAddress

        declared = None if self.nodes is None else DeclaredNodes(self.nodes, *self.node_options)
        crew = UpNodeArguments(declared, RuntimeName(self.runtime), Defaults(*self.seconds), self.host_paths, self.pods)
        return ClusterSpec(
            place=self.place,
            wanted=ListenAddress(self.host, self.port),
            crew=crew.make,
            runtime=self.runtime,
            pods=self.pods,
            queues=QueueSpec(self.config, self.has_starter) if self.has_manager else None,
            kubeconfig=self.kubeconfig,
            merge=Merge(kubectl_files(), self.uses_context) if self.is_merged else None,
            context=self.context,
            passing=self.known.passing if self.known and self.place is None else None,
        )


@click.command(epilog=EXAMPLES)
@click.option("--name", default=DEFAULT_CLUSTER, show_default=True, help="Which cluster; each has its own data.")
@click.option("-d", "--detach", is_flag=True, help="Run in the background; `kohort down` stops it.")
@click.option("--starter", is_flag=True, help="Make a queue to begin with, as large as the nodes, if there is none.")
@click.option(
    "--merge-kubeconfig",
    is_flag=True,
    help="Add its context to the kubeconfig that kubectl uses, and make it the current one until it stops.",
)
@click.option("--no-use-context", is_flag=True, help="With --merge-kubeconfig: keep the current context.")
@click.option("--config", type=click.Path(path_type=Path), metavar="FILE", help="Kueue's Configuration for the queues.")
@click.option("--no-manager", is_flag=True, help="Without queues: leave them to a `kohort manager`, or to nobody.")
@click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Where everything is kept, if not where the name says.",
)
@click.option("--ephemeral", is_flag=True, help="Keep nothing: all is gone when it stops, pods included.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    help="Port to listen on; a free one by default, and the same one at the next start.",
)
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
    type=click.Choice(RUNTIMES),
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
    name: str,
    detach: bool,
    starter: bool,
    merge_kubeconfig: bool,
    no_use_context: bool,
    config: Path | None,
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
    """Run a Kubernetes cluster with queues on this machine.

    One process has the API server, its controllers, the pod scheduler, Kohort, and a node that runs pods as local
    processes. Everything is kept in the user's data directory (or $KOHORT_DATA), and is there again at the next start;
    pods run on meanwhile. In a terminal it shows what is going on, until Ctrl-C.
    """
    _refuse_contradictions(click.get_current_context())
    chosen = runtime or ("process" if nodes is None else "simulated")
    place = cluster_directory(name, data and data.absolute())
    asked = UpArguments(
        place=None if ephemeral else place,
        known=place if detach or not ephemeral else None,
        context=place.context,
        host=host,
        port=port,
        kubeconfig=kubeconfig,
        is_merged=merge_kubeconfig,
        uses_context=not no_use_context,
        config=config,
        has_manager=not no_manager,
        has_starter=starter,
        nodes=nodes,
        node_options=(node_capacity, node_labels, node_name, node_taints),
        runtime=chosen,
        seconds=(start_seconds, run_seconds),
        host_paths=host_paths,
        pods=_pods(chosen, ends=ephemeral or end_pods),
    )
    try:
        _in_background(asked, place) if detach else _in_foreground(asked)
    except KeyboardInterrupt:
        click.echo("\nstopped before it was ready", err=True, nl=False)
        raise
    except ApiError as error:
        if getattr(error, "exit_code", 2) != AlreadyRunningError.exit_code:
            raise
        click.echo(f"kohort: {error}", err=True)
        raise SystemExit(AlreadyRunningError.exit_code) from None


def _refuse_contradictions(context: click.Context) -> None:
    given = {name for name in context.params if context.get_parameter_source(name) is ParameterSource.COMMANDLINE}
    for one, other in _CONTRADICTIONS:
        if {one, other} <= given:
            raise click.UsageError(f"give {_option(other)} or {_option(one)}, not both")
    if "no_use_context" in given and "merge_kubeconfig" not in given:
        raise click.UsageError("--no-use-context is for --merge-kubeconfig: no other option changes the context")
    if "nodes" in given:
        return
    for name in ("node_capacity", "node_labels", "node_name", "node_taints"):
        if name in given:
            raise click.UsageError(f"{_option(name)} is for the nodes of --nodes: say how many there are")


_CONTRADICTIONS = (
    ("ephemeral", "data"),
    ("no_manager", "config"),
    ("no_manager", "starter"),
)


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _pods(runtime: str, *, ends: bool) -> PodsAfterStop:
    if runtime == "simulated":
        return PodsAfterStop.SIMULATED
    return PodsAfterStop.ENDED if ends else PodsAfterStop.LEFT


def start_progress() -> ProgressReporter:
    """Somebody who shows the steps of a start, where there is a terminal."""
    is_seen = can_draw(sys.stdout, os.environ)
    return TerminalProgress(sys.stdout, screen_of(sys.stdout, os.environ)) if is_seen else SilentProgress()


def _run(
    asked: UpArguments, claim: ClusterLock | None, progress: ProgressReporter, seen: "tuple[Front, Echo | None]"
) -> int | None:
    """Run the cluster to its end; gives how many pods ran then, None if it never was ready."""
    from kohort.embedded.memory import tune_allocator
    from kohort.local.cluster import Service
    from kohort.local.logs import logging_to

    front, echo = seen
    tune_allocator()
    with logging_to(asked.known.log if asked.known is not None else None, echo):
        return Service(asked.wish(), claim, progress, front).run()


@contextmanager
def _claimed(place: ClusterDirectory | None) -> Iterator[ClusterLock | None]:
    """The cluster for this process alone; one that only its terminal knows is nobody else's anyway."""
    if place is None:
        yield None
        return
    with interruptible():
        claim = ClusterLock.take(place)
        try:
            yield claim
        finally:
            claim.release()


def _in_background(asked: UpArguments, place: ClusterDirectory) -> None:
    from kohort.local.background import detach

    def work(relay: PipedProgress) -> None:
        with _claimed(asked.known) as claim:

            async def front(cluster: "LocalCluster", stopped: Any) -> None:
                relay.tell(_ready(asked, cluster, claim.before if claim else None))
                relay.close()
                await stopped.wait()

            with step(relay, "loading"):
                import kohort.local.cluster  # noqa: F401 - the most of what takes long
            _run(asked, claim, relay, (front, None))

    ready = detach(work, place.log.with_suffix(".out"), start_progress())
    _greet(ready, f"`{stop_command(place)}` stops it")


def _in_foreground(asked: UpArguments) -> None:
    progress = start_progress()
    with _claimed(asked.known) as claim:
        with step(progress, "loading"):
            from kohort.local.foreground import foreground
        running = _run(asked, claim, progress, foreground(_Greeter(asked, claim.before if claim else None)))
    if running is None:
        raise KeyboardInterrupt
    from kohort.local.stopping import left_over

    click.echo(f"stopped; {left_over(asked.pods, running)}")
    if asked.is_merged and asked.uses_context:
        from kohort.local.kubeconfig_files import kubectl_files
        from kohort.local.kubeconfigs import current_in_words

        click.echo(current_in_words(kubectl_files()))


@dataclass(frozen=True, slots=True)
class _Greeter:
    """What is said of a cluster in the foreground."""

    asked: UpArguments
    before: ClusterRun | None
    """The run before this one."""

    def greet(self, cluster: "LocalCluster", warnings: Sequence[str]) -> None:
        """Say what is where; warnings of the start are in the log, if there is one."""
        asked = self.asked
        _greet(_ready(asked, cluster, self.before, len(warnings)), "Ctrl-C stops")
        if asked.known is None:
            for warning in warnings:
                click.echo(warning, err=True)

    def facts(self, cluster: "LocalCluster") -> "ClusterInfo":
        """What a view shows besides what changes."""
        from kohort.local.messages import nodes_in_words
        from kohort.local.view import ClusterInfo

        asked = self.asked
        farewell = f"Ctrl-C stops; {_farewell(asked)}"
        return ClusterInfo(f"{asked.context}  {cluster.url}", nodes_in_words(cluster.nodes, asked.runtime), farewell)


def _ready(asked: UpArguments, cluster: "LocalCluster", before: ClusterRun | None, warnings: int = 0) -> Ready:
    from kohort.local.messages import last_run_in_words, nodes_in_words

    return Ready(
        url=cluster.url,
        kubeconfig=str(cluster.published.own.absolute()),
        context=asked.context,
        nodes=nodes_in_words(cluster.nodes, asked.runtime),
        farewell=_farewell(asked),
        before=tuple(last_run_in_words(before, cluster.aftermath)),
        starter=cluster.starter,
        has_queues=cluster.has_queues,
        again=_again(asked),
        shared=str(cluster.published.shared or ""),
        is_current=asked.is_merged and asked.uses_context,
        needs_context=asked.is_merged and (not asked.uses_context or _prefers_pod()),
        previous=cluster.previous_context,
        warnings=cluster.warnings,
        log=_log(asked.known, warnings),
    )


def _prefers_pod() -> bool:
    """Whether a command that names no context goes to the cluster in whose pod it runs."""
    from kohort.kube.config.incluster import is_in_cluster

    return not os.environ.get("KUBECONFIG") and is_in_cluster(os.environ)


def _again(asked: UpArguments) -> str:
    start = start_command(asked.known) if asked.known else "kohort up"
    return start if asked.place is not None else f"{start} --ephemeral"


def _log(place: ClusterDirectory | None, warnings: int) -> str:
    if place is None:
        return ""
    many = "" if not warnings else ", with 1 warning" if warnings == 1 else f", with {warnings} warnings"
    return f"{place.log}{many}"


def _greet(ready: Ready, stop: str) -> None:
    from kohort.local.messages import ready_message

    for line in ready_message(ready, stop):
        click.echo(line)


def _farewell(asked: UpArguments) -> str:
    from kohort.local.messages import FAREWELLS, NOTHING_STAYS

    return NOTHING_STAYS if asked.place is None else FAREWELLS[asked.pods]
