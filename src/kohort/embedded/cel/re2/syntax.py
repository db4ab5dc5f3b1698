"""The tree of a regular expression."""

from dataclasses import dataclass
from typing import Literal

MAX_CODE = 0x10FFFF


class RegexError(ValueError):
    """Not a regular expression that RE2 takes."""


@dataclass(frozen=True, slots=True)
class Chars:
    """One character out of some ranges of codes, sorted and apart."""

    ranges: tuple[tuple[int, int], ...]

    def has(self, character: str) -> bool:
        """Whether the character is one of them."""
        code = ord(character)
        return any(low <= code <= high for low, high in self.ranges)


Place = Literal["text start", "text end", "line start", "line end", "word edge", "no word edge"]


@dataclass(frozen=True, slots=True)
class Assertion:
    """A place between characters."""

    place: Place


@dataclass(frozen=True, slots=True)
class Sequence:
    """One part after another."""

    parts: tuple["Tree", ...]


@dataclass(frozen=True, slots=True)
class Alternation:
    """One of several, the first preferred."""

    options: tuple["Tree", ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """A part so many times; `most` is None when there is no bound."""

    part: "Tree"
    least: int
    most: int | None
    is_greedy: bool = True


Tree = Chars | Assertion | Sequence | Alternation | Repeat

EMPTY = Sequence(())


def merged(ranges: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """The ranges sorted, with those that touch made one."""
    made: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if made and low <= made[-1][1] + 1:
            made[-1] = (made[-1][0], max(made[-1][1], high))
        else:
            made.append((low, high))
    return tuple(made)


def negated(ranges: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    """All codes that are not in the ranges."""
    made, start = [], 0
    for low, high in ranges:
        if start < low:
            made.append((start, low - 1))
        start = high + 1
    return (*made, (start, MAX_CODE)) if start <= MAX_CODE else tuple(made)
