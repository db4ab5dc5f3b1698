"""Properties of the output: width, colours, symbols."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TextIO

from kohort.terminal.glyphs import ASCII, Glyphs, glyphs_of
from kohort.terminal.style import PLAIN, Style, is_terminal, style_of

UNKNOWN_SIZE = (80, 24)


@dataclass(frozen=True, slots=True)
class Screen:
    """An output with its size, style and symbols."""

    width: int | None = None
    """Columns; None if lines are not limited, as in a file."""
    height: int | None = None
    style: Style = PLAIN
    glyphs: Glyphs = ASCII

    def width_or(self, usual: int) -> int:
        """The width, or this one if lines are not limited."""
        return usual if self.width is None else self.width


def screen_of(stream: TextIO, environment: Mapping[str, str]) -> Screen:
    """The current screen of a stream."""
    style, glyphs = style_of(stream, environment), glyphs_of(stream, environment)
    if not is_terminal(stream):
        return Screen(None, None, style, glyphs)
    width, height = _size(stream)
    usual_width, usual_height = UNKNOWN_SIZE
    return Screen(
        width or _number(environment.get("COLUMNS")) or usual_width,
        height or _number(environment.get("LINES")) or usual_height,
        style,
        glyphs,
    )


def _size(stream: TextIO) -> tuple[int, int]:
    """The size that the terminal reports; zeros if it reports none."""
    try:
        size = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):
        return 0, 0
    return size.columns, size.lines


def _number(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() else 0
