"""Rows to aligned text as kubectl prints it, never wrapped: what does not fit is cut in the columns that may be cut."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from kohort.terminal.screen import Screen
from kohort.terminal.style import PLAIN, Role, Text, columns, cut, strip_control_sequences, unpainted


@dataclass(frozen=True, slots=True)
class Drawing:
    """A cell that is painted already, such as a bar; never cut."""

    width: int
    painted: str


Cell = str | Text | Drawing
Row = Sequence[Cell]

WIDE_GAP = 3
NARROW_GAP = 2


class Align(Enum):
    """To which side of its column a cell goes."""

    LEFT = "left"
    RIGHT = "right"


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its header, and how far it may be cut."""

    header: str
    align: Align = Align.LEFT
    least: int = 0
    """The width that it may be cut to; 0 for one that is never cut."""


def numbers(header: str) -> Column:
    """A column of numbers."""
    return Column(header, Align.RIGHT)


def table(columns_: Sequence[Column], rows: Iterable[Row], screen: Screen) -> list[str]:
    """The lines of a table with its header, no longer than the screen is wide; full where it has no width."""
    header: list[Cell] = [Text(column.header, Role.TITLE) for column in columns_]
    return _Layout.of(columns_, [header, *([_clean(cell) for cell in row] for row in rows)], screen).lines()


def _clean(cell: Cell) -> Cell:
    if isinstance(cell, str):
        return strip_control_sequences(cell)
    return cell if isinstance(cell, Drawing) else Text(strip_control_sequences(cell.text), cell.role)


def _bare(cell: Cell) -> Cell:
    return Drawing(cell.width, unpainted(cell.painted)) if isinstance(cell, Drawing) else cell


def _width(cell: Cell) -> int:
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
    """Where lines are cut, if all columns are at their least and still too wide together."""
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
        # A colour that is cut through would colour everything after it.
        bare = [[_bare(cell) for cell in row] for row in rows]
        return cls(given, bare, widths, " " * gap, width, replace(screen, style=PLAIN))

    def lines(self) -> list[str]:
        return [self._line(row) for row in self.rows]

    def _line(self, row: Row) -> str:
        line = self.gap.join(self._cell(index, cell) for index, cell in enumerate(row)).rstrip()
        return line if self.limit is None else cut(line, self.limit, self.screen.glyphs.ellipsis)

    def _cell(self, index: int, cell: Cell) -> str:
        width, size = self.widths[index], _width(cell)
        if isinstance(cell, Drawing):
            return cell.painted + " " * (width - size)
        text, role = (cell, Role.PLAIN) if isinstance(cell, str) else cell
        if size > width:
            text = cut(text, width, self.screen.glyphs.ellipsis)
            size = columns(text)
        painted = text if role is Role.PLAIN else self.screen.style.paint(text, role)
        room = " " * (width - size)
        return room + painted if self.columns[index].align is Align.RIGHT else painted + room


def _fitted(given: Sequence[Column], natural: Sequence[int], room: int) -> list[int]:
    """Widths that fit: the widest of the columns that may be cut gives way first, one step after another."""
    widths = list(natural)
    floors = [min(width, column.least) if column.least else width for column, width in zip(given, natural, strict=True)]
    for _ in range(sum(widths) - room):
        cuttable = [index for index, width in enumerate(widths) if width > floors[index]]
        if not cuttable:
            break
        widths[max(cuttable, key=widths.__getitem__)] -= 1
    return widths
