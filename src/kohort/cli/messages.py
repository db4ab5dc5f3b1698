"""Notes and progress on standard error, so that standard output can be piped."""

import os
import sys
from datetime import timedelta
from typing import TYPE_CHECKING

import click

from kohort.terminal.ages import duration
from kohort.terminal.screen import screen_of
from kohort.terminal.style import Role, Style

if TYPE_CHECKING:
    from kohort.cli.job_progress import JobProgress
    from kohort.kube.clock import Clock


def note(text: str) -> None:
    """Print a note to the user."""
    click.echo(_style().paint(text, Role.WARN), err=True)


class ProgressPrinter:
    """Prints the progress of a job with the time since the start."""

    def __init__(self, clock: "Clock") -> None:
        self._clock = clock
        self._start = clock.now()

    def print(self, progress: "JobProgress") -> None:
        """Print one line."""
        passed = duration(timedelta(seconds=self._clock.now() - self._start))
        style = _style()
        click.echo(f"{style.paint(f'{passed:>6}', Role.DIM)}  {style.paint(progress.text, progress.role)}", err=True)


def _style() -> Style:
    context = click.get_current_context(silent=True)
    no_color = context is not None and context.color is False
    return Style() if no_color else screen_of(sys.stderr, os.environ).style


def write_raw(data: bytes) -> None:
    """Write bytes of a log to standard output unchanged."""
    click.echo(data, nl=False)
