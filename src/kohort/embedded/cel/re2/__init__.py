"""Regular expressions with RE2's syntax and its promise: time grows with the text, whatever the expression.

text ─► parser ─► tree ─┬─► Python's `re`, where it can't run away
                        └─► a machine of our own, where it could
"""

from collections.abc import Iterator
from functools import cached_property, lru_cache

from kohort.embedded.cel.re2.machine import Machine
from kohort.embedded.cel.re2.parser import parse
from kohort.embedded.cel.re2.syntax import RegexError, Tree
from kohort.embedded.cel.re2.translation import is_harmless, translated

__all__ = ["Re2Pattern", "RegexError", "compile_pattern"]


SHORT = 256
"""Texts up to here are Python's where the expression is harmless."""


class Re2Pattern:
    """A compiled expression."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._python = translated(tree) if is_harmless(tree) else None

    @cached_property
    def _machine(self) -> Machine:
        return Machine(self._tree)

    def matches(self, text: str) -> bool:
        """Whether any part of the text matches."""
        if self._python is not None and len(text) <= SHORT:
            return self._python.search(text) is not None
        return self._machine.matches(text)

    def found(self, text: str) -> Iterator[str]:
        """All matches, from left to right."""
        if self._python is not None and len(text) <= SHORT:
            return (match[0] for match in self._python.finditer(text))
        return self._machine.found(text)


@lru_cache(maxsize=1024)
def compile_pattern(text: str) -> Re2Pattern:
    """The pattern of a text; raises `PatternError`."""
    try:
        tree = parse(text)
        # A machine that would be too large is refused now rather than when a text comes.
        Machine(tree)
        return Re2Pattern(tree)
    except RecursionError:
        raise RegexError("expression nests too deeply") from None
