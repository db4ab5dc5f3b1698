"""Sections of text with a heading, wrapped to the screen; not wrapped in a file."""

import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from kohort.terminal.screen import Screen
from kohort.terminal.style import Role

MAX_WIDTH: Final = 110
"""Maximum width: longer lines are hard to read."""
INDENT: Final = "  "


@dataclass(frozen=True, slots=True)
class Section:
    """Lines with an optional heading; two spaces in a line start its second column."""

    heading: str
    lines: tuple[str, ...]


def sections_text(sections: Iterable[Section], screen: Screen) -> Iterator[str]:
    """The lines of all sections, separated by empty lines."""
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
        max(min(width, MAX_WIDTH), len(hang) + 20),
        initial_indent=lead,
        subsequent_indent=hang,
        break_on_hyphens=False,
        break_long_words=False,
    )
