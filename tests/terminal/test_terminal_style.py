"""Colours show only where a person looks, and nothing that comes from a cluster can steer the terminal."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.terminal.glyphs import ASCII, UNICODE, glyphs_of
from kohort.terminal.screen import screen_of
from kohort.terminal.style import COLOURED, PLAIN, Role, Text, columns, cut, harmless, style_of


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


COLOURS = {"TERM": "xterm-256color"}


def test_a_terminal_has_colours() -> None:
    assert style_of(Terminal(), COLOURS) == COLOURED


@pytest.mark.parametrize("environment", [{**COLOURS, "NO_COLOR": "1"}, {"TERM": "dumb"}, {}])
def test_who_asks_for_no_colours_gets_none(environment: dict[str, str]) -> None:
    assert style_of(Terminal(), environment) == PLAIN


def test_an_empty_no_color_says_nothing() -> None:
    assert style_of(Terminal(), {**COLOURS, "NO_COLOR": ""}) == COLOURED


def test_a_file_has_no_colours_and_no_width() -> None:
    found = screen_of(io.StringIO(), COLOURS)
    assert (found.style, found.width, found.height) == (PLAIN, None, None)


def test_a_closed_stream_is_no_terminal() -> None:
    stream = io.StringIO()
    stream.close()
    assert style_of(stream, COLOURS) == PLAIN


def test_a_role_is_painted_and_ends() -> None:
    assert COLOURED.show("a ", Text("b", Role.BAD), " c") == "a \x1b[31mb\x1b[0m c"
    assert PLAIN.show("a ", Text("b", Role.BAD), " c") == "a b c"


def test_nothing_is_painted_for_an_empty_text() -> None:
    assert COLOURED.paint("", Role.GOOD) == ""


@given(st.text())
def test_text_of_strangers_cannot_steer_the_terminal(text: str) -> None:
    assert harmless(text).isprintable()
    assert len(harmless(text)) == len(text)
    assert PLAIN.paint(text, Role.BAD) == harmless(text)


def test_an_escape_is_shown_as_what_it_is() -> None:
    assert harmless("a\x1b[31mb\nc\x9b") == "a?[31mb c\ufffd"


@given(st.text(alphabet=st.characters(exclude_categories=["C"])), st.integers(0, 20))
def test_cut_text_fits(text: str, width: int) -> None:
    assert columns(cut(text, width, "…")) <= width
    assert columns(cut(text, width, "...")) <= width


def test_cut_text_says_so() -> None:
    assert cut("workload", 5, "…") == "work…"
    assert cut("workload", 8, "…") == "workload"
    assert cut("漢字漢字", 4, "…") == "漢…"


def test_streams_that_cannot_carry_signs_get_letters() -> None:
    assert glyphs_of(io.TextIOWrapper(io.BytesIO(), encoding="ascii")) is ASCII
    assert glyphs_of(io.TextIOWrapper(io.BytesIO(), encoding="utf-8")) is UNICODE


def test_text_is_made_fit_for_ascii() -> None:
    assert ASCII.plain("a → b … ✓ ü") == "a -> b ... ok ?"
    assert UNICODE.plain("ü") == "ü"
