"""`kohort status`: lists the local clusters."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kohort.cli.option_types import DIRECTORY
from kohort.cli.options import DATA, OutputFormat, data_text, output_option, running, screen, show
from kohort.local.directories import DEFAULT_NAME, cluster_directory
from kohort.local.runs import ClusterState, start_command, used_directories
from kohort.operators.names import stand_in_text
from kohort.terminal.ages import age
from kohort.terminal.screen import Screen
from kohort.terminal.style import Role, Text
from kohort.terminal.tables import Column, TableCell, numbers, table

if TYPE_CHECKING:
    from kohort.local.cluster_list import ListedCluster

EXAMPLES = """\b
Examples:
  kohort status
  kohort status -o json | jq -r '.items[] | select(.state == "Running") | .kubeconfig'
"""

_ROLES = {ClusterState.RUNNING: Role.GOOD, ClusterState.CRASHED: Role.BAD, ClusterState.STARTING: Role.WARN}
_COLUMNS = (
    Column("NAME"),
    Column("STATE"),
    Column("ADDRESS", min_width=12),
    Column("CONTEXT", min_width=8),
    numbers("SINCE"),
    numbers("NODES"),
    numbers("RUNNING"),
    numbers("PENDING"),
)
_CONTEXT = 3
_MIN_CONTEXT_WIDTH = 100
"""Width of the screen below which the CONTEXT column is hidden."""


@click.command(epilog=EXAMPLES)
@output_option(*DATA)
@click.option("--data", type=DIRECTORY, help="Data directory of the cluster (default: all clusters of this user).")
def status(*, output: OutputFormat | None, data: Path | None) -> None:
    """List local clusters with their state, address, age and workload counts.

    RUNNING and PENDING count workloads. With -o json or yaml each cluster of `items` has the keys name, state
    (Starting, Running, Stopped, Crashed), context, folder and log; a running one also pid, address, kubeconfig,
    runtime, nodes, workloads (running, pending) and standIns (operators that `kohort up --operators` replaces).
    """
    from kohort.local.cluster_list import list_clusters

    directories = used_directories() if data is None else [cluster_directory(DEFAULT_NAME, data.absolute())]
    found = running(list_clusters(directories))
    if output is not None:
        click.echo(data_text({"items": [each.document() for each in found]}, output))
        return
    if not found:
        click.echo("no local clusters found (start one with `kohort up`)")
        return
    show(table_lines(found, datetime.now(UTC), screen()))
    for each in found:
        for remark in _remarks(each):
            click.echo(f"{each.directory.name}: {remark}", err=True)


def table_lines(found: "Sequence[ListedCluster]", now: datetime, screen: Screen) -> list[str]:
    """The table of clusters; a narrow one has no contexts."""
    rows = [_row(each, now) for each in found]
    if screen.width is None or screen.width >= _MIN_CONTEXT_WIDTH:
        return table(_COLUMNS, rows, screen)
    columns = (*_COLUMNS[:_CONTEXT], *_COLUMNS[_CONTEXT + 1 :])
    return table(columns, [[*row[:_CONTEXT], *row[_CONTEXT + 1 :]] for row in rows], screen)


def _row(found: "ListedCluster", now: datetime) -> list[TableCell]:
    state, run, stats = found.status.state, found.status.run, found.stats
    since = (run.ended.at if run.ended and not found.status.is_alive else run.since) if run else None
    return [
        found.directory.name,
        Text(state.value, _ROLES.get(state, Role.PLAIN)),
        run.url if run and found.status.is_alive else "",
        found.directory.context,
        age(since, now) if since else "",
        str(stats.nodes) if stats else "",
        _number(stats.running if stats else None),
        _number(stats.pending if stats else None),
    ]


def _number(value: int | None) -> str:
    return "" if value is None else str(value)


def _remarks(found: "ListedCluster") -> Iterator[str]:
    """What is unusual about a cluster, and the operators that have a stand-in."""
    if remark := _remark(found):
        yield remark
    run = found.status.run
    for operator in run.operators if run is not None and found.status.is_alive else ():
        yield stand_in_text(operator)


def _remark(found: "ListedCluster") -> str:
    from kohort.local.stopping import since_then

    state, run = found.status.state, found.status.run
    if state is ClusterState.CRASHED and run is not None:
        again = start_command(found.directory) + ("" if run.keeps else " --ephemeral")
        return f"ended unexpectedly; {since_then(run)}; see {found.directory.log}; start it with `{again}`"
    if state is ClusterState.STOPPED and run is not None and run.ended is not None and run.ended.running_pods:
        return since_then(run)
    return found.problem
