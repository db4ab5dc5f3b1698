"""Regular expressions with the syntax and meaning that Kubernetes gives them (RE2's)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache


class PatternError(ValueError):
    """Not a regular expression that RE2 takes."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled expression."""

    compiled: re.Pattern[str]

    def matches(self, text: str) -> bool:
        """Whether any part of the text matches."""
        return self.compiled.search(text) is not None

    def found(self, text: str) -> Iterator[str]:
        """All matches, from left to right."""
        return (match[0] for match in self.compiled.finditer(text))


@lru_cache(maxsize=1024)
def compile_pattern(text: str) -> Pattern:
    """The pattern of a text; raises `PatternError`."""
    try:
        return Pattern(re.compile(text))
    except re.error as error:
        raise PatternError(str(error)) from None
