"""Classes of characters by name."""

import sys
import unicodedata
from functools import lru_cache

from kohort.embedded.cel.re2.syntax import RegexError, merged

Ranges = tuple[tuple[int, int], ...]


def _of(*parts: str) -> Ranges:
    return merged([(ord(part[0]), ord(part[-1])) for part in parts])


PERL: dict[str, Ranges] = {"d": _of("0-9"), "s": _of("\t-\n", "\f-\r", " "), "w": _of("0-9", "A-Z", "_", "a-z")}
POSIX: dict[str, Ranges] = {
    "alnum": _of("0-9", "A-Z", "a-z"),
    "alpha": _of("A-Z", "a-z"),
    "ascii": ((0, 127),),
    "blank": _of("\t", " "),
    "cntrl": ((0, 31), (127, 127)),
    "digit": _of("0-9"),
    "graph": _of("!-~"),
    "lower": _of("a-z"),
    "print": _of(" -~"),
    "punct": _of("!-/", ":-@", "[-`", "{-~"),
    "space": _of("\t-\r", " "),
    "upper": _of("A-Z"),
    "word": PERL["w"],
    "xdigit": _of("0-9", "A-F", "a-f"),
}


@lru_cache(maxsize=64)
def unicode_class(name: str) -> Ranges:
    """A general category of Unicode, such as `L` or `Lu`."""
    if name == "Any":
        return ((0, sys.maxunicode),)
    known = {"L", "M", "N", "P", "S", "Z", "C"}
    if name[:1] not in known or len(name) > 2:
        raise RegexError(f"invalid character class range: `\\p{{{name}}}`")
    codes = (code for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)).startswith(name))
    return merged([(code, code) for code in codes])


def folded(ranges: Ranges) -> Ranges:
    """The ranges with both cases of every letter in them; beyond Latin only where ranges are short."""
    made = list(ranges)
    for low, high in ranges:
        for code in range(low, min(high, low + 1024) + 1):
            made += [(ord(each), ord(each)) for each in (chr(code).lower(), chr(code).upper()) if len(each) == 1]
    return merged(made)
