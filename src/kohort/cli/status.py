"""`kohort status`: the clusters of this machine, and how they fare."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kohort.cli.options import DATA, Output, data_text, output_option, running, screen, show
from kohort.local.lives import State, start_command, used_places
from kohort.local.places import DEFAULT_NAME, place_of
from kohort.terminal.ages import age
from kohort.terminal.screen import Screen
from kohort.terminal.style import Role, Text
from kohort.terminal.tables import Cell, Column, numbers, table

if TYPE_CHECKING:
    from kohort.local.survey import Surveyed

EXAMPLES = """\b
Examples:
  kohort status
  kohort status -o json | jq -r '.items[] | select(.state == "Running") | .kubeconfig'
"""

_ROLES = {State.RUNNING: Role.GOOD, State.CRASHED: Role.BAD, State.STARTING: Role.WARN}
_COLUMNS = (
    Column("NAME"),
    Column("STATE"),
    Column("ADDRESS", least=12),
    Column("CONTEXT", least=8),
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
def status(*, output: Output | None, data: Path | None) -> None:
    """Show the clusters of this machine: which run, where, since when, and what they have to do.

    RUNNING and PENDING are workloads of queues. With -o json or yaml each cluster of `items` has the keys name, state
    (Starting, Running, Stopped, Crashed), context, folder and log; a running one also pid, address, kubeconfig,
    runtime, nodes and workloads (running, pending).
    """
    from kohort.local.survey import survey

    places = used_places() if data is None else [place_of(DEFAULT_NAME, data.absolute())]
    found = running(survey(places))
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


def lines_of(found: "Sequence[Surveyed]", now: datetime, place: Screen) -> list[str]:
    """A table of the clusters; on a narrow screen addresses matter more than contexts."""
    rows = [_row(each, now) for each in found]
    if place.width is None or place.width >= _ROOMY:
        return table(_COLUMNS, rows, place)
    columns = (*_COLUMNS[:_CONTEXT], *_COLUMNS[_CONTEXT + 1 :])
    return table(columns, [[*row[:_CONTEXT], *row[_CONTEXT + 1 :]] for row in rows], place)


def _row(found: "Surveyed", now: datetime) -> list[Cell]:
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


def _remark(found: "Surveyed") -> str:
    from kohort.local.stopping import since_then

    state, run = found.standing.state, found.standing.run
    if state is State.CRASHED and run is not None:
        again = start_command(found.place) + ("" if run.keeps else " --ephemeral")
        how = f"it ended without being stopped; {since_then(run)}"
        return f"{how}; see {found.place.log}, and `{again}` starts it again"
    if state is State.STOPPED and run is not None and run.ended is not None and run.ended.running_pods:
        return since_then(run)
    return found.problem
