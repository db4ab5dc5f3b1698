"""Colours by role, enabled on terminals only: commands set the role of a text, this module its appearance.

Themes redefine the sixteen named colours, and a yellow is often unreadable on white. With 256 colours each role has a
shade that is readable on white and on black.
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
    """The meaning of a text; the value is its appearance in the sixteen colours of every terminal."""

    PLAIN = ""
    TITLE = "\x1b[1m"
    DIM = "\x1b[2m"
    GOOD = "\x1b[32m"
    WARN = "\x1b[33m"
    BAD = "\x1b[31m"
    ACCENT = "\x1b[36m"
    SECOND = "\x1b[35m"
    THIRD = "\x1b[34m"
    """The last three distinguish items of equal rank: pods in logs, parts of a bar."""


SHADES: Final[Mapping[Role, int]] = {
    Role.DIM: 243,
    Role.GOOD: 28,
    Role.WARN: 166,
    Role.BAD: 160,
    Role.ACCENT: 30,
    Role.SECOND: 133,
    Role.THIRD: 32,
}
"""Shades of the 256-colour palette, which no theme changes."""


class Text(NamedTuple):
    """A text and its role."""

    text: str
    role: Role = Role.PLAIN


class Colours(Enum):
    """The colours that a terminal supports."""

    NONE = 0
    NAMED = 16
    SHADES = 256


@dataclass(frozen=True, slots=True)
class Style:
    """How roles are shown."""

    colours: Colours = Colours.NONE

    def paint(self, text: str, role: Role) -> str:
        """The text in the colour of its role; control characters, which may come from any user, are replaced."""
        clean = strip_control_sequences(text)
        code = self._code(role) if clean else ""
        return f"{code}{clean}{_RESET}" if code else clean

    def show(self, *parts: str | Text) -> str:
        """Concatenates texts."""
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
    """The colours that the terminal supports; none for a file, for `TERM=dumb`, or if NO_COLOR is set."""
    if environment.get("NO_COLOR") or not can_draw(stream, environment):
        return PLAIN
    return (
        SHADED
        if "256color" in environment["TERM"] or environment.get("COLORTERM") in ("truecolor", "24bit")
        else COLOURED
    )


def can_draw(stream: TextIO, environment: Mapping[str, str]) -> bool:
    """Whether the stream is a terminal with cursor control."""
    return is_terminal(stream) and environment.get("TERM", "dumb") != "dumb"


def unpainted(text: str) -> str:
    """The text without colour codes."""
    return _PAINT.sub("", text)


def is_terminal(stream: TextIO) -> bool:
    """Whether the stream is a terminal."""
    try:
        return stream.isatty()
    except ValueError:
        return False


def strip_control_sequences(text: str) -> str:
    """The text without control characters, which could move the cursor, change colours or end the line."""
    if text.isprintable():
        return text
    return "".join(_harmless(character) for character in text)


def _harmless(character: str) -> str:
    if character.isprintable():
        return character
    return " " if character.isspace() else "\ufffd" if ord(character) > 0x7F else "?"


def columns(text: str) -> int:
    """The width of a text in terminal columns: two for wide characters, none for combining marks."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def cut(text: str, width: int, ellipsis: str) -> str:
    """Truncates a text to that many columns, with the ellipsis at its end."""
    if columns(text) <= width:
        return text
    available = width - columns(ellipsis)
    if available < 0:
        return ellipsis[:width]
    kept = text[:available]
    while columns(kept) > available:
        kept = kept[:-1]
    return kept + ellipsis
