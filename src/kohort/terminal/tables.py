"""Aligned text tables as kubectl prints them: never wrapped; columns that allow it are truncated to fit."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from kohort.terminal.screen import Screen
from kohort.terminal.style import PLAIN, Role, Text, columns, cut, strip_control_sequences, unpainted


@dataclass(frozen=True, slots=True)
class Drawing:
    """A cell that contains colour codes, such as a bar; never truncated."""

    width: int
    painted: str


TableCell = str | Text | Drawing
Row = Sequence[TableCell]

WIDE_GAP = 3
NARROW_GAP = 2


class Align(Enum):
    """The alignment of a column."""

    LEFT = "left"
    RIGHT = "right"


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its header, alignment and minimum width."""

    header: str
    align: Align = Align.LEFT
    min_width: int = 0
    """Minimum width if the column is truncated; 0: never truncated."""


def numbers(header: str) -> Column:
    """A column of numbers."""
    return Column(header, Align.RIGHT)


def table(columns_: Sequence[Column], rows: Iterable[Row], screen: Screen) -> list[str]:
    """The lines of a table with its header, truncated to the width of the screen."""
    header: list[TableCell] = [Text(column.header, Role.TITLE) for column in columns_]
    return _Layout.of(columns_, [header, *([_clean(cell) for cell in row] for row in rows)], screen).lines()


def _clean(cell: TableCell) -> TableCell:
    if isinstance(cell, str):
        return strip_control_sequences(cell)
    return cell if isinstance(cell, Drawing) else Text(strip_control_sequences(cell.text), cell.role)


def _bare(cell: TableCell) -> TableCell:
    return Drawing(cell.width, unpainted(cell.painted)) if isinstance(cell, Drawing) else cell


def _width(cell: TableCell) -> int:
    if isinstance(cell, str):
        return columns(cell)
    return cell.width if isinstance(cell, Drawing) else columns(cell.text)


@dataclass(frozen=True, slots=True)
class _Layout:
    columns: Sequence[Column]
    rows: Sequence[Row]
    widths: Sequence[int]
    gap: str
    limit: int | None
    """Where lines are cut, if all columns have their minimum width and are still too wide together."""
    screen: Screen

    @classmethod
    def of(cls, given: Sequence[Column], rows: Sequence[Row], screen: Screen) -> "_Layout":
        widths = [max(_width(row[index]) for row in rows) for index in range(len(given))]
        gap, gaps, width = WIDE_GAP, len(given) - 1, screen.width
        if width is None:
            return cls(given, rows, widths, " " * gap, None, screen)
        if sum(widths) + gap * gaps > width:
            gap = NARROW_GAP
            widths = _fitted(given, widths, width - gap * gaps)
        if sum(widths) + gap * gaps <= width:
            return cls(given, rows, widths, " " * gap, None, screen)
        # Cutting through a colour code would colour everything after it.
        bare = [[_bare(cell) for cell in row] for row in rows]
        return cls(given, bare, widths, " " * gap, width, replace(screen, style=PLAIN))

    def lines(self) -> list[str]:
        return [self._line(row) for row in self.rows]

    def _line(self, row: Row) -> str:
        line = self.gap.join(self._cell(index, cell) for index, cell in enumerate(row)).rstrip()
        return line if self.limit is None else cut(line, self.limit, self.screen.glyphs.ellipsis)

    def _cell(self, index: int, cell: TableCell) -> str:
        width, size = self.widths[index], _width(cell)
        if isinstance(cell, Drawing):
            return cell.painted + " " * (width - size)
        text, role = (cell, Role.PLAIN) if isinstance(cell, str) else cell
        if size > width:
            text = cut(text, width, self.screen.glyphs.ellipsis)
            size = columns(text)
        painted = text if role is Role.PLAIN else self.screen.style.paint(text, role)
        padding = " " * (width - size)
        return padding + painted if self.columns[index].align is Align.RIGHT else painted + padding


def _fitted(given: Sequence[Column], natural: Sequence[int], available: int) -> list[int]:
    """Widths that fit: the widest of the columns that may be truncated is reduced first, one cell at a time."""
    widths = list(natural)
    minimums = [
        min(width, column.min_width) if column.min_width else width
        for column, width in zip(given, natural, strict=True)
    ]
    for _ in range(sum(widths) - available):
        cuttable = [index for index, width in enumerate(widths) if width > minimums[index]]
        if not cuttable:
            break
        widths[max(cuttable, key=widths.__getitem__)] -= 1
    return widths
