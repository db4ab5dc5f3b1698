"""Prose for terminals: sections with a heading, wrapped to the screen; whole lines in a file."""

import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from kohort.terminal.screen import Screen
from kohort.terminal.style import Role

WIDEST: Final = 110
"""Longer lines are hard to read, however wide the terminal is."""
INDENT: Final = "  "


@dataclass(frozen=True, slots=True)
class Section:
    """Lines under a heading; without one they stand alone. Two spaces in a line begin its second column."""

    heading: str
    lines: tuple[str, ...]


def sections_text(sections: Iterable[Section], screen: Screen) -> Iterator[str]:
    """The lines of all sections, with an empty one between two."""
    for number, section in enumerate(sections):
        if number:
            yield ""
        yield from _section(section, screen)


def _section(section: Section, screen: Screen) -> Iterator[str]:
    if section.heading:
        yield screen.style.paint(section.heading, Role.TITLE)
    for line in section.lines:
        for part in _wrapped(line, INDENT if section.heading else "", screen.width):
            yield screen.style.show(screen.glyphs.plain(part))


def _wrapped(line: str, indent: str, width: int | None) -> list[str]:
    if width is None:
        return [indent + line]
    lead = indent + " " * (len(line) - len(line.lstrip()))
    head, gap, _ = line.strip().partition("  ")
    hang = lead + " " * (len(head) + len(gap) if gap else 0)
    return textwrap.wrap(
        line.strip(),
        max(min(width, WIDEST), len(hang) + 20),
        initial_indent=lead,
        subsequent_indent=hang,
        break_on_hyphens=False,
        break_long_words=False,
    )
