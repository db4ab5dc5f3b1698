"""The `kohort` command: finds the subcommand, and turns every failure into one line and an exit code.

A subcommand's module is imported when it is used, so that `kohort --help` starts in a blink.
"""

import gc
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from io import TextIOWrapper
from typing import TYPE_CHECKING

import click

from kohort import __version__
from kohort.api.errors import ApiError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

BROKEN_PIPE = 1
ERROR = 2
INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class LazyCommand:
    """A command that is known by name before its module is imported."""

    target: str
    """`module:attribute`."""
    summary: str
    section: str = "Administration"
    """Under which heading `kohort --help` lists it."""

    def load(self) -> click.Command:
        """Import the command."""
        module, _, attribute = self.target.partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command


COMMANDS = {
    "cancel": LazyCommand("kohort.cli.cancel:cancel", "Delete jobs, with their pods.", "Jobs"),
    "completion": LazyCommand("kohort.cli.completion:completion", "Print what a shell needs to complete commands."),
    "crds": LazyCommand("kohort.cli.crds:crds", "Print the CustomResourceDefinitions of all kinds."),
    "demo": LazyCommand("kohort.cli.demo:demo", "Show how two teams share quota, in half a minute.", "Clusters"),
    "doctor": LazyCommand("kohort.cli.doctor:doctor", "Find what silently goes wrong, and how to mend it.", "Queues"),
    "down": LazyCommand("kohort.cli.down:down", "Stop a cluster of this machine.", "Clusters"),
    "events": LazyCommand("kohort.cli.events:events", "Show what happened to a job, or what Kohort did.", "Jobs"),
    "explain": LazyCommand("kohort.cli.explain:explain", "Tell why a job waits, and what would let it in.", "Jobs"),
    "fits": LazyCommand("kohort.cli.fits:fits", "Tell whether a job would start now.", "Jobs"),
    "hold": LazyCommand("kohort.cli.hold:hold", "Hold jobs back, or whole queues.", "Jobs"),
    "install": LazyCommand("kohort.cli.install:install", "Print what a cluster needs to run Kohort; or a Helm chart."),
    "logs": LazyCommand("kohort.cli.logs:logs", "Print what the pods of a job write.", "Jobs"),
    "manager": LazyCommand("kohort.cli.manager:manager", "Run queues on a Kubernetes API server."),
    "move": LazyCommand("kohort.cli.move:move", "Move jobs that wait to another queue.", "Jobs"),
    "node": LazyCommand(
        "kohort.cli.node:node", "Attach nodes to an API server; simulated ones by the thousand.", "Clusters"
    ),
    "queue": LazyCommand("kohort.cli.queue:queue", "Show who waits where, and for what.", "Queues"),
    "resume": LazyCommand("kohort.cli.resume:resume", "Let go what was held.", "Jobs"),
    "status": LazyCommand("kohort.cli.status:status", "Show the clusters of this machine.", "Clusters"),
    "submit": LazyCommand("kohort.cli.submit:submit", "Queue a command as a Job.", "Jobs"),
    "top": LazyCommand("kohort.cli.top:top", "Show quota, use and borrowing, live.", "Queues"),
    "up": LazyCommand("kohort.cli.up:up", "Run a cluster with queues on this machine.", "Clusters"),
    "validate": LazyCommand("kohort.cli.validate:validate", "Check manifests offline.", "Jobs"),
}


SECTIONS = ("Jobs", "Queues", "Clusters", "Administration")
"""In the order of `kohort --help`: what everybody needs daily comes first."""


class LazyGroup(click.Group):
    """A group whose help needs no command to be imported."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, whether loaded or not."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, imported now."""
        found = COMMANDS.get(cmd_name)
        return found.load() if found else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command meant; a name that is none gets the one most like it."""
        name = args[0] if args else ""
        if not name.startswith("-") and name not in COMMANDS:
            from kohort.terminal.nearest import nearest

            meant = nearest(name, COMMANDS)
            hint = f" Did you mean {meant!r}?" if meant else ""
            ctx.fail(f"No such command {name!r}.{hint}")
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """Commands by their summaries: a shell that completes would wait for all to be imported."""
        from click.shell_completion import CompletionItem

        if incomplete.startswith("-"):
            return click.Command.shell_complete(self, ctx, incomplete)
        names = [name for name in self.list_commands(ctx) if name.startswith(incomplete)]
        return [CompletionItem(name, help=COMMANDS[name].summary) for name in names]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands from their summaries, by what they are for."""
        widest = max(map(len, COMMANDS))
        for section in SECTIONS:
            rows = [(name, COMMANDS[name].summary) for name in self.list_commands(ctx) if _is_in(name, section)]
            if rows:
                with formatter.section(section):
                    formatter.write_dl([(name.ljust(widest), summary) for name, summary in rows])


def _is_in(name: str, section: str) -> bool:
    return COMMANDS[name].section == section


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="%(prog)s %(version)s")
def cli() -> None:
    """Queue batch and AI jobs on Kubernetes: quota, borrowing, fair share, topology, preemption."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and leave the process with its exit code."""
    code = exit_code(cli, arguments, "kohort")
    if arguments is None:
        # The process ends: to look for garbage among all that was loaded takes a tenth of a short command's time.
        gc.freeze()
    sys.exit(code)


def exit_code(program: click.Command, arguments: Sequence[str] | None, name: str) -> int | str | None:
    """Run a program under the name that its help shows; every failure is one line and the code that is returned."""
    _let_text_pass()
    try:
        code = _run(program, arguments, name)
        # Output that waits in a buffer would otherwise fail after the last chance to handle it.
        sys.stdout.flush()
    except BrokenPipeError:
        _write_to_nowhere()
        return BROKEN_PIPE
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except click.UsageError as error:
        error.show()
        return error.exit_code
    except click.ClickException as error:
        click.echo(f"{name}: error: {error.format_message()}", err=True)
        return error.exit_code
    except (ApiError, OSError) as error:
        click.echo(f"{name}: error: {_one_line(error)}", err=True)
        return ERROR
    return code


def _run(program: click.Command, arguments: Sequence[str] | None, name: str) -> int | str | None:
    try:
        code = program.main(arguments, prog_name=name, standalone_mode=False)
    except SystemExit as left:
        return left.code
    return code if isinstance(code, int) else 0


def _let_text_pass() -> None:
    """Have what an encoding lacks shown as a question mark: a terminal of another time is no reason to fail."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="replace")


def _write_to_nowhere() -> None:
    """Nobody reads any more: what is still buffered must not fail a second time at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return " ".join(str(error).split())
