"""How `kohort top` shows quota: a line per node and flavor-resource, with a bar of its use; or data for programs."""

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

NARROWEST: Final = 8
COMFORTABLE: Final = 16
"""Bars that would be shorter get the room between the columns as well."""
WIDEST: Final = 48
IN_A_FILE: Final = 20
ROOMY: Final = 110
"""Columns of a screen from which on there is room for what others could use too."""
LENDABLE: Final = 3
"""Where that stands among the cells right of the bar."""


@dataclass(frozen=True, slots=True)
class TopRow:
    """A line of the picture."""

    tree: str
    """What stands left of the name: branches."""
    name: str
    branch: QuotaTreeNode
    figures: QuotaUsage | None
    is_first: bool
    """Whether it is the first line of its node, which tells its name and counts."""


def lines_of(trees: Sequence[QuotaTreeNode], screen: Screen) -> list[TopRow]:
    """A line for each flavor-resource of each node, or one where a node has none."""
    return [line for tree in trees for line in _lines(tree, "", "", screen)]


def _lines(branch: QuotaTreeNode, lead: str, rest: str, screen: Screen) -> Iterator[TopRow]:
    glyphs = screen.glyphs
    below = glyphs.trunk if branch.children else ""
    for number, figures in enumerate(branch.figures or (None,)):
        is_first = number == 0
        yield TopRow(lead if is_first else rest + below, branch.name if is_first else "", branch, figures, is_first)
    for number, child in enumerate(branch.children):
        is_last = number == len(branch.children) - 1
        yield from _lines(
            child,
            rest + (glyphs.last if is_last else glyphs.branch),
            rest + ("   " if is_last else glyphs.trunk),
            screen,
        )


def render_quota(trees: Sequence[QuotaTreeNode], screen: Screen) -> list[str]:
    """The table, its bars as wide as there is room for."""
    lines = lines_of(trees, screen)
    if not lines:
        return ["There is no ClusterQueue: see kohort up --starter, or docs/tutorials"]
    head = [Column("QUEUE", min_width=12), Column("FLAVOR", min_width=6), Column("RESOURCE", min_width=6)]
    is_wide = screen.width is None or screen.width >= ROOMY
    lendable = [numbers("LENDABLE")] if is_wide else []
    tail = [numbers("USED"), numbers("QUOTA"), numbers("BORROWS"), *lendable, numbers("WAITS"), numbers("JOBS")]
    rows = [(_left(line), _right(line)) for line in lines]
    if not is_wide:
        rows = [(left, [*right[:LENDABLE], *right[LENDABLE + 1 :]]) for left, right in rows]
    width = _bar_width([[*left, *right] for left, right in rows], [*head, *tail], screen)
    drawn = [[*left, _bar(line, width, screen), *right] for line, (left, right) in zip(lines, rows, strict=True)]
    return table([*head, Column("USE"), *tail], drawn, screen)


def _bar_width(rows: Sequence[Sequence[TableCell]], given: Sequence[Column], screen: Screen) -> int:
    """What is left beside the other columns."""
    if screen.width is None:
        return IN_A_FILE
    others = sum(
        max(len(column.header), *(columns(_plain(row[index])) for row in rows)) for index, column in enumerate(given)
    )
    roomy, tight = (screen.width - others - gap * len(given) for gap in (WIDE_GAP, NARROW_GAP))
    return max(NARROWEST, min(roomy if roomy >= COMFORTABLE else tight, WIDEST))


def _plain(cell: TableCell) -> str:
    return cell.text if isinstance(cell, Text) else cell if isinstance(cell, str) else ""


def _left(line: TopRow) -> list[TableCell]:
    branch, figures = line.branch, line.figures
    role = Role.TITLE if branch.kind == "cohort" else Role.PLAIN if branch.is_active else Role.WARN
    name = Text(line.tree + line.name + ("" if branch.is_active or not line.is_first else " (inactive)"), role)
    if figures is None:
        return [name, "-", "-"]
    return [name, figures.fr.flavor, short_resource(figures.fr.resource)]


def _right(line: TopRow) -> list[TableCell]:
    branch, figures = line.branch, line.figures
    jobs = f"{branch.running}+{branch.waiting}" if line.is_first else ""
    if figures is None:
        return ["", "", "", "", "", jobs]
    shown = partial(readable_amount, figures.fr.resource)
    borrowed = Text(shown(figures.borrowed), Role.WARN) if figures.borrowed else ""
    waits = Text(shown(figures.waiting), Role.ACCENT) if figures.waiting else ""
    quota = "no limit" if figures.quota >= UNLIMITED else shown(figures.quota)
    lendable = shown(figures.lendable) if figures.lendable and not figures.is_unlimited else ""
    return [shown(figures.used), quota, borrowed, lendable, waits, jobs]


def _bar(line: TopRow, width: int, screen: Screen) -> TableCell:
    figures = line.figures
    if figures is None:
        return ""
    own = figures.used - figures.borrowed
    scale = figures.used if figures.is_unlimited else max(figures.quota, figures.used)
    parts = [BarPart(own, Fill.FULL, _role(figures)), BarPart(figures.borrowed, Fill.HALF, Role.WARN)]
    return Drawing(width, bar(parts, float(scale), width, screen))


def _role(figures: QuotaUsage) -> Role:
    """Green with room left, red where all is used and somebody waits."""
    is_full = not figures.is_unlimited and figures.used >= figures.quota
    return Role.BAD if is_full and figures.waiting else Role.GOOD


def chosen(trees: Sequence[QuotaTreeNode], names: Sequence[str], resource: str) -> list[QuotaTreeNode]:
    """The trees, cut down to the nodes and the resource that were asked for."""
    kept = list(trees) if not names else [each for tree in trees for each in tree.walk() if each.name in names]
    return [_only(each, resource) for each in kept] if resource else kept


def _only(branch: QuotaTreeNode, resource: str) -> QuotaTreeNode:
    figures = tuple(each for each in branch.figures if resource in (each.fr.resource, short_resource(each.fr.resource)))
    return replace(branch, figures=figures, children=tuple(_only(child, resource) for child in branch.children))


# For programs


def as_data(trees: Sequence[QuotaTreeNode]) -> Json:
    """The same as JSON; documented in docs/how-to/see-queues.md."""
    return [_data(each) for each in trees]


def _data(branch: QuotaTreeNode) -> Json:
    return {
        "kind": "Cohort" if branch.kind == "cohort" else "ClusterQueue",
        "name": branch.name,
        "active": branch.is_active,
        "running": branch.running,
        "waiting": branch.waiting,
        "quota": [_figures_data(each) for each in branch.figures],
        "members": [_data(each) for each in branch.children],
    }


def _figures_data(figures: QuotaUsage) -> Json:
    shown = partial(format_amount, figures.fr.resource)
    return {
        "flavor": figures.fr.flavor,
        "resource": figures.fr.resource,
        "quota": None if figures.is_unlimited else shown(figures.quota),
        "used": shown(figures.used),
        "borrowed": shown(figures.borrowed),
        "lendable": None if figures.is_unlimited else shown(figures.lendable),
        "waiting": shown(figures.waiting),
    }
