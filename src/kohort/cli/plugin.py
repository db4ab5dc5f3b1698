"""`kubectl kohort`: the same commands as a kubectl plugin (`kubectl-kohort` and `kubectl_complete-kohort`)."""

import sys
from collections.abc import Sequence
from copy import copy

import click
from click.shell_completion import ShellComplete

from kohort.cli.main import LazyGroup, cli, exit_code

NAME = "kubectl kohort"


class _PluginGroup(LazyGroup):
    """The commands, with `kubectl kohort` in their examples."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command."""
        found = super().get_command(ctx, cmd_name)
        if found is not None and found.epilog:
            shown = copy(found)
            shown.epilog = found.epilog.replace("  kohort ", f"  {NAME} ")
            return shown
        return found


plugin = _PluginGroup(
    "kohort", callback=cli.callback, params=cli.params, help=cli.help, context_settings=cli.context_settings
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and exit with its exit code."""
    sys.exit(exit_code(plugin, arguments, NAME))


def complete() -> None:
    """Print completions for kubectl."""
    print_completions(plugin, sys.argv[1:])


def print_completions(program: click.Command, words: Sequence[str]) -> None:
    """Print completions of an incomplete command line, in the format of kubectl."""
    *done, incomplete = [*words] or [""]
    for item in ShellComplete(program, {}, program.name or "", "").get_completions(list(done), incomplete):
        click.echo(f"{item.value}\t{item.help}" if item.help else item.value)
    click.echo(f":{_NO_FILES}")


_NO_FILES = 4
"""Cobra's directive against file name completion."""
