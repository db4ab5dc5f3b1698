"""Bars have exactly the requested length, and every part above zero is visible while there is space."""

from hypothesis import given
from hypothesis import strategies as st

from kohort.terminal.bars import BarPart, Fill, bar, widths
from kohort.terminal.glyphs import ASCII, UNICODE
from kohort.terminal.screen import Screen
from kohort.terminal.style import COLOURED, Role

amounts = st.lists(st.floats(0, 1e15), max_size=5)


def test_parts_are_adjacent() -> None:
    parts = [BarPart(4), BarPart(2, Fill.HALF)]
    assert bar(parts, 8, 8, Screen(glyphs=UNICODE)) == "████▓▓░░"
    assert bar(parts, 8, 8, Screen(glyphs=ASCII)) == "####++.."


def test_parts_are_painted_by_role() -> None:
    painted = bar([BarPart(1, role=Role.GOOD)], 2, 4, Screen(style=COLOURED, glyphs=UNICODE))
    assert painted == "\x1b[32m██\x1b[0m\x1b[2m░░\x1b[0m"


def test_a_little_still_shows() -> None:
    assert widths([1, 0.001], 1000, 10) == [1, 1]
    assert widths([999, 1], 1000, 10) == [9, 1]


def test_more_than_all_is_all() -> None:
    assert widths([30, 5], 10, 4) == [3, 1]


def test_nothing_of_nothing_is_empty() -> None:
    assert bar([BarPart(0)], 0, 4, Screen(glyphs=ASCII)) == "...."


@given(amounts, st.floats(0, 1e15), st.integers(0, 60))
def test_a_bar_has_the_requested_length(parts: list[float], scale: float, width: int) -> None:
    assert len(bar([BarPart(part) for part in parts], scale, width, Screen())) == width
    assert sum(widths(parts, scale, width)) <= width


@given(amounts, st.floats(1, 1e15), st.integers(5, 60))
def test_every_part_shows_where_there_is_a_cell_for_each(parts: list[float], scale: float, width: int) -> None:
    assert all(cell > 0 for part, cell in zip(parts, widths(parts, scale, width), strict=True) if part > 0)
