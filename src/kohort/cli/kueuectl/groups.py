"""Command groups of a verb, with kinds by any of their names."""

from collections.abc import Mapping
from typing import Final

import click

from kohort.terminal.nearest import nearest

ALIASES: Final[Mapping[str, str]] = {
    "cq": "clusterqueue",
    "clusterqueues": "clusterqueue",
    "lq": "localqueue",
    "localqueues": "localqueue",
    "rf": "resourceflavor",
    "resourceflavors": "resourceflavor",
    "kwl": "workload",
    "workloads": "workload",
    "kueueworkload": "workload",
    "kueueworkloads": "workload",
    "po": "pods",
    "pod": "pods",
}


_MAX_SUMMARY: Final = 80


class KindGroup(click.Group):
    """A verb with a command for each kind."""

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        """Add a command; its summary in lists has no period."""
        cmd.short_help = cmd.get_short_help_str(_MAX_SUMMARY).removesuffix(".")
        super().add_command(cmd, name)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a kind, by name or alias."""
        return super().get_command(ctx, ALIASES.get(cmd_name, cmd_name))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve the command; the error for an unknown name suggests a similar one."""
        name = args[0] if args else ""
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            meant = nearest(name, self.list_commands(ctx))
            ctx.fail(f"No such command {name!r}.{f' Did you mean {meant!r}?' if meant else ''}")
        return super().resolve_command(ctx, args)


def example(line: str) -> str:
    """The epilog of a command with one example."""
    return f"\b\nExamples:\n  kubectl kueue {line}\n"


def verb(name: str, summary: str) -> KindGroup:
    """An empty group of a verb."""
    return KindGroup(name, help=summary, short_help=summary)
