"""`kohort down`: stops a cluster of this machine, and says what became of its pods."""

from pathlib import Path

import click

from kohort.local.directories import DEFAULT_NAME, ClusterDirectory, cluster_directory
from kohort.local.runs import ClusterRun, ClusterState, cluster_status, last_run, used_places
from kohort.local.stopping import StopOutcome, StopResult, pods_in_words, stop
from kohort.terminal.nearest import did_you_mean

EXAMPLES = """\b
Examples:
  kohort down               # the cluster that `kohort up` started
  kohort down --name lab
  kohort down --all
"""


@click.command(epilog=EXAMPLES)
@click.option("--name", help=f"Which cluster; {DEFAULT_NAME} by default.")
@click.option("--all", "everything", is_flag=True, help="All clusters of this user's data directory.")
@click.option(
    "--data", type=click.Path(path_type=Path, file_okay=False), metavar="DIR", help="The cluster that is kept there."
)
def down(*, name: str | None, everything: bool, data: Path | None) -> None:
    """Stop a cluster that runs on this machine.

    It is asked to stop and gets 40 seconds; then it is killed. Nothing that it has answered for is lost in either case.
    Its data stays, and unless it was started with --end-pods its pods run on until the next `kohort up`.
    """
    if everything and (data is not None or name is not None):
        raise click.UsageError("give --all, or say which one")
    places = (
        [place for place in used_places() if cluster_status(place).is_alive]
        if everything
        else [_one(name or DEFAULT_NAME, data)]
    )
    outcomes = []
    for place in places:
        before = _current(last_run(place))
        outcome = stop(place, _waiting)
        outcomes.append(outcome)
        click.echo(in_words(outcome))
        _tell_of_context(outcome, before)
    if not outcomes:
        click.echo("no cluster runs")
    if not all(outcome.is_well for outcome in outcomes):
        raise SystemExit(1)


def _one(name: str, data: Path | None) -> ClusterDirectory:
    place = cluster_directory(name, data and data.absolute())
    if cluster_status(place).state is ClusterState.UNUSED:
        others = [each.name for each in used_places()]
        hint = f"; {did_you_mean(name, others)}" if others and data is None else ""
        raise click.ClickException(f"no cluster {name} is kept in {place.folder}{hint or ': `kohort up` starts one'}")
    return place


def _current(run: ClusterRun | None) -> str:
    """What there is to say of the current context; nothing of a cluster that has none in kubectl's files."""
    if run is None or not run.kubectl_files:
        return ""
    from kohort.local.kubeconfigs import current_in_words

    return current_in_words(tuple(map(Path, run.kubectl_files)))


def _tell_of_context(outcome: StopOutcome, before: str) -> None:
    """Restore the context that was current before a cluster which could not do so itself; say what is current now."""
    if not before or outcome.run is None:
        return
    from kohort.local.kubeconfigs import release_crashed

    if outcome.how in (StopResult.IDLE, StopResult.KILLED):
        release_crashed(outcome.place, outcome.run)
    after = _current(outcome.run)
    if after != before:
        click.echo(after)


def _waiting(run: ClusterRun) -> None:
    click.echo(f"stopping process {run.pid}", err=True)


def in_words(outcome: StopOutcome) -> str:
    """One line on what became of a cluster."""
    name = outcome.place.name
    if outcome.how is StopResult.IDLE:
        return f"{name} does not run"
    how = f"{name} is stopped" if outcome.how is StopResult.STOPPED else f"{name}: {outcome.how.value}"
    kept = "" if outcome.run is None or outcome.run.keeps else "nothing of it is kept"
    return "; ".join(filter(None, (how, pods_in_words(outcome), kept)))
