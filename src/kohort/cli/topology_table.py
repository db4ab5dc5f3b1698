"""Output of `kohort topology`: the domains of a flavor as a tree with usage bars, or JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from kohort.api.amounts import format_amount, readable_amount
from kohort.api.codec import Json
from kohort.insight.reasons import short_resource
from kohort.insight.topology import Amounts, DomainReport, TopologyReport
from kohort.terminal.bars import BarPart, Fill, bar
from kohort.terminal.counts import counted
from kohort.terminal.screen import Screen
from kohort.terminal.style import Role, Text
from kohort.terminal.tables import Column, Drawing, TableCell, numbers, table

MAX_ROWS: Final = 50
"""Rows per flavor, unless a level is requested."""
MAX_UNUSED: Final = 3
"""Nodes without a domain that are named."""
BAR: Final = 16
"""Width of a bar."""


@dataclass(frozen=True, slots=True)
class TopologyRow:
    """A domain and the branches before its name."""

    tree: str
    domain: DomainReport


def render_topology(report: TopologyReport, screen: Screen, level: str = "") -> list[str]:
    """The heading and the table of a flavor, down to a level."""
    depth = report.levels.index(level) + 1 if level else _depth(report)
    rows = [row for domain in report.domains for row in _rows(domain, "", "", depth, screen)]
    lines = [f"ResourceFlavor {report.flavor}: Topology {report.topology}, {counted(report.nodes, 'node')}"]
    lines += _table(rows, report, screen)
    lines += list(_notes(report, depth))
    return lines


def _depth(report: TopologyReport) -> int:
    """How many levels are shown: all, unless that is too long and no Workload is selected."""
    if report.workload is not None:
        return len(report.levels)
    total, depth = 0, 0
    for level in report.levels:
        total += sum(each.level == level for domain in report.domains for each in domain.walk())
        if total > MAX_ROWS and depth:
            break
        depth += 1
    return depth


def _rows(domain: DomainReport, lead: str, rest: str, depth: int, screen: Screen) -> Iterator[TopologyRow]:
    yield TopologyRow(lead, domain)
    if depth == 1:
        return
    glyphs = screen.glyphs
    for number, child in enumerate(domain.children, 1):
        is_last = number == len(domain.children)
        branch, below = (glyphs.last, "   ") if is_last else (glyphs.branch, glyphs.trunk)
        yield from _rows(child, rest + branch, rest + below, depth - 1, screen)


def _table(rows: Sequence[TopologyRow], report: TopologyReport, screen: Screen) -> list[str]:
    head = [Column("DOMAIN", min_width=12), numbers("NODES")]
    if report.workload is not None:
        head.append(numbers("PODS"))
    for resource in report.resources:
        head += [Column(""), numbers(short_resource(resource).upper())]
    cells = []
    for row in rows:
        line: list[TableCell] = [Text(row.tree + row.domain.value), str(row.domain.nodes)]
        if report.workload is not None:
            line.append(Text(str(row.domain.pods), Role.ACCENT))
        for resource in report.resources:
            line += [_bar(row.domain, resource, screen), _amounts(row.domain, resource)]
        cells.append(line)
    return table(head, cells, screen)


def _bar(domain: DomainReport, resource: str, screen: Screen) -> TableCell:
    capacity = domain.capacity.get(resource, 0)
    used, other = domain.used.get(resource, 0), domain.other.get(resource, 0)
    role = Role.BAD if used + other > capacity else Role.GOOD
    return Drawing(
        BAR, bar([BarPart(used, Fill.FULL, role), BarPart(other, Fill.HALF, Role.WARN)], capacity, BAR, screen)
    )


def _amounts(domain: DomainReport, resource: str) -> str:
    used = domain.used.get(resource, 0) + domain.other.get(resource, 0)
    return f"{readable_amount(resource, used)}/{readable_amount(resource, domain.capacity.get(resource, 0))}"


def _notes(report: TopologyReport, depth: int) -> Iterator[str]:
    """What the table does not show."""
    if not report.nodes and not report.unused:
        yield f"No node has the labels of ResourceFlavor {report.flavor}"
    if depth < len(report.levels):
        shown = report.levels[depth]
        count = sum(each.level == shown for domain in report.domains for each in domain.walk())
        yield f"{counted(count, 'domain')} of level {shown} not shown; show them with --level {shown}"
    for reason in sorted({each.reason for each in report.unused}):
        names = [each.name for each in report.unused if each.reason == reason]
        more = f" and {len(names) - MAX_UNUSED} more" if len(names) > MAX_UNUSED else ""
        yield f"Not used ({reason}): {', '.join(names[:MAX_UNUSED])}{more}"
    for values, pods in report.absent:
        yield f"{counted(pods, 'pod')} assigned to {values}, which has no usable node"


# JSON and YAML


def topology_data(report: TopologyReport) -> Json:
    """A flavor as JSON; documented in docs/how-to/see-queues.md."""
    return {
        "flavor": report.flavor,
        "topology": report.topology,
        "levels": list(report.levels),
        "domains": [_data(each, report) for each in report.domains],
        "unusedNodes": [{"name": each.name, "reason": each.reason} for each in report.unused],
        "absentDomains": [{"values": values.split(","), "pods": pods} for values, pods in report.absent],
    }


def _data(domain: DomainReport, report: TopologyReport) -> Json:
    free = {resource: domain.free(resource) for resource in domain.capacity}
    return {
        "level": domain.level,
        "value": domain.value,
        "nodes": domain.nodes,
        "capacity": _quantities(domain.capacity),
        "used": _quantities(domain.used),
        "otherPods": _quantities(domain.other),
        "free": _quantities(free),
        **({"pods": domain.pods} if report.workload is not None else {}),
        "domains": [_data(each, report) for each in domain.children],
    }


def _quantities(amounts: Amounts) -> Json:
    return {resource: format_amount(resource, amount) for resource, amount in sorted(amounts.items())}
