"""`kohort status`: the clusters of this machine, and how they fare."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kohort.cli.options import DATA, OutputFormat, data_text, output_option, running, screen, show
from kohort.local.directories import DEFAULT_NAME, cluster_directory
from kohort.local.runs import ClusterState, start_command, used_places
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
_ROOMY = 100
"""Columns of a screen below which there is no room for contexts, which names tell too."""


@click.command(epilog=EXAMPLES)
@output_option(*DATA)
@click.option(
    "--data", type=click.Path(path_type=Path, file_okay=False), metavar="DIR", help="The cluster that is kept there."
)
def status(*, output: OutputFormat | None, data: Path | None) -> None:
    """Show the clusters of this machine: which run, where, since when, and what they have to do.

    RUNNING and PENDING are workloads of queues. With -o json or yaml each cluster of `items` has the keys name, state
    (Starting, Running, Stopped, Crashed), context, folder and log; a running one also pid, address, kubeconfig,
    runtime, nodes and workloads (running, pending).
    """
    from kohort.local.cluster_list import list_clusters

    places = used_places() if data is None else [cluster_directory(DEFAULT_NAME, data.absolute())]
    found = running(list_clusters(places))
    if output is not None:
        click.echo(data_text({"items": [each.document() for each in found]}, output))
        return
    if not found:
        click.echo("no cluster was started on this machine yet: `kohort up` starts one")
        return
    show(lines_of(found, datetime.now(UTC), screen()))
    for each in found:
        if remark := _remark(each):
            click.echo(f"{each.place.name}: {remark}", err=True)


def lines_of(found: "Sequence[ListedCluster]", now: datetime, place: Screen) -> list[str]:
    """A table of the clusters; on a narrow screen addresses matter more than contexts."""
    rows = [_row(each, now) for each in found]
    if place.width is None or place.width >= _ROOMY:
        return table(_COLUMNS, rows, place)
    columns = (*_COLUMNS[:_CONTEXT], *_COLUMNS[_CONTEXT + 1 :])
    return table(columns, [[*row[:_CONTEXT], *row[_CONTEXT + 1 :]] for row in rows], place)


def _row(found: "ListedCluster", now: datetime) -> list[TableCell]:
    state, run, figures = found.standing.state, found.standing.run, found.figures
    since = (run.ended.at if run.ended and not found.standing.is_alive else run.since) if run else None
    return [
        found.place.name,
        Text(state.value, _ROLES.get(state, Role.PLAIN)),
        run.url if run and found.standing.is_alive else "",
        found.place.context,
        age(since, now) if since else "",
        str(figures.nodes) if figures else "",
        _number(figures.running if figures else None),
        _number(figures.pending if figures else None),
    ]


def _number(value: int | None) -> str:
    return "" if value is None else str(value)


def _remark(found: "ListedCluster") -> str:
    from kohort.local.stopping import since_then

    state, run = found.standing.state, found.standing.run
    if state is ClusterState.CRASHED and run is not None:
        again = start_command(found.place) + ("" if run.keeps else " --ephemeral")
        how = f"it ended without being stopped; {since_then(run)}"
        return f"{how}; see {found.place.log}, and `{again}` starts it again"
    if state is ClusterState.STOPPED and run is not None and run.ended is not None and run.ended.running_pods:
        return since_then(run)
    return found.problem
