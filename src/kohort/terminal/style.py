"""Colours by role, on only where a person looks: commands say what a word means, and this module how that shows.

Terminals draw the sixteen named colours as their theme has them, and many a yellow can't be read on white. Where 256
colours are to be had, each role has a shade that stands out on white as well as on black.
"""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple, TextIO

_RESET = "\x1b[0m"
_PAINT: Final = re.compile(r"\x1b\[[0-9;]*m")


class Role(Enum):
    """What a piece of text means to the reader; the value shows it in the colours that every terminal has."""

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


SHADES: Final[Mapping[Role, int]] = {
    Role.DIM: 243,
    Role.GOOD: 28,
    Role.WARN: 166,
    Role.BAD: 160,
    Role.ACCENT: 30,
    Role.SECOND: 133,
    Role.THIRD: 32,
}
"""Of the 256 colours, which no theme changes."""


class Text(NamedTuple):
    """A piece of text and what it means."""

    text: str
    role: Role = Role.PLAIN


class Colours(Enum):
    """What a terminal can show."""

    NONE = 0
    NAMED = 16
    SHADES = 256


@dataclass(frozen=True, slots=True)
class Style:
    """How roles show."""

    colours: Colours = Colours.NONE

    def paint(self, text: str, role: Role) -> str:
        """The text as its role shows; control characters in it, which may come from anybody, are made harmless."""
        clean = strip_control_sequences(text)
        code = self._code(role) if clean else ""
        return f"{code}{clean}{_RESET}" if code else clean

    def show(self, *parts: str | Text) -> str:
        """Several pieces, one after another."""
        return "".join(
            self.paint(part.text, part.role) if isinstance(part, Text) else strip_control_sequences(part)
            for part in parts
        )

    def _code(self, role: Role) -> str:
        if self.colours is Colours.NONE:
            return ""
        shade = SHADES.get(role) if self.colours is Colours.SHADES else None
        return role.value if shade is None else f"\x1b[38;5;{shade}m"


PLAIN = Style()
COLOURED = Style(Colours.NAMED)
SHADED = Style(Colours.SHADES)


def style_of(stream: TextIO, environment: Mapping[str, str]) -> Style:
    """Colours for a terminal, as many as it has; none for a file, for `TERM=dumb`, or where NO_COLOR is set."""
    if environment.get("NO_COLOR") or not can_draw(stream, environment):
        return PLAIN
    return (
        SHADED
        if "256color" in environment["TERM"] or environment.get("COLORTERM") in ("truecolor", "24bit")
        else COLOURED
    )


def can_draw(stream: TextIO, environment: Mapping[str, str]) -> bool:
    """Whether this is a terminal that does more than write one line below another."""
    return is_terminal(stream) and environment.get("TERM", "dumb") != "dumb"


def unpainted(text: str) -> str:
    """A text that was painted, without its colours."""
    return _PAINT.sub("", text)


def is_terminal(stream: TextIO) -> bool:
    """Whether a person looks at this stream, as far as one can know."""
    try:
        return stream.isatty()
    except ValueError:
        return False


def strip_control_sequences(text: str) -> str:
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
