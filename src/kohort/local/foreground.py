"""What a person sees of a cluster in the foreground: a view that is kept up to date, or a line for each happening."""

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
_CLOSED: Final = "the view is closed, and the cluster runs on until Ctrl-C"


class StartupReporter(Protocol):
    """Somebody who knows what there is to say of a cluster."""

    def greet(self, cluster: LocalCluster, warnings: Sequence[str]) -> None:
        """Say that it is ready, given the warnings of its start."""
        ...

    def facts(self, cluster: LocalCluster) -> ClusterInfo:
        """What the view shows besides what changes."""
        ...


def foreground(greeter: StartupReporter) -> tuple[Front, Echo]:
    """The front of a cluster in a terminal or a pipe, and where warnings go meanwhile."""
    early: list[str] = []
    echo = Echo(early.append)

    async def front(cluster: LocalCluster, stopped: asyncio.Event) -> None:
        try:
            await show(cluster, stopped)
        except OSError as error:
            # A terminal that was closed, or a pipe that nobody reads: who started the cluster has gone.
            echo.tell = None
            log.info("stopping, since nobody can be shown anything any more: %s", error)

    async def show(cluster: LocalCluster, stopped: asyncio.Event) -> None:
        greeter.greet(cluster, early)
        echo.tell = _say_aside
        world = cluster.manager.context if cluster.manager is not None else None
        if world is not None:
            await _look_on(world, greeter.facts(cluster), echo, stopped)
        await stopped.wait()
        click.echo("stopping")
        echo.tell = None

    return front, echo


def _say_aside(line: str) -> None:
    click.echo(line, err=True)


async def _look_on(world: ControllerContext, facts: ClusterInfo, echo: Echo, stopped: asyncio.Event) -> None:
    """Show what happens until the cluster is stopped, or the view is closed: then in lines."""
    lines = _Lines()
    scene = QueueActivity(lines.tell)
    world.workloads.subscribe(scene.see)
    scene.follow()
    if not can_draw(sys.stdout, os.environ):
        lines.are_wanted = True
        return

    def picture(screen: Screen) -> Sequence[str]:
        queues = sorted(world.cluster_queues.cache, key=lambda each: each.metadata.name)
        return draw(scene, queues, facts, datetime.now(UTC), screen)

    def warn(line: str) -> None:
        kind, _, text = line.partition(": ")
        scene.remember(ActivityEvent(datetime.now(UTC), kind, Role.WARN, text))

    echo.tell = warn
    closed = asyncio.Event()
    async with live(closed, LiveViewSettings(pause=_EVERY)) as view:
        while not (closed.is_set() or stopped.is_set()):
            view.show(picture)
            with suppress(TimeoutError):
                await asyncio.wait_for(_first(closed, stopped), _EVERY)
    echo.tell = _say_aside
    if not stopped.is_set():
        click.echo(_CLOSED)
        lines.are_wanted = True


class _Lines:
    """Happenings, one a line, where there is no view."""

    def __init__(self) -> None:
        self.are_wanted = False

    def tell(self, happening: ActivityEvent) -> None:
        """Say it."""
        if self.are_wanted:
            click.echo(happening.line())


async def _first(*events: asyncio.Event) -> None:
    waits = [asyncio.create_task(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
