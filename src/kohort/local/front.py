"""What a person sees of a cluster in the foreground: a view that is kept up to date, or a line for each happening."""

import asyncio
from collections.abc import Callable

import click

from kohort.local.logs import Echo
from kohort.local.running import Cluster, Front


def foreground(greet: Callable[[Cluster], None]) -> tuple[Front, Echo]:
    """The front of a cluster in a terminal or a pipe, and where warnings go meanwhile."""
    echo = Echo(lambda line: click.echo(line, err=True))

    async def front(cluster: Cluster, stopped: asyncio.Event) -> None:
        greet(cluster)
        await stopped.wait()
        click.echo("stopping")
        echo.tell = None

    return front, echo
