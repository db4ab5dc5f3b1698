"""`kohort events`: events of a job, its Workload and its pods; or all events of the manager."""

import asyncio
from dataclasses import replace

import click

from kohort.api.core.events import Event
from kohort.cli.event_table import Concerns, EventFilter, EventTableLayout, in_order, is_from_manager, record
from kohort.cli.job_watcher import check_access
from kohort.cli.messages import note
from kohort.cli.name_completion import complete_workloads
from kohort.cli.options import (
    DATA,
    ClusterOptions,
    OutputFormat,
    all_namespaces_option,
    cluster_options,
    data_text,
    output_option,
    running,
    running_client,
    screen,
    watch_option,
)
from kohort.cli.targets import Finder, TargetError, references
from kohort.kube.client import Client
from kohort.kube.config import ClientConfig
from kohort.kube.informer import SharedInformerFactory
from kohort.kube.options import ListScope
from kohort.terminal.screen import Screen
from kohort.terminal.tables import table

EXAMPLES = """\b
Examples:
  kohort events                      # events of the manager in this namespace
  kohort events train-x7k2p          # events of a Job, its Workload and its pods
  kohort events -A -w                # watch all namespaces
"""


@click.command(epilog=EXAMPLES)
@click.argument("name", required=False, metavar="[JOB|WORKLOAD]", shell_complete=complete_workloads)
@all_namespaces_option
@watch_option
@output_option(OutputFormat.WIDE, OutputFormat.JSON, OutputFormat.YAML)
@cluster_options
def events(
    *, name: str | None, where: ClusterOptions, all_namespaces: bool, watch: bool, output: OutputFormat | None
) -> None:
    """Show events of a job or of the manager, newest last."""
    if name and all_namespaces:
        raise click.UsageError("-A cannot be combined with a name")
    if watch and output in DATA:
        raise click.UsageError("-w supports table output only: omit -o, or use -o wide")
    layout = EventTableLayout(all_namespaces, output is OutputFormat.WIDE)
    running(_watch(where, name, layout) if watch else _list(where, name, layout, output))


async def _list(where: ClusterOptions, name: str | None, layout: EventTableLayout, output: OutputFormat | None) -> None:
    access = where.access()
    async with running_client(access) as client:
        concerns = await _concerns(Finder(client, access.namespace), name)
        found = in_order(filter(concerns, (await client.of(Event).list(_scope(access, layout))).items))
    _print(found, layout, output, client)


def _scope(access: ClientConfig, layout: EventTableLayout) -> ListScope:
    return ListScope("" if layout.has_namespace else access.namespace)


async def _concerns(finder: Finder, name: str | None) -> Concerns:
    """The filter: events of a job, even if deleted, or all events of the manager."""
    if not name:
        return is_from_manager
    reference = references([name])[0]
    try:
        return EventFilter.target(await finder.find(reference))
    except TargetError:
        gone = EventFilter.gone(reference.name)
        if not any(map(gone, (await finder.client.of(Event).list(ListScope(finder.namespace))).items)):
            raise
        note(f"{reference} was deleted; its events expire after one hour")
        return gone


def _print(found: list[Event], layout: EventTableLayout, output: OutputFormat | None, client: Client) -> None:
    if output in DATA:
        click.echo(data_text([record(event) for event in found], output))
    elif not found:
        click.echo("No events found (events expire after one hour)", err=True)
    else:
        now = client.clock.wall()
        for line in table(layout.columns(), [layout.row(event, now) for event in found], _whole()):
            click.echo(line)


def _whole() -> Screen:
    """A screen without width limit: messages must not be truncated."""
    return replace(screen(), width=None)


async def _watch(where: ClusterOptions, name: str | None, layout: EventTableLayout) -> None:
    """Print existing events, then new ones until Ctrl-C."""
    access = where.access()
    async with running_client(access) as client:
        concerns = await _concerns(Finder(client, access.namespace), name)
        informers = SharedInformerFactory(client)
        follower = informers.of(Event, _scope(access, layout))
        await check_access(follower)
        informers.start()
        try:
            await follower.wait_for_sync()
            fresh: asyncio.Queue[Event] = asyncio.Queue()
            follower.subscribe(lambda _old, new: fresh.put_nowait(new) if new is not None and concerns(new) else None)
            await _append(fresh, layout, client)
        finally:
            await informers.stop()


async def _append(fresh: "asyncio.Queue[Event]", layout: EventTableLayout, client: Client) -> None:
    """Print rows as events arrive; the header is printed once."""
    batch, first = list[Event](), 0
    while True:
        while not fresh.empty():
            batch.append(fresh.get_nowait())
        now = client.clock.wall()
        for line in table(layout.columns(), [layout.row(event, now) for event in in_order(batch)], _whole())[first:]:
            click.echo(line)
        batch, first = [await fresh.get()], 1
