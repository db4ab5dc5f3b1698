"""Regular expressions with RE2's syntax and its promise: time grows with the text, whatever the expression.

text ─► parser ─► tree ─┬─► Python's `re`, where it can't run away
                        └─► a machine of our own, where it could
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from kohort.embedded.cel.re2.machine import Machine
from kohort.embedded.cel.re2.parser import parse
from kohort.embedded.cel.re2.syntax import PatternError
from kohort.embedded.cel.re2.translation import is_harmless, translated

__all__ = ["Pattern", "PatternError", "compile_pattern"]


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled expression."""

    matches: Callable[[str], bool]
    """Whether any part of the text matches."""
    found: Callable[[str], Iterator[str]]
    """All matches, from left to right."""


@lru_cache(maxsize=1024)
def compile_pattern(text: str) -> Pattern:
    """The pattern of a text; raises `PatternError`."""
    try:
        tree = parse(text)
        if is_harmless(tree):
            expression = translated(tree)
            search, finditer = expression.search, expression.finditer
            return Pattern(lambda text: search(text) is not None, lambda text: (match[0] for match in finditer(text)))
        machine = Machine(tree)
    except RecursionError:
        raise PatternError("expression nests too deeply") from None
    return Pattern(machine.matches, machine.found)
