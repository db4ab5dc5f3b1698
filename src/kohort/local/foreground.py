"""The foreground of `kohort up`: a live view on a terminal, otherwise one line per event."""

import asyncio
import logging
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final, Protocol

import click

from kohort.controllers.context import ControllerContext
from kohort.local.activity import ActivityEvent, QueueActivity
from kohort.local.cluster import Front, LocalCluster
from kohort.local.logs import Echo
from kohort.local.view import ClusterInfo, draw
from kohort.terminal.live import LiveViewSettings, live
from kohort.terminal.screen import Screen
from kohort.terminal.style import Role, can_draw

log = logging.getLogger(__name__)

_EVERY: Final = 1.0
"""Seconds between two drawings."""
_CLOSED: Final = "view closed; press Ctrl-C to stop the cluster"


class StartupReporter(Protocol):
    """Prints the start of a cluster."""

    def report_ready(self, cluster: LocalCluster, warnings: Sequence[str]) -> None:
        """Print that it is ready, and the warnings of its start."""
        ...

    def cluster_info(self, cluster: LocalCluster) -> ClusterInfo:
        """The static part of the view."""
        ...


def foreground(reporter: StartupReporter) -> tuple[Front, Echo]:
    """The front of a cluster in a terminal or a pipe, and the log handler for its warnings."""
    early: list[str] = []
    echo = Echo(early.append)

    async def front(cluster: LocalCluster, stopped: asyncio.Event) -> None:
        try:
            await show(cluster, stopped)
        except OSError as error:
            # The terminal or the pipe was closed.
            echo.write = None
            log.info("output closed, stopping: %s", error)

    async def show(cluster: LocalCluster, stopped: asyncio.Event) -> None:
        reporter.report_ready(cluster, early)
        echo.write = _print_warning
        context = cluster.manager.context if cluster.manager is not None else None
        if context is not None:
            await _show_activity(context, reporter.cluster_info(cluster), echo, stopped)
        await stopped.wait()
        click.echo("stopping")
        echo.write = None

    return front, echo


def _print_warning(line: str) -> None:
    click.echo(line, err=True)


async def _show_activity(
    context: ControllerContext, cluster_info: ClusterInfo, echo: Echo, stopped: asyncio.Event
) -> None:
    """Show activity until the cluster is stopped; after the view is closed, as lines."""
    lines = _Lines()
    activity = QueueActivity(lines.write)
    context.workloads.subscribe(activity.observe)
    activity.follow()
    if not can_draw(sys.stdout, os.environ):
        lines.is_enabled = True
        return

    def picture(screen: Screen) -> Sequence[str]:
        queues = sorted(context.cluster_queues.cache, key=lambda each: each.metadata.name)
        return draw(activity, queues, cluster_info, datetime.now(UTC), screen)

    def warn(line: str) -> None:
        kind, _, text = line.partition(": ")
        activity.add_event(ActivityEvent(datetime.now(UTC), kind, Role.WARN, text))

    echo.write = warn
    closed = asyncio.Event()
    async with live(closed, LiveViewSettings(pause=_EVERY)) as view:
        while not (closed.is_set() or stopped.is_set()):
            view.show(picture)
            with suppress(TimeoutError):
                await asyncio.wait_for(_first(closed, stopped), _EVERY)
    echo.write = _print_warning
    if not stopped.is_set():
        click.echo(_CLOSED)
        lines.is_enabled = True


class _Lines:
    """Prints events as lines while enabled."""

    def __init__(self) -> None:
        self.is_enabled = False

    def write(self, event: ActivityEvent) -> None:
        """Print the event."""
        if self.is_enabled:
            click.echo(event.line())


async def _first(*events: asyncio.Event) -> None:
    waits = [asyncio.create_task(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
