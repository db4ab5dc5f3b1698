"""Groups of commands whose names have aliases, as kubectl's kinds do."""

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


class KindGroup(click.Group):
    """A verb, and the kinds that it takes."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a kind, by any of its names."""
        return super().get_command(ctx, ALIASES.get(cmd_name, cmd_name))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command meant; a name that is none gets the one most like it."""
        name = args[0] if args else ""
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            meant = nearest(name, self.list_commands(ctx))
            ctx.fail(f"No such command {name!r}.{f' Did you mean {meant!r}?' if meant else ''}")
        return super().resolve_command(ctx, args)


def verb(name: str, summary: str) -> KindGroup:
    """The group of one verb, without its kinds."""
    return KindGroup(name, help=summary, short_help=summary)
