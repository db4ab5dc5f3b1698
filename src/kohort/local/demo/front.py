"""The output of `kohort demo`: a live view below the text of the current step; lines without a terminal."""

import asyncio
import os
import sys
import textwrap
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

import click
import msgspec

from kohort.api.amounts import format_amount, to_amount
from kohort.api.kueue.v1beta2 import ClusterQueue
from kohort.api.kueue.v1beta2.queues import FlavorUsage, ResourceUsage
from kohort.local.activity import ActivityEvent, QueueActivity
from kohort.local.cluster import LocalCluster
from kohort.local.demo.folder import DemoFolder
from kohort.local.demo.objects import FLAVOR
from kohort.local.demo.script import Script
from kohort.local.local_manager import USER
from kohort.local.view import ClusterInfo, draw
from kohort.terminal.live import LiveViewSettings, live
from kohort.terminal.screen import Screen
from kohort.terminal.style import Role, can_draw

_EVERY: Final = 0.5
"""Seconds between two drawings."""
_WIDTH: Final = 100
_FOOTER: Final = "press q or Ctrl-C to quit; the demo leaves nothing on this machine"
_EVENT_TEXTS: Final = {
    "queued": "queued",
    "admitted": "admitted, starting",
    "evicted": "preempted, back in the queue",
    "finished": "finished",
    "failed": "failed",
    "deleted": "deleted",
}


async def show_demo(cluster: LocalCluster, folder: DemoFolder, stopped: asyncio.Event) -> None:
    """Run the demo and show it; `q` in the view sets `stopped`."""
    assert cluster.manager is not None  # noqa: S101 - the demo has a manager
    context = cluster.manager.context
    assert context is not None  # noqa: S101 - set once the cluster is ready
    state = DemoState(Lines() if not can_draw(sys.stdout, os.environ) else None)
    context.workloads.subscribe(state.activity.observe)
    state.activity.follow()
    script = Script(cluster.plane.client(USER), context, state.narrate, folder)
    if state.lines is not None:
        await script.play()
        return
    cluster_info = ClusterInfo("kohort demo", f"a cluster of this process at {cluster.url}", _FOOTER)

    def picture(screen: Screen) -> Sequence[str]:
        known = sorted(context.cluster_queues.cache, key=lambda each: each.metadata.name)
        queues = [with_current_usage(each, state.activity) for each in known]
        text = [*narration(state.text, screen), ""]
        rest = replace(screen, height=(screen.height or 24) - len(text))
        return [*text, *draw(state.activity, queues, cluster_info, datetime.now(UTC), rest)]

    playing = asyncio.create_task(script.play())
    try:
        async with live(stopped, LiveViewSettings(pause=_EVERY)) as view:
            while not (playing.done() or stopped.is_set()):
                view.show(picture)
                with suppress(TimeoutError):
                    await asyncio.wait_for(asyncio.shield(playing), _EVERY)
    finally:
        playing.cancel()
        # The view has erased the texts.
        for line in state.printed:
            click.echo(line)
    with suppress(asyncio.CancelledError):
        await playing


class Lines:
    """Prints events, one line each, with the seconds since the start."""

    def __init__(self, echo: Callable[[str], None] = click.echo) -> None:
        self._began = time.monotonic()
        self._echo = echo

    def narrate(self, text: str) -> None:
        """Print the text of a step."""
        self._echo("")
        for line in textwrap.wrap(text, _WIDTH):
            self._echo(line)

    def report(self, event: ActivityEvent) -> None:
        """Print an event of a job."""
        seconds = time.monotonic() - self._began
        what = _EVENT_TEXTS.get(event.what, event.what)
        self._echo(f"  {seconds:5.1f}s  {event.job:<18} {what}")


class DemoState:
    """Text and activity shown so far."""

    def __init__(self, lines: Lines | None) -> None:
        self.lines = lines
        self.activity = QueueActivity(lines.report if lines is not None else _ignore)
        self.text = ""
        self.printed: list[str] = []

    def narrate(self, text: str) -> None:
        """Start the next step."""
        self.text = text
        if self.lines is not None:
            self.lines.narrate(text)
        else:
            self.printed += textwrap.wrap(text, _WIDTH, initial_indent="- ", subsequent_indent="  ")


def narration(text: str, screen: Screen) -> list[str]:
    """The text of a step, as wide as the screen."""
    width = min(screen.width_or(_WIDTH) - 1, _WIDTH)
    return [screen.style.paint(line, Role.ACCENT) for line in textwrap.wrap(text, max(width, 20))]


def with_current_usage(queue: ClusterQueue, activity: QueueActivity) -> ClusterQueue:
    """The queue with current usage; its status is written a little later."""
    name = queue.metadata.name
    admissions = [each.status.admission for each in activity.running.values() if each.status.admission is not None]
    cpus = sum(
        to_amount("cpu", str(assignment.resource_usage.get("cpu", 0)))
        for admission in admissions
        if admission.cluster_queue == name
        for assignment in admission.pod_set_assignments
    )
    resources = (ResourceUsage("cpu", format_amount("cpu", cpus)),)
    status = msgspec.structs.replace(
        queue.status,
        flavors_reservation=(FlavorUsage(FLAVOR, resources),),
        admitted_workloads=sum(each.cluster_queue == name for each in admissions),
        pending_workloads=sum(each.namespace == name for each in activity.pending),
    )
    return msgspec.structs.replace(queue, status=status)


def _ignore(_happening: ActivityEvent) -> None:
    return
