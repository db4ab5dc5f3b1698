"""Colours by role, on only where a person looks: commands say what a word means, and this module how that shows.

Only the sixteen colours that terminals theme themselves are used, so that text is readable on light and on dark.
"""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, TextIO

_RESET = "\x1b[0m"


class Role(Enum):
    """What a piece of text means to the reader."""

    PLAIN = ""
    TITLE = "\x1b[1m"
    DIM = "\x1b[2m"
    GOOD = "\x1b[32m"
    WARN = "\x1b[33m"
    BAD = "\x1b[31m"
    ACCENT = "\x1b[36m"
    SECOND = "\x1b[35m"
    THIRD = "\x1b[34m"
    """The last three tell things of equal rank apart: pods in logs, parts of a bar."""


class Text(NamedTuple):
    """A piece of text and what it means."""

    text: str
    role: Role = Role.PLAIN


@dataclass(frozen=True, slots=True)
class Style:
    """How roles show."""

    is_coloured: bool = False

    def paint(self, text: str, role: Role) -> str:
        """The text as its role shows; control characters in it, which may come from anybody, are made harmless."""
        clean = harmless(text)
        return f"{role.value}{clean}{_RESET}" if self.is_coloured and role.value and clean else clean

    def show(self, *parts: str | Text) -> str:
        """Several pieces, one after another."""
        return "".join(self.paint(part.text, part.role) if isinstance(part, Text) else harmless(part) for part in parts)


PLAIN = Style()
COLOURED = Style(is_coloured=True)


def style_of(stream: TextIO, environment: Mapping[str, str]) -> Style:
    """Colours for a terminal; none for a file, for `TERM=dumb`, or where NO_COLOR is set."""
    wanted = not environment.get("NO_COLOR") and environment.get("TERM", "dumb") != "dumb"
    return COLOURED if wanted and is_terminal(stream) else PLAIN


def is_terminal(stream: TextIO) -> bool:
    """Whether a person looks at this stream, as far as one can know."""
    try:
        return stream.isatty()
    except ValueError:
        return False


def harmless(text: str) -> str:
    """The text without anything that would move the cursor, colour the rest or end the line."""
    if text.isprintable():
        return text
    return "".join(_harmless(character) for character in text)


def _harmless(character: str) -> str:
    if character.isprintable():
        return character
    return " " if character.isspace() else "\ufffd" if ord(character) > 0x7F else "?"


def columns(text: str) -> int:
    """How many columns of a terminal a text takes: two for wide characters, none for marks."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def cut(text: str, width: int, ellipsis: str) -> str:
    """The text in at most so many columns, its end replaced where it is longer."""
    if columns(text) <= width:
        return text
    room = width - columns(ellipsis)
    if room < 0:
        return ellipsis[:width]
    kept = text[:room]
    while columns(kept) > room:
        kept = kept[:-1]
    return kept + ellipsis
