"""The view of a cluster in the foreground: its queues with what is used of them, who runs, who waits, what happened."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import Final

from kohort.api.amounts import readable_amount, to_amount
from kohort.api.conditions import find
from kohort.api.kueue.v1beta2 import ClusterQueue, Workload
from kohort.local.activity import ActivityEvent, QueueActivity, job_of, why_waiting
from kohort.terminal.ages import age
from kohort.terminal.bars import BarPart, bar
from kohort.terminal.screen import Screen
from kohort.terminal.style import Role, Text, columns, cut
from kohort.terminal.tables import Column, Row, numbers, table

_UNSEEN: Final = ("pods", "ephemeral-storage")
"""Resources that hardly ever run short before others do."""
_BAR: Final = 10
_GAP: Final = "  "
_USUAL_HEIGHT: Final = 24
_USUAL_WIDTH: Final = 80


@dataclass(frozen=True, slots=True)
class ClusterInfo:
    """What does not change while a cluster runs."""

    title: str
    where: str
    footer: str


@dataclass(frozen=True, slots=True)
class Use:
    """What is used of one resource of a queue, in all its flavors."""

    resource: str
    used: int
    nominal: int

    def text(self) -> str:
        """`used/nominal`."""
        used, nominal = (readable_amount(self.resource, each) for each in (self.used, self.nominal))
        return f"{used}/{nominal}"


def uses(queue: ClusterQueue) -> list[Use]:
    """What a queue has and what of it is reserved, by resource: devices first, then in the order of its spec."""
    nominal: dict[str, int] = {}
    for group in queue.spec.resource_groups:
        for flavor in group.flavors:
            _add(nominal, {each.name: str(each.nominal_quota) for each in flavor.resources})
    used: dict[str, int] = {}
    for usage in queue.status.flavors_reservation:
        _add(used, {each.name: str(each.total or 0) for each in usage.resources})
    names = sorted((name for name in nominal if name not in _UNSEEN), key=lambda name: "/" not in name)
    return [Use(name, used.get(name, 0), nominal[name]) for name in names]


def _add(sums: dict[str, int], amounts: Mapping[str, str]) -> None:
    for name, amount in amounts.items():
        sums[name] = sums.get(name, 0) + to_amount(name, amount)


def draw(
    scene: QueueActivity, queues: Sequence[ClusterQueue], facts: ClusterInfo, now: datetime, screen: Screen
) -> list[str]:
    """The whole picture, in the height of the screen."""
    height = screen.height or _USUAL_HEIGHT
    if screen.width is not None:
        # Terminals that erase the rest of a line take its last column along.
        screen = replace(screen, width=screen.width - 1)
    head = [_spread(Text(facts.title, Role.TITLE), Text(facts.where, Role.DIM), screen), ""]
    foot = ["", _fitted(Text(facts.footer, Role.DIM), screen)]
    room = height - len(head) - len(foot)
    sections = [
        _section("Queues", len(queues), _queues(queues, screen), screen),
        _section("Running", len(scene.running), _jobs(scene.running.values(), now, screen), screen),
        _section("Waiting", len(scene.pending), _waiting(scene.pending.values(), now, screen), screen),
        _section("Lately", 0, _lately(scene.happened, screen), screen),
    ]
    body = [line for section, share in zip(sections, shares(sections, room), strict=True) for line in section[:share]]
    return [*head, *body, *foot]


def shares(sections: Sequence[Sequence[str]], room: int) -> list[int]:
    """How many lines each gets: an equal part at least, and what others leave over, the first ones first."""
    given = [min(len(section), max(room // len(sections), 0)) for section in sections]
    left = room - sum(given)
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
    """One line: the name, a bar for each resource that fits, and how many run and wait."""
    name = cut(queue.metadata.name, width, screen.glyphs.ellipsis)
    status = queue.status
    counts = f"{status.admitted_workloads or 0} run, {status.pending_workloads or 0} wait"
    line, taken = f"  {name}{' ' * (width - columns(name))}", width + 2
    stop = find(queue.status.conditions, "Active")
    if stop is not None and stop.status == "False":
        counts += f", {stop.reason}"
    room = screen.width_or(_USUAL_WIDTH) - len(_GAP) - len(counts)
    for each in uses(queue):
        label, amount = each.resource.rpartition("/")[2], each.text()
        taken += len(_GAP) + len(label) + 1 + _BAR + 1 + len(amount)
        if taken > room:
            break
        line += f"{_GAP}{label} {_bar(each, screen)} {amount}"
    return f"{line}{_GAP}{screen.style.paint(counts, Role.DIM)}"


def _bar(use: Use, screen: Screen) -> str:
    within = min(use.used, use.nominal)
    parts = [BarPart(within, role=Role.GOOD), BarPart(use.used - within, role=Role.WARN)]
    return bar(parts, max(use.nominal, use.used), _BAR, screen)


def _jobs(workloads: Iterable[Workload], now: datetime, screen: Screen) -> list[str]:
    shown = [(job_of(each), each.spec.queue_name or "", _asked(each), _since(each, now)) for each in _some(workloads)]
    given = [Column("JOB", min_width=12), Column("QUEUE", min_width=8), Column("HOLDS", min_width=10), numbers("FOR")]
    return _indented(given, shown, screen)


def _waiting(workloads: Iterable[Workload], now: datetime, screen: Screen) -> list[str]:
    shown = [
        (job_of(each), each.spec.queue_name or "", age(each.metadata.creation_timestamp, now), why_waiting(each))
        for each in _some(workloads)
    ]
    given = [Column("JOB", min_width=12), Column("QUEUE", min_width=8), numbers("FOR"), Column("WHY", min_width=10)]
    return _indented(given, shown, screen)


def _some(workloads: Iterable[Workload]) -> list[Workload]:
    """The first ones: no screen has room for more."""
    return list(islice(workloads, 50))


def _indented(given: Sequence[Column], rows: Sequence[Row], screen: Screen) -> list[str]:
    if not rows:
        return []
    narrow = screen if screen.width is None else replace(screen, width=screen.width - 2)
    return [f"  {line}" for line in table(given, rows, narrow)[1:]]


def _asked(workload: Workload) -> str:
    sums: dict[str, int] = {}
    for each in workload.status.admission.pod_set_assignments if workload.status.admission else ():
        _add(sums, {name: str(amount) for name, amount in each.resource_usage.items() if name not in _UNSEEN})
    return ", ".join(f"{name.rpartition('/')[2]} {readable_amount(name, amount)}" for name, amount in sums.items())


def _since(workload: Workload, now: datetime) -> str:
    admitted = find(workload.status.conditions, "Admitted")
    return age(admitted.last_transition_time if admitted else None, now)


def _lately(happened: Iterable[ActivityEvent], screen: Screen) -> list[str]:
    newest = list(happened)[::-1]
    rows = [
        (f"{each.at.astimezone():%H:%M:%S}", Text(each.what, each.role), each.job, each.detail)
        for each in islice(newest, 50)
    ]
    given = [Column("AT"), Column("WHAT"), Column("JOB", min_width=12), Column("DETAIL", min_width=10)]
    return _indented(given, rows, screen)


def _spread(left: Text, right: Text, screen: Screen) -> str:
    """One text at each side."""
    width = screen.width_or(_USUAL_WIDTH)
    kept = cut(left.text, width, screen.glyphs.ellipsis)
    room = width - columns(kept) - len(_GAP)
    other = cut(right.text, room, screen.glyphs.ellipsis) if room > 0 else ""
    gap = " " * max(width - columns(kept) - columns(other), 0)
    return screen.style.paint(kept, left.role) + gap + screen.style.paint(other, right.role)


def _fitted(text: Text, screen: Screen) -> str:
    return screen.style.paint(cut(text.text, screen.width_or(_USUAL_WIDTH), screen.glyphs.ellipsis), text.role)
