"""Help texts in the idiom of kubectl: imperative summaries without a period, and a text for each option."""

from collections.abc import Iterator

import click

VERBS = """
Add Apply Attach Cancel Change Check Create Deactivate Delete Describe Diagnose Display Edit Evaluate Evict Exit
Explain Find Follow Generate Get Hold Inspect Install List Manage Move Patch Print Queue Register Remove Resume Run
Serve Set Show Start Stop Stream Submit Suspend Uninstall Update Validate View Wait Watch Work
"""
"""Imperatives that a summary may start with; add one when a command needs it."""

IMPERATIVES = frozenset(VERBS.split())


def summary_faults(command: str, summary: str) -> list[str]:
    """What is wrong with a summary as it stands in a list of commands."""
    faults = []
    if summary.partition(" ")[0] not in IMPERATIVES:
        faults.append(f"{command}: the summary must start with an imperative verb: {summary!r}")
    if summary.endswith("."):
        faults.append(f"{command}: the summary must not end with a period: {summary!r}")
    return faults


def help_faults(name: str, command: click.Command) -> Iterator[str]:
    """What is wrong with the help of a command and of those below it."""
    context = click.Context(command, info_name=name)
    if not command.hidden:
        yield from summary_faults(name, command.get_short_help_str(limit=200))
    for option in command.params:
        if isinstance(option, click.Option) and not option.hidden and not option.help:
            yield f"{name} {option.opts[0]}: the option has no help text"
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            found = command.get_command(context, below)
            if found is not None:
                yield from help_faults(f"{name} {below}", found)
