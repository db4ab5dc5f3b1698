"""Prose is wrapped to the terminal, hangs below its second column, and is whole in a file."""

from kohort.terminal.screen import Screen
from kohort.terminal.sections import Section, sections_text
from kohort.terminal.style import COLOURED

EXPECTED = [Section("Heading", ("one two three four five", "   4  six seven eight nine ten")), Section("", ("alone",))]


def test_in_a_file_lines_are_whole() -> None:
    assert list(sections_text(EXPECTED, Screen())) == [
        "Heading",
        "  one two three four five",
        "     4  six seven eight nine ten",
        "",
        "alone",
    ]


def test_on_a_terminal_they_are_wrapped_below_their_second_column() -> None:
    assert list(sections_text(EXPECTED, Screen(27))) == [
        "Heading",
        "  one two three four five",
        "     4  six seven eight nine",
        "        ten",
        "",
        "alone",
    ]


def test_headings_are_highlighted_and_control_characters_are_removed() -> None:
    assert list(sections_text([Section("A", ("b\x1b[2J",))], Screen(40, style=COLOURED))) == [
        "\x1b[1mA\x1b[0m",
        "  b?[2J",
    ]
