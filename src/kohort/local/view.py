"""The live view of a cluster: usage of its queues, running and pending workloads, recent events."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import Final

from kohort.api.amounts import readable_amount, to_amount
from kohort.api.conditions import find
from kohort.api.kueue.v1beta2 import ClusterQueue, Workload
from kohort.local.activity import ActivityEvent, QueueActivity, job_name, pending_reason
from kohort.terminal.ages import age
from kohort.terminal.bars import BarPart, bar
from kohort.terminal.screen import Screen
from kohort.terminal.style import Role, Text, columns, cut
from kohort.terminal.tables import Column, Row, numbers, table

_HIDDEN_RESOURCES: Final = ("pods", "ephemeral-storage")
"""Resources that are rarely short."""
_BAR: Final = 10
_GAP: Final = "  "
_USUAL_HEIGHT: Final = 24
_USUAL_WIDTH: Final = 80


@dataclass(frozen=True, slots=True)
class ClusterInfo:
    """The static part of the view."""

    title: str
    where: str
    footer: str


@dataclass(frozen=True, slots=True)
class ResourceUse:
    """Usage and nominal quota of one resource of a queue, over all flavors."""

    resource: str
    used: int
    nominal: int

    def text(self) -> str:
        """`used/nominal`."""
        used, nominal = (readable_amount(self.resource, each) for each in (self.used, self.nominal))
        return f"{used}/{nominal}"


def uses(queue: ClusterQueue) -> list[ResourceUse]:
    """Nominal quota and reservation of a queue by resource: devices first, then in the order of its spec."""
    nominal: dict[str, int] = {}
    for group in queue.spec.resource_groups:
        for flavor in group.flavors:
            _add(nominal, {each.name: str(each.nominal_quota) for each in flavor.resources})
    used: dict[str, int] = {}
    for usage in queue.status.flavors_reservation:
        _add(used, {each.name: str(each.total or 0) for each in usage.resources})
    names = sorted((name for name in nominal if name not in _HIDDEN_RESOURCES), key=lambda name: "/" not in name)
    return [ResourceUse(name, used.get(name, 0), nominal[name]) for name in names]


def _add(sums: dict[str, int], amounts: Mapping[str, str]) -> None:
    for name, amount in amounts.items():
        sums[name] = sums.get(name, 0) + to_amount(name, amount)


def draw(
    activity: QueueActivity, queues: Sequence[ClusterQueue], cluster_info: ClusterInfo, now: datetime, screen: Screen
) -> list[str]:
    """The whole view, in the height of the screen."""
    height = screen.height or _USUAL_HEIGHT
    if screen.width is not None:
        # Terminals that erase the rest of a line take its last column along.
        screen = replace(screen, width=screen.width - 1)
    head = [_spread(Text(cluster_info.title, Role.TITLE), Text(cluster_info.where, Role.DIM), screen), ""]
    foot = ["", _fitted(Text(cluster_info.footer, Role.DIM), screen)]
    space = height - len(head) - len(foot)
    sections = [
        _section("Queues", len(queues), _queues(queues, screen), screen),
        _section("Running", len(activity.running), _jobs(activity.running.values(), now, screen), screen),
        _section("Pending", len(activity.pending), _waiting(activity.pending.values(), now, screen), screen),
        _section("Recent events", 0, _recent(activity.events, screen), screen),
    ]
    body = [line for section, share in zip(sections, shares(sections, space), strict=True) for line in section[:share]]
    return [*head, *body, *foot]


def shares(sections: Sequence[Sequence[str]], space: int) -> list[int]:
    """The number of lines of each section: an equal share, and unused lines of others, first sections first."""
    given = [min(len(section), max(space // len(sections), 0)) for section in sections]
    left = space - sum(given)
    for index, section in enumerate(sections):
        more = min(len(section) - given[index], max(left, 0))
        given[index] += more
        left -= more
    return given


def _section(title: str, count: int, lines: Sequence[str], screen: Screen) -> list[str]:
    if not lines:
        return []
    heading = Text(f"{title} ({count})" if count else title, Role.TITLE)
    return [screen.style.paint(heading.text, heading.role), *lines, ""]


def _queues(queues: Sequence[ClusterQueue], screen: Screen) -> list[str]:
    width = max((columns(each.metadata.name) for each in queues), default=0)
    return [_queue(each, min(width, 24), screen) for each in queues]


def _queue(queue: ClusterQueue, width: int, screen: Screen) -> str:
    """One line: name, a bar for each resource that fits, and workload counts."""
    name = cut(queue.metadata.name, width, screen.glyphs.ellipsis)
    status = queue.status
    counts = f"{status.admitted_workloads or 0} running, {status.pending_workloads or 0} pending"
    line, taken = f"  {name}{' ' * (width - columns(name))}", width + 2
    stop = find(queue.status.conditions, "Active")
    if stop is not None and stop.status == "False":
        counts += f", {stop.reason}"
    space = screen.width_or(_USUAL_WIDTH) - len(_GAP) - len(counts)
    for each in uses(queue):
        label, amount = each.resource.rpartition("/")[2], each.text()
        taken += len(_GAP) + len(label) + 1 + _BAR + 1 + len(amount)
        if taken > space:
            break
        line += f"{_GAP}{label} {_bar(each, screen)} {amount}"
    return f"{line}{_GAP}{screen.style.paint(counts, Role.DIM)}"


def _bar(use: ResourceUse, screen: Screen) -> str:
    within = min(use.used, use.nominal)
    parts = [BarPart(within, role=Role.GOOD), BarPart(use.used - within, role=Role.WARN)]
    return bar(parts, max(use.nominal, use.used), _BAR, screen)


def _jobs(workloads: Iterable[Workload], now: datetime, screen: Screen) -> list[str]:
    shown = [(job_name(each), each.spec.queue_name or "", _usage(each), _since(each, now)) for each in _some(workloads)]
    given = [Column("JOB", min_width=12), Column("QUEUE", min_width=8), Column("USAGE", min_width=10), numbers("AGE")]
    return _indented(given, shown, screen)


def _waiting(workloads: Iterable[Workload], now: datetime, screen: Screen) -> list[str]:
    shown = [
        (job_name(each), each.spec.queue_name or "", age(each.metadata.creation_timestamp, now), pending_reason(each))
        for each in _some(workloads)
    ]
    given = [Column("JOB", min_width=12), Column("QUEUE", min_width=8), numbers("AGE"), Column("REASON", min_width=10)]
    return _indented(given, shown, screen)


def _some(workloads: Iterable[Workload]) -> list[Workload]:
    """As many as a screen can show."""
    return list(islice(workloads, 50))


def _indented(given: Sequence[Column], rows: Sequence[Row], screen: Screen) -> list[str]:
    if not rows:
        return []
    narrow = screen if screen.width is None else replace(screen, width=screen.width - 2)
    return [f"  {line}" for line in table(given, rows, narrow)[1:]]


def _usage(workload: Workload) -> str:
    sums: dict[str, int] = {}
    for each in workload.status.admission.pod_set_assignments if workload.status.admission else ():
        _add(sums, {name: str(amount) for name, amount in each.resource_usage.items() if name not in _HIDDEN_RESOURCES})
    return ", ".join(f"{name.rpartition('/')[2]} {readable_amount(name, amount)}" for name, amount in sums.items())


def _since(workload: Workload, now: datetime) -> str:
    admitted = find(workload.status.conditions, "Admitted")
    return age(admitted.last_transition_time if admitted else None, now)


def _recent(events: Iterable[ActivityEvent], screen: Screen) -> list[str]:
    newest = list(events)[::-1]
    rows = [
        (f"{each.at.astimezone():%H:%M:%S}", Text(each.what, each.role), each.job, each.detail)
        for each in islice(newest, 50)
    ]
    given = [Column("AT"), Column("WHAT"), Column("JOB", min_width=12), Column("DETAIL", min_width=10)]
    return _indented(given, rows, screen)


def _spread(left: Text, right: Text, screen: Screen) -> str:
    """A line with one text at each side."""
    width = screen.width_or(_USUAL_WIDTH)
    kept = cut(left.text, width, screen.glyphs.ellipsis)
    space = width - columns(kept) - len(_GAP)
    other = cut(right.text, space, screen.glyphs.ellipsis) if space > 0 else ""
    gap = " " * max(width - columns(kept) - columns(other), 0)
    return screen.style.paint(kept, left.role) + gap + screen.style.paint(other, right.role)


def _fitted(text: Text, screen: Screen) -> str:
    return screen.style.paint(cut(text.text, screen.width_or(_USUAL_WIDTH), screen.glyphs.ellipsis), text.role)
