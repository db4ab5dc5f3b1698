"""Colours are used on terminals only, and no control characters of a cluster reach the terminal."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.terminal.glyphs import ASCII, UNICODE, glyphs_of
from kohort.terminal.screen import screen_of
from kohort.terminal.style import (
    COLOURED,
    PLAIN,
    SHADED,
    SHADES,
    Role,
    Text,
    columns,
    cut,
    strip_control_sequences,
    style_of,
)


class FakeTerminal(io.StringIO):
    def isatty(self) -> bool:
        return True


COLOURS = {"TERM": "xterm"}
READABLE = 3.0
"""The contrast that WCAG requires for large text and for text with another sign beside it."""


def test_a_terminal_has_colours() -> None:
    assert style_of(FakeTerminal(), COLOURS) == COLOURED


@pytest.mark.parametrize("environment", [{**COLOURS, "NO_COLOR": "1"}, {"TERM": "dumb"}, {}])
def test_colours_are_disabled_by_environment_variables(environment: dict[str, str]) -> None:
    assert style_of(FakeTerminal(), environment) == PLAIN


def test_an_empty_no_color_reports_nothing() -> None:
    assert style_of(FakeTerminal(), {**COLOURS, "NO_COLOR": ""}) == COLOURED


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
def test_untrusted_text_cannot_steer_the_terminal(text: str) -> None:
    assert strip_control_sequences(text).isprintable()
    assert len(strip_control_sequences(text)) == len(text)
    assert PLAIN.paint(text, Role.BAD) == strip_control_sequences(text)


def test_an_escape_is_shown_as_what_it_is() -> None:
    assert strip_control_sequences("a\x1b[31mb\nc\x9b") == "a?[31mb c\ufffd"


@given(st.text(alphabet=st.characters(exclude_categories=["C"])), st.integers(0, 20))
def test_cut_text_fits(text: str, width: int) -> None:
    assert columns(cut(text, width, "…")) <= width
    assert columns(cut(text, width, "...")) <= width


def test_cut_text_reports_it() -> None:
    assert cut("workload", 5, "…") == "work…"
    assert cut("workload", 8, "…") == "workload"
    assert cut("漢字漢字", 4, "…") == "漢…"


def test_streams_that_cannot_carry_signs_get_letters() -> None:
    assert glyphs_of(io.TextIOWrapper(io.BytesIO(), encoding="ascii"), {}) is ASCII
    assert glyphs_of(io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), {}) is UNICODE


def test_text_is_made_fit_for_ascii() -> None:
    assert ASCII.plain("a → b … ✓ ü") == "a -> b ... ok ?"
    assert UNICODE.plain("ü") == "ü"


def luminance(shade: int) -> float:
    """How bright one of the 256 colours is, as WCAG counts it."""
    if shade >= 232:
        levels = [8 + 10 * (shade - 232)] * 3
    else:
        steps = (0, 95, 135, 175, 215, 255)
        levels = [steps[(shade - 16) // 36], steps[(shade - 16) // 6 % 6], steps[(shade - 16) % 6]]
    parts = [each / 255 for each in levels]
    red, green, blue = (each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("role", SHADES, ids=lambda role: role.name)
def test_a_shade_has_contrast_on_white_and_on_black(role: Role) -> None:
    found = luminance(SHADES[role])
    assert (1 + 0.05) / (found + 0.05) >= READABLE
    assert (found + 0.05) / 0.05 >= READABLE


def test_a_terminal_of_256_colours_gets_shades() -> None:
    assert style_of(FakeTerminal(), {"TERM": "tmux-256color"}) == SHADED
    assert style_of(FakeTerminal(), {"TERM": "xterm", "COLORTERM": "truecolor"}) == SHADED
    assert SHADED.paint("a", Role.WARN) == "\x1b[38;5;166ma\x1b[0m"


def test_a_title_is_bold_in_any_colour_of_the_terminal() -> None:
    assert SHADED.paint("a", Role.TITLE) == COLOURED.paint("a", Role.TITLE)


@pytest.mark.parametrize("variables", [{"LC_ALL": "C"}, {"LANG": "POSIX"}, {"LC_CTYPE": "C", "LANG": "de_DE.UTF-8"}])
def test_the_posix_locale_gets_ascii(variables: dict[str, str]) -> None:
    assert glyphs_of(io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), variables) is ASCII


@pytest.mark.parametrize("variables", [{"LC_ALL": "C.UTF-8", "LANG": "C"}, {"LC_ALL": "", "LANG": "en_US.UTF-8"}, {}])
def test_any_other_locale_gets_signs(variables: dict[str, str]) -> None:
    assert glyphs_of(io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), variables) is UNICODE
