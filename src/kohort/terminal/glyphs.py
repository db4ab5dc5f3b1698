"""Symbols beyond letters, each with an ASCII replacement for terminals without Unicode."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TextIO


@dataclass(frozen=True, slots=True)
class Glyphs:
    """One set of symbols."""

    full: str
    half: str
    empty: str
    mark: str
    ellipsis: str
    tick: str
    cross: str
    dot: str
    arrow: str
    branch: str
    last: str
    trunk: str

    def plain(self, text: str) -> str:
        """The text with characters outside the encoding of this set replaced."""
        return text if self is UNICODE else "".join(map(_plain, text))


UNICODE = Glyphs("█", "▓", "░", "│", "…", "✓", "✗", "·", "→", "├─ ", "└─ ", "│  ")
ASCII = Glyphs("#", "+", ".", "|", "...", "ok", "no", "-", "->", "|- ", "`- ", "|  ")

_BARE_LOCALES = ("C", "POSIX")
_STAND_INS = {
    getattr(UNICODE, name).strip(): getattr(ASCII, name).strip()
    for name in ("ellipsis", "tick", "cross", "dot", "arrow", "full", "half", "empty", "mark")
}


def _plain(character: str) -> str:
    return character if character.isascii() else _STAND_INS.get(character, "?")


def glyphs_of(stream: TextIO, environment: Mapping[str, str]) -> Glyphs:
    """Unicode symbols if the stream can encode them and the locale does not restrict characters to ASCII."""
    if _locale(environment) in _BARE_LOCALES:
        return ASCII
    try:
        (UNICODE.full + UNICODE.tick + UNICODE.branch).encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return UNICODE


def _locale(environment: Mapping[str, str]) -> str:
    """The locale that decides on characters; Python writes UTF-8 in the C locale too, even if the terminal cannot."""
    return next((found for name in ("LC_ALL", "LC_CTYPE", "LANG") if (found := environment.get(name))), "")
