"""`kohort down`: stops a local cluster and reports the state of its pods."""

from pathlib import Path

import click

from kohort.cli.option_types import DIRECTORY
from kohort.local.directories import DEFAULT_NAME, ClusterDirectory, cluster_directory
from kohort.local.runs import ClusterRun, ClusterState, cluster_status, last_run, used_directories
from kohort.local.stopping import StopOutcome, StopResult, pods_text, stop
from kohort.terminal.nearest import did_you_mean

EXAMPLES = """\b
Examples:
  kohort down               # the cluster that `kohort up` started
  kohort down --name lab
  kohort down --all
"""


@click.command(epilog=EXAMPLES)
@click.option("--name", metavar="NAME", help=f"Name of the cluster (default: {DEFAULT_NAME}).")
@click.option("--all", "everything", is_flag=True, help="Stop all clusters of this user.")
@click.option("--data", type=DIRECTORY, help="Data directory of the cluster.")
def down(*, name: str | None, everything: bool, data: Path | None) -> None:
    """Stop a local cluster.

    Sends SIGTERM and waits 40 seconds before killing the process. Acknowledged writes are never lost. Data is kept;
    pods keep running until the next `kohort up` unless the cluster was started with --end-pods.
    """
    if everything and (data is not None or name is not None):
        raise click.UsageError("--all and --name or --data are mutually exclusive")
    directories = (
        [directory for directory in used_directories() if cluster_status(directory).is_alive]
        if everything
        else [_one(name or DEFAULT_NAME, data)]
    )
    outcomes = []
    for directory in directories:
        before = _current(last_run(directory))
        outcome = stop(directory, _waiting)
        outcomes.append(outcome)
        click.echo(stop_text(outcome))
        _restore_context(outcome, before)
    if not outcomes:
        click.echo("no running clusters")
    if not all(outcome.is_clean for outcome in outcomes):
        raise SystemExit(1)


def _one(name: str, data: Path | None) -> ClusterDirectory:
    directory = cluster_directory(name, data and data.absolute())
    if cluster_status(directory).state is ClusterState.UNUSED:
        others = [each.name for each in used_directories()]
        hint = f"; {did_you_mean(name, others)}" if others and data is None else ""
        raise click.ClickException(
            f"cluster {name} not found in {directory.folder}{hint or ': start one with `kohort up`'}"
        )
    return directory


def _current(run: ClusterRun | None) -> str:
    """A line about the current context; empty for a cluster without a context in kubectl's files."""
    if run is None or not run.kubectl_files:
        return ""
    from kohort.local.kubeconfigs import current_context_text

    return current_context_text(tuple(map(Path, run.kubectl_files)))


def _restore_context(outcome: StopOutcome, before: str) -> None:
    """Restore the previous context if the cluster could not do so; print the current context."""
    if not before or outcome.run is None:
        return
    from kohort.local.kubeconfigs import release_crashed

    if outcome.how in (StopResult.IDLE, StopResult.KILLED):
        release_crashed(outcome.directory, outcome.run)
    after = _current(outcome.run)
    if after != before:
        click.echo(after)


def _waiting(run: ClusterRun) -> None:
    click.echo(f"stopping (pid {run.pid})", err=True)


def stop_text(outcome: StopOutcome) -> str:
    """A line about the result."""
    name = outcome.directory.name
    if outcome.how is StopResult.IDLE:
        return f"{name} is not running"
    how = f"{name} stopped" if outcome.how is StopResult.STOPPED else f"{name}: {outcome.how.value}"
    kept = "" if outcome.run is None or outcome.run.keeps else "data deleted"
    return "; ".join(filter(None, (how, pods_text(outcome), kept)))
