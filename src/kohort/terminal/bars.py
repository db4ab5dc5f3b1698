"""Amounts as bars of a fixed width: each amount above zero takes at least one cell."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import accumulate

from kohort.terminal.screen import Screen
from kohort.terminal.style import Role


class Fill(Enum):
    """How a part of a bar is drawn; the value is the name of a field of `Glyphs`."""

    FULL = "full"
    HALF = "half"
    EMPTY = "empty"


@dataclass(frozen=True, slots=True)
class BarPart:
    """A part of a bar."""

    amount: float
    fill: Fill = Fill.FULL
    role: Role = Role.PLAIN


def bar(parts: Sequence[BarPart], scale: float, width: int, screen: Screen) -> str:
    """Draws the parts side by side; `scale` is the amount that fills the width, and the rest is empty."""
    cells = widths([part.amount for part in parts], scale, width)
    drawn = [
        screen.style.paint(getattr(screen.glyphs, part.fill.value) * cell, part.role)
        for part, cell in zip(parts, cells, strict=True)
    ]
    rest = screen.style.paint(screen.glyphs.empty * (width - sum(cells)), Role.DIM)
    return "".join(drawn) + rest


def widths(amounts: Sequence[float], scale: float, width: int) -> list[int]:
    """Cells of `width` per amount: rounded at its end, at least one for amounts above zero, at most `width` in all."""
    if scale <= 0 or width <= 0:
        return [0] * len(amounts)
    ends = [round(min(end / scale, 1.0) * width) for end in accumulate(max(amount, 0) for amount in amounts)]
    cells = [end - start for start, end in zip([0, *ends], ends, strict=False)]
    for index, amount in enumerate(amounts):
        if amount > 0 and not cells[index]:
            _reserve_cell(cells, index, width)
    return cells


def _reserve_cell(cells: list[int], index: int, width: int) -> None:
    """Reserves one cell for a small part: a free cell, or one of the largest part if that has several."""
    if sum(cells) >= width:
        largest = max(range(len(cells)), key=cells.__getitem__)
        if cells[largest] < 2:
            return
        cells[largest] -= 1
    cells[index] = 1
