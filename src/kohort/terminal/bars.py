"""Amounts as bars of a given width: every part that is more than nothing shows, and the bar is never longer."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import accumulate

from kohort.terminal.screen import Screen
from kohort.terminal.style import Role


class Fill(Enum):
    """How a part of a bar is drawn; names a sign of `Glyphs`."""

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
    """The parts side by side, where `scale` is the whole width; what is left is empty."""
    cells = widths([part.amount for part in parts], scale, width)
    drawn = [
        screen.style.paint(getattr(screen.glyphs, part.fill.value) * cell, part.role)
        for part, cell in zip(parts, cells, strict=True)
    ]
    rest = screen.style.paint(screen.glyphs.empty * (width - sum(cells)), Role.DIM)
    return "".join(drawn) + rest


def widths(amounts: Sequence[float], scale: float, width: int) -> list[int]:
    """How many of `width` cells each amount takes: rounded at its end, at least one for anything, never beyond."""
    if scale <= 0 or width <= 0:
        return [0] * len(amounts)
    ends = [round(min(end / scale, 1.0) * width) for end in accumulate(max(amount, 0) for amount in amounts)]
    cells = [end - start for start, end in zip([0, *ends], ends, strict=False)]
    for index, amount in enumerate(amounts):
        if amount > 0 and not cells[index]:
            _make_room(cells, index, width)
    return cells


def _make_room(cells: list[int], index: int, width: int) -> None:
    """One cell for a small part: a free one, else of the largest part that can spare it."""
    if sum(cells) >= width:
        largest = max(range(len(cells)), key=cells.__getitem__)
        if cells[largest] < 2:
            return
        cells[largest] -= 1
    cells[index] = 1
