"""The reference page of all commands, from the commands themselves.

`python -m kohort.cli.reference FILE` writes it; `make docs` does.
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from kohort.cli.main import COMMANDS, SECTIONS, cli

GENERATED = "<!-- Written by `make docs` from the commands; edit those. -->"
WIDTH = 100
OPENING = """# Commands

What each `kohort` command says of itself with `--help`. They are there as `kubectl kohort …` too; `kubectl kueue` has
[its own](../how-to/kubectl-plugins.md)."""


def page() -> str:
    """The whole page."""
    return "\n\n".join((GENERATED, OPENING, *_sections())) + "\n"


def _sections() -> Iterator[str]:
    for section in SECTIONS:
        names = sorted(name for name, command in COMMANDS.items() if command.section == section)
        yield f"## {section}"
        for name in names:
            yield from _entries(
                name, COMMANDS[name].load(), click.Context(cli, info_name="kohort", **cli.context_settings)
            )


def _entries(name: str, command: click.Command, parent: click.Context) -> Iterator[str]:
    """A command, and those below it."""
    context = click.Context(command, info_name=name, parent=parent, terminal_width=WIDTH, max_content_width=WIDTH)
    text = "\n".join(line.rstrip() for line in command.get_help(context).splitlines())
    yield f"### {context.command_path}\n\n```text\n{text}\n```"
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            found = command.get_command(context, below)
            if found is not None:
                yield from _entries(below, found, context)


def main(arguments: Sequence[str]) -> None:
    """Write the page into the file that is named."""
    if len(arguments) != 1:
        sys.exit("usage: python -m kohort.cli.reference FILE")
    Path(arguments[0]).write_text(page(), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
