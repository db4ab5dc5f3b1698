"""The `kohort` command: runs a subcommand, and turns every failure into one line and an exit code.

The module of a subcommand is imported when it is used, which keeps `kohort --help` fast.
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
ALLOCATIONS_BETWEEN_COLLECTIONS = 10_000
"""Imports make up to 200,000 objects that stay: at Python's default of 700, collections take a tenth of their time."""


@dataclass(frozen=True, slots=True)
class LazyCommand:
    """A command whose module is imported on demand."""

    target: str
    """`module:attribute`."""
    summary: str
    section: str = "Administration"
    """Heading in `kohort --help`."""

    def load(self) -> click.Command:
        """Import the command."""
        module, _, attribute = self.target.partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        command.short_help = self.summary
        return command


COMMANDS = {
    "cancel": LazyCommand("kohort.cli.cancel:cancel", "Delete jobs and their pods", "Jobs"),
    "completion": LazyCommand("kohort.cli.completion:completion", "Print a shell completion script"),
    "crds": LazyCommand("kohort.cli.crds:crds", "Print the CustomResourceDefinitions"),
    "demo": LazyCommand("kohort.cli.demo:demo", "Run a demo of two teams sharing quota", "Clusters"),
    "doctor": LazyCommand("kohort.cli.doctor:doctor", "Diagnose common queueing problems", "Queues"),
    "down": LazyCommand("kohort.cli.down:down", "Stop a local cluster", "Clusters"),
    "events": LazyCommand("kohort.cli.events:events", "Show events of a job or of the manager", "Jobs"),
    "explain": LazyCommand("kohort.cli.explain:explain", "Explain why a job is pending", "Jobs"),
    "fits": LazyCommand("kohort.cli.fits:fits", "Check whether a job would be admitted now", "Jobs"),
    "hold": LazyCommand("kohort.cli.hold:hold", "Hold jobs or queues", "Jobs"),
    "install": LazyCommand("kohort.cli.install:install", "Print installation manifests or a Helm chart"),
    "logs": LazyCommand("kohort.cli.logs:logs", "Print the logs of a job's pods", "Jobs"),
    "manager": LazyCommand("kohort.cli.manager:manager", "Run the Kohort manager"),
    "move": LazyCommand("kohort.cli.move:move", "Move pending jobs to another LocalQueue", "Jobs"),
    "node": LazyCommand("kohort.cli.node:node", "Register nodes and run their pods", "Clusters"),
    "queue": LazyCommand("kohort.cli.queue:queue", "List pending and admitted workloads", "Queues"),
    "resume": LazyCommand("kohort.cli.resume:resume", "Resume held jobs or queues", "Jobs"),
    "status": LazyCommand("kohort.cli.status:status", "List local clusters", "Clusters"),
    "submit": LazyCommand("kohort.cli.submit:submit", "Submit a command as a Job", "Jobs"),
    "topology": LazyCommand("kohort.cli.topology:topology", "Show capacity and usage of topology domains", "Queues"),
    "top": LazyCommand("kohort.cli.top:top", "Show quota usage", "Queues"),
    "up": LazyCommand("kohort.cli.up:up", "Start a local cluster", "Clusters"),
    "validate": LazyCommand("kohort.cli.validate:validate", "Validate manifests offline", "Jobs"),
}


SECTIONS = ("Jobs", "Queues", "Clusters", "Administration")
"""In the order of `kohort --help`: daily commands first."""


class LazyGroup(click.Group):
    """A group whose help does not import the commands."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command."""
        found = COMMANDS.get(cmd_name)
        return found.load() if found else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve the command; the error for an unknown name suggests a similar one."""
        name = args[0] if args else ""
        if not name.startswith("-") and name not in COMMANDS:
            from kohort.terminal.nearest import nearest

            meant = nearest(name, COMMANDS)
            hint = f" Did you mean {meant!r}?" if meant else ""
            ctx.fail(f"No such command {name!r}.{hint}")
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """Complete command names without importing the commands."""
        from click.shell_completion import CompletionItem

        if incomplete.startswith("-"):
            return click.Command.shell_complete(self, ctx, incomplete)
        names = [name for name in self.list_commands(ctx) if name.startswith(incomplete)]
        return [CompletionItem(name, help=COMMANDS[name].summary) for name in names]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands with their summaries, by section."""
        widest = max(map(len, COMMANDS))
        for section in SECTIONS:
            rows = [(name, COMMANDS[name].summary) for name in self.list_commands(ctx) if _is_in(name, section)]
            if rows:
                with formatter.section(section):
                    formatter.write_dl([(name.ljust(widest), summary) for name, summary in rows])


def _is_in(name: str, section: str) -> bool:
    return COMMANDS[name].section == section


@click.group(
    cls=LazyGroup, short_help="Queue batch and AI jobs", context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, message="%(prog)s %(version)s")
def cli() -> None:
    """Queue batch and AI jobs on Kubernetes: quota, borrowing, fair share, topology, preemption."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and exit with its exit code."""
    if arguments is None:
        gc.set_threshold(ALLOCATIONS_BETWEEN_COLLECTIONS)
    code = exit_code(cli, arguments, "kohort")
    if arguments is None:
        # A garbage collection at exit would take a tenth of the time of a short command.
        gc.freeze()
    sys.exit(code)


def exit_code(program: click.Command, arguments: Sequence[str] | None, name: str) -> int | str | None:
    """Run a program under this name; reports failures in one line and returns the exit code."""
    _replace_unencodable()
    try:
        code = _run(program, arguments, name)
        # Buffered output would otherwise fail after the last chance to handle it.
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_output()
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


def _replace_unencodable() -> None:
    """Print a question mark for characters that the encoding of the terminal lacks, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="replace")


def _discard_output() -> None:
    """Discard buffered output after a broken pipe: it must not fail a second time at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return " ".join(str(error).split())
