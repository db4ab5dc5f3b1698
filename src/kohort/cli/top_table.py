"""Output of `kohort top`: a row per tree node and flavor-resource with a usage bar, or JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from kohort.api.amounts import UNLIMITED, format_amount, readable_amount
from kohort.api.codec import Json
from kohort.insight.quota import QuotaTreeNode, QuotaUsage
from kohort.insight.reasons import short_resource
from kohort.terminal.bars import BarPart, Fill, bar
from kohort.terminal.screen import Screen
from kohort.terminal.style import Role, Text, columns
from kohort.terminal.tables import NARROW_GAP, WIDE_GAP, Column, Drawing, TableCell, numbers, table

MIN_BAR: Final = 8
NORMAL_BAR: Final = 16
"""Below this width, columns are placed closer to each other."""
MAX_BAR: Final = 48
FILE_BAR: Final = 20
"""Width of bars if the output is not a terminal."""
WIDE_SCREEN: Final = 110
"""Width of the screen from which the LENDABLE column is shown."""
LENDABLE: Final = 3
"""Index of LENDABLE among the cells after the bar."""


@dataclass(frozen=True, slots=True)
class TopRow:
    """A row of the table."""

    tree: str
    """Branches before the name."""
    name: str
    branch: QuotaTreeNode
    usage: QuotaUsage | None
    is_first: bool
    """Whether it is the first row of its tree node, with its name and counts."""


def lines_of(trees: Sequence[QuotaTreeNode], screen: Screen) -> list[TopRow]:
    """A row for each flavor-resource of each tree node, or one for a node without any."""
    return [line for tree in trees for line in _lines(tree, "", "", screen)]


def _lines(branch: QuotaTreeNode, lead: str, rest: str, screen: Screen) -> Iterator[TopRow]:
    glyphs = screen.glyphs
    below = glyphs.trunk if branch.children else ""
    for number, usage in enumerate(branch.usages or (None,)):
        is_first = number == 0
        yield TopRow(lead if is_first else rest + below, branch.name if is_first else "", branch, usage, is_first)
    for number, child in enumerate(branch.children):
        is_last = number == len(branch.children) - 1
        yield from _lines(
            child,
            rest + (glyphs.last if is_last else glyphs.branch),
            rest + ("   " if is_last else glyphs.trunk),
            screen,
        )


def render_quota(trees: Sequence[QuotaTreeNode], screen: Screen) -> list[str]:
    """The table, with bars that fill the width of the screen."""
    lines = lines_of(trees, screen)
    if not lines:
        return ["No ClusterQueues found (create one with `kohort up --starter`)"]
    head = [Column("QUEUE", min_width=12), Column("FLAVOR", min_width=6), Column("RESOURCE", min_width=6)]
    is_wide = screen.width is None or screen.width >= WIDE_SCREEN
    lendable = [numbers("LENDABLE")] if is_wide else []
    tail = [numbers("USED"), numbers("QUOTA"), numbers("BORROWED"), *lendable, numbers("PENDING"), numbers("JOBS")]
    rows = [(_left(line), _right(line)) for line in lines]
    if not is_wide:
        rows = [(left, [*right[:LENDABLE], *right[LENDABLE + 1 :]]) for left, right in rows]
    width = _bar_width([[*left, *right] for left, right in rows], [*head, *tail], screen)
    drawn = [[*left, _bar(line, width, screen), *right] for line, (left, right) in zip(lines, rows, strict=True)]
    return table([*head, Column("USAGE"), *tail], drawn, screen)


def _bar_width(rows: Sequence[Sequence[TableCell]], given: Sequence[Column], screen: Screen) -> int:
    """The width left by the other columns."""
    if screen.width is None:
        return FILE_BAR
    others = sum(
        max(len(column.header), *(columns(_plain(row[index])) for row in rows)) for index, column in enumerate(given)
    )
    wide, narrow = (screen.width - others - gap * len(given) for gap in (WIDE_GAP, NARROW_GAP))
    return max(MIN_BAR, min(wide if wide >= NORMAL_BAR else narrow, MAX_BAR))


def _plain(cell: TableCell) -> str:
    return cell.text if isinstance(cell, Text) else cell if isinstance(cell, str) else ""


def _left(line: TopRow) -> list[TableCell]:
    branch, usage = line.branch, line.usage
    role = Role.TITLE if branch.kind == "cohort" else Role.PLAIN if branch.is_active else Role.WARN
    name = Text(line.tree + line.name + ("" if branch.is_active or not line.is_first else " (inactive)"), role)
    if usage is None:
        return [name, "-", "-"]
    return [name, usage.fr.flavor, short_resource(usage.fr.resource)]


def _right(line: TopRow) -> list[TableCell]:
    branch, usage = line.branch, line.usage
    jobs = f"{branch.running}+{branch.waiting}" if line.is_first else ""
    if usage is None:
        return ["", "", "", "", "", jobs]
    shown = partial(readable_amount, usage.fr.resource)
    borrowed = Text(shown(usage.borrowed), Role.WARN) if usage.borrowed else ""
    waits = Text(shown(usage.waiting), Role.ACCENT) if usage.waiting else ""
    quota = "unlimited" if usage.quota >= UNLIMITED else shown(usage.quota)
    lendable = shown(usage.lendable) if usage.lendable and not usage.is_unlimited else ""
    return [shown(usage.used), quota, borrowed, lendable, waits, jobs]


def _bar(line: TopRow, width: int, screen: Screen) -> TableCell:
    usage = line.usage
    if usage is None:
        return ""
    own = usage.used - usage.borrowed
    scale = usage.used if usage.is_unlimited else max(usage.quota, usage.used)
    parts = [BarPart(own, Fill.FULL, _role(usage)), BarPart(usage.borrowed, Fill.HALF, Role.WARN)]
    return Drawing(width, bar(parts, float(scale), width, screen))


def _role(usage: QuotaUsage) -> Role:
    """Green; red if all quota is used and requests are pending."""
    is_full = not usage.is_unlimited and usage.used >= usage.quota
    return Role.BAD if is_full and usage.waiting else Role.GOOD


def chosen(trees: Sequence[QuotaTreeNode], names: Sequence[str], resource: str) -> list[QuotaTreeNode]:
    """The trees, reduced to these tree nodes and this resource."""
    kept = list(trees) if not names else [each for tree in trees for each in tree.walk() if each.name in names]
    return [_only(each, resource) for each in kept] if resource else kept


def _only(branch: QuotaTreeNode, resource: str) -> QuotaTreeNode:
    usages = tuple(each for each in branch.usages if resource in (each.fr.resource, short_resource(each.fr.resource)))
    return replace(branch, usages=usages, children=tuple(_only(child, resource) for child in branch.children))


# JSON and YAML


def as_data(trees: Sequence[QuotaTreeNode]) -> Json:
    """The trees as JSON; documented in docs/how-to/see-queues.md."""
    return [_data(each) for each in trees]


def _data(branch: QuotaTreeNode) -> Json:
    return {
        "kind": "Cohort" if branch.kind == "cohort" else "ClusterQueue",
        "name": branch.name,
        "active": branch.is_active,
        "running": branch.running,
        "waiting": branch.waiting,
        "quota": [_usage_data(each) for each in branch.usages],
        "members": [_data(each) for each in branch.children],
    }


def _usage_data(usage: QuotaUsage) -> Json:
    shown = partial(format_amount, usage.fr.resource)
    return {
        "flavor": usage.fr.flavor,
        "resource": usage.fr.resource,
        "quota": None if usage.is_unlimited else shown(usage.quota),
        "used": shown(usage.used),
        "borrowed": shown(usage.borrowed),
        "lendable": None if usage.is_unlimited else shown(usage.lendable),
        "waiting": shown(usage.waiting),
    }
