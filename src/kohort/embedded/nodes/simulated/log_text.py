"""Log lines of simulated containers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from kohort.api.times import format_micro_time
from kohort.embedded.nodes.runtime import Terminated
from kohort.embedded.nodes.simulated.plans import FOREVER, SimulatedPodPlan
from kohort.embedded.server.subresources.logs import PodLogOptions

if TYPE_CHECKING:
    from kohort.embedded.nodes.simulated.pods import PodIdentity

Line = tuple[datetime, str]


def log_lines(
    identity: PodIdentity, plan: SimulatedPodPlan, started: datetime | None, end: Terminated | None, attempt: int
) -> list[Line]:
    """The lines of one run with timestamps; none before it starts."""
    if started is None:
        return []
    which = f"pod {identity.namespace}/{identity.name} on node {identity.node}, run {attempt + 1}"
    lines = [(started, f"kohort: {which} is simulated: no process runs, and the image is not used")]
    if plan.run == FOREVER:
        lines.append((started, "kohort: runs until it is deleted"))
    else:
        lines.append((started, f"kohort: runs for {plan.run:g} s, then exits with {plan.code_of(attempt)}"))
    if end is not None:
        lines.append((end.finished, f"kohort: exits with {end.exit_code} ({end.reason})"))
    return lines


def selected(lines: Sequence[Line], options: PodLogOptions, now: datetime) -> bytes:
    """The requested part of the lines."""
    since = options.since_time
    if options.since_seconds is not None:
        since = now - timedelta(seconds=options.since_seconds)
    chosen = [line for line in lines if since is None or line[0] >= since]
    if options.tail_lines is not None:
        chosen = chosen[len(chosen) - min(options.tail_lines, len(chosen)) :]
    text = "".join(f"{_stamp(moment, options)}{line}\n" for moment, line in chosen).encode()
    return text if options.limit_bytes is None else text[: options.limit_bytes]


def following(options: PodLogOptions, sent: int) -> PodLogOptions:
    """Options for the rest of a followed log: `tail` and `since` apply to its beginning only."""
    limit = None if options.limit_bytes is None else max(0, options.limit_bytes - sent)
    return replace(options, tail_lines=None, since_seconds=None, since_time=None, limit_bytes=limit)


def _stamp(moment: datetime, options: PodLogOptions) -> str:
    return f"{format_micro_time(moment)} " if options.timestamps else ""
