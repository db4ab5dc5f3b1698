"""Tables are aligned as kubectl's, fit the terminal by cutting what may be cut, and are whole in a file."""

from hypothesis import given
from hypothesis import strategies as st

from kohort.terminal.glyphs import UNICODE
from kohort.terminal.screen import Screen
from kohort.terminal.style import COLOURED, Role, Text, columns
from kohort.terminal.tables import Column, Drawing, numbers, table

NAME, COUNT, WHY = Column("NAME", min_width=6), numbers("COUNT"), Column("WHY", min_width=8)
ROWS = [["train-llama-7b", "2", "insufficient quota for cpu"], ["b", "100", "ok"]]
FILE = Screen(glyphs=UNICODE)


def terminal(width: int) -> Screen:
    return Screen(width, 24, glyphs=UNICODE)


def test_in_a_file_everything_is_there() -> None:
    assert table([NAME, COUNT, WHY], ROWS, FILE) == [
        "NAME             COUNT   WHY",
        "train-llama-7b       2   insufficient quota for cpu",
        "b                  100   ok",
    ]


def test_on_a_narrow_terminal_the_widest_column_is_shortened_first() -> None:
    assert table([NAME, COUNT, WHY], ROWS, terminal(40)) == [
        "NAME            COUNT  WHY",
        "train-llama-7b      2  insufficient quo…",
        "b                 100  ok",
    ]


def test_columns_that_may_not_be_cut_stay_until_the_line_itself_ends() -> None:
    lines = table([Column("NAME"), COUNT], [["train-llama-7b", "2"]], terminal(12))
    assert lines == ["NAME       …", "train-llama…"]


def test_colour_takes_no_columns() -> None:
    rows: list[list[str | Text]] = [[Text("abc", Role.GOOD), "1"], ["a", "22"]]
    plain = table([NAME, COUNT], [["abc", "1"], ["a", "22"]], terminal(80))
    painted = table([NAME, COUNT], rows, Screen(80, 24, COLOURED, UNICODE))
    assert painted[1] == plain[1].replace("abc", "\x1b[32mabc\x1b[0m")
    assert painted[2] == plain[2]


def test_a_line_that_is_cut_has_no_colour_that_could_leak() -> None:
    lines = table([Column("NAME"), COUNT], [[Text("x" * 30, Role.BAD), "1"]], Screen(10, 24, COLOURED, UNICODE))
    assert lines == ["NAME     …", "xxxxxxxxx…"]


@given(width=st.integers(1, 16))
def test_a_bar_that_is_cut_through_leaves_no_colour_behind(width: int) -> None:
    drawn = Drawing(4, COLOURED.paint("####", Role.GOOD))
    lines = table(
        [Column("NAME"), Column("USE"), COUNT], [["a-name", drawn, "12"]], Screen(width, 24, COLOURED, UNICODE)
    )
    assert all("\x1b" not in line and columns(line) <= width for line in lines)


def test_a_table_without_rows_is_its_header() -> None:
    assert table([NAME, COUNT], [], FILE) == ["NAME   COUNT"]


words = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), max_size=40)


@given(st.lists(st.tuples(words, words, words), max_size=8), st.integers(1, 120))
def test_no_line_is_wider_than_the_terminal(rows: list[tuple[str, str, str]], width: int) -> None:
    assert all(columns(line) <= width for line in table([NAME, COUNT, WHY], rows, terminal(width)))
