"""Regular expressions of CEL and of schemas, by RE2: its syntax, and time linear in the text.

RE2 is the library that Go's `regexp` follows, so that the same expressions are accepted; errors have Go's texts.
"""

from collections.abc import Iterator
from functools import lru_cache

_GO_TEXTS = {
    "bad repetition operator": "invalid nested repetition operator",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid repetition size": "invalid repeat count",
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "no argument for repetition operator": "missing argument to repetition operator",
    "trailing \\": "trailing backslash at end of expression",
}


class RegexError(ValueError):
    """RE2 does not accept the expression."""


class Re2Pattern:
    """A compiled expression."""

    def __init__(self, text: str) -> None:
        import re2  # of the extra `up`: only the API server needs it

        options = re2.Options()
        options.log_errors = False
        options.never_capture = True
        try:
            self._compiled = re2.compile(text, options)
        except re2.error as error:
            raise RegexError(_go_text(error.args[0])) from None
        except UnicodeEncodeError:
            raise RegexError("invalid UTF-8") from None
        self._search = self._compiled.search

    def matches(self, text: str) -> bool:
        """Whether any part of the text matches."""
        # Bytes spare RE2 the conversion of offsets.
        return self._search(text.encode()) is not None

    def found(self, text: str) -> Iterator[str]:
        """All matches, from left to right; an empty match right after another one does not count."""
        last_end = -1
        for match in self._compiled.finditer(text):
            start, end = match.span()
            if end > start or start != last_end:
                yield match.group()
            last_end = end


def _go_text(error: bytes) -> str:
    code, separator, part = error.decode(errors="replace").partition(": ")
    return _GO_TEXTS.get(code, code) + (f": `{part}`" if separator else "")


@lru_cache(maxsize=1024)
def compile_pattern(text: str) -> Re2Pattern:
    """The pattern of a text; raises `RegexError`."""
    return Re2Pattern(text)
