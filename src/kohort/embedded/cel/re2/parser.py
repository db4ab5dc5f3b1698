"""Regular expressions read by RE2's grammar: no look-around and no references back, for they have no linear machine."""

import re
from dataclasses import dataclass, replace

from kohort.embedded.cel.re2.classes import PERL, POSIX, folded, unicode_class
from kohort.embedded.cel.re2.syntax import (
    EMPTY,
    MAX_CODE,
    Alternation,
    Assertion,
    Chars,
    Place,
    RegexError,
    Repeat,
    Sequence,
    Tree,
    merged,
    negated,
)

MAX_REPEAT = 1000
MAX_DEPTH = 100

_CONTROL = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_ASSERTIONS: dict[str, Place] = {"A": "text start", "z": "text end", "b": "word edge", "B": "no word edge"}
_COUNT = re.compile(r"\{(\d+)(,(\d*))?\}")
_GROUP = re.compile(r"\(\?(?:P?<(?P<name>\w+)>|(?P<flags>[imsU]*)(?:-(?P<off>[imsU]+))?(?P<end>[:)]))")
_HEX = re.compile(r"x(?:([0-9a-fA-F]{2})|\{([0-9a-fA-F]{1,6})\})")
_PROPERTY = re.compile(r"[pP](?:\{(\^?)(\w+)\}|([A-Z]))")
_POSIX = re.compile(r"\[:(\^?)(\w+):\]")


@dataclass(frozen=True, slots=True)
class _Flags:
    ignores_case: bool = False
    is_multiline: bool = False
    dot_takes_newline: bool = False
    is_lazy: bool = False


_FLAGS = {"i": "ignores_case", "m": "is_multiline", "s": "dot_takes_newline", "U": "is_lazy"}


def parse(text: str) -> Tree:
    """The tree of an expression; raises `PatternError`."""
    parser = _Parser(text)
    tree = parser.choice()
    if parser.position < len(text):
        raise RegexError(f"unexpected ): `{text}`")
    return tree


class _Parser:
    def __init__(self, text: str) -> None:
        self.text, self.position, self.depth = text, 0, 0
        self.flags = _Flags()

    def peek(self) -> str:
        return self.text[self.position : self.position + 1]

    def take(self, wanted: str) -> bool:
        if self.text.startswith(wanted, self.position):
            self.position += len(wanted)
            return True
        return False

    def next(self) -> str:
        character = self.peek()
        if not character:
            raise RegexError(f"missing closing ]: `{self.text}`")
        self.position += 1
        return character

    def matched(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        match = pattern.match(self.text, self.position)
        if match:
            self.position = match.end()
        return match

    # Structure

    def choice(self) -> Tree:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise RegexError("expression nests too deeply")
        flags = self.flags
        options = [self.sequence()]
        while self.take("|"):
            options.append(self.sequence())
        self.flags = flags
        self.depth -= 1
        return options[0] if len(options) == 1 else Alternation(tuple(options))

    def sequence(self) -> Tree:
        parts: list[Tree] = []
        while self.peek() not in ("", "|", ")"):
            parts.append(self.repeated())
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def repeated(self) -> Tree:
        start = self.position
        part = self.atom()
        while (bounds := self.bounds()) is not None:
            is_lazy = self.take("?")
            if isinstance(part, Repeat) and self.text[start] not in "(":
                raise RegexError(f"invalid nested repetition operator: `{self.text[start : self.position]}`")
            part = Repeat(part, *bounds, is_greedy=is_lazy == self.flags.is_lazy)
        return part

    def bounds(self) -> tuple[int, int | None] | None:
        for sign, found in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self.take(sign):
                return found
        match = self.matched(_COUNT)
        if match is None:
            return None
        least = int(match[1])
        most = least if match[2] is None else (int(match[3]) if match[3] else None)
        if max(least, most or 0) > MAX_REPEAT or (most is not None and most < least):
            raise RegexError(f"invalid repeat count: `{match[0]}`")
        return least, most

    def atom(self) -> Tree:
        character = self.peek()
        if character == "(":
            return self.group()
        if character == "[":
            return self.folded(self.char_class())
        if character in "*+?":
            raise RegexError(f"missing argument to repetition operator: `{character}`")
        self.position += 1
        match character:
            case ".":
                newline = () if self.flags.dot_takes_newline else ((10, 10),)
                return Chars(negated(newline))
            case "^":
                return Assertion("line start" if self.flags.is_multiline else "text start")
            case "$":
                return Assertion("line end" if self.flags.is_multiline else "text end")
            case "\\":
                return self.escape()
        return self.folded(((ord(character), ord(character)),))

    def folded(self, ranges: tuple[tuple[int, int], ...]) -> Tree:
        return Chars(folded(ranges) if self.flags.ignores_case else ranges)

    def group(self) -> Tree:
        flags = self.flags
        if self.text.startswith("(?", self.position):
            match = self.matched(_GROUP)
            if match is None:
                raise RegexError(f"invalid or unsupported Perl syntax: `{self.text[self.position :][:4]}`")
            self.flags = self.changed(match["flags"] or "", match["off"] or "")
            if match["end"] == ")":
                return EMPTY
        else:
            self.position += 1
        inner = self.choice()
        if not self.take(")"):
            raise RegexError(f"missing closing ): `{self.text}`")
        self.flags = flags
        return inner

    def changed(self, on: str, off: str) -> _Flags:
        switches = {_FLAGS[each]: True for each in on} | {_FLAGS[each]: False for each in off}
        return replace(self.flags, **switches)

    # Characters

    def escape(self) -> Tree:
        if self.take("Q"):
            literal, _, rest = self.text[self.position :].partition("\\E")
            self.position = len(self.text) - len(rest)
            return Sequence(tuple(self.folded(((ord(each), ord(each)),)) for each in literal))
        if self.peek() in _ASSERTIONS:
            return Assertion(_ASSERTIONS[self.next()])
        return self.folded(self.escaped_ranges())

    def escaped_ranges(self) -> tuple[tuple[int, int], ...]:
        """What stands after a backslash, as ranges."""
        if match := self.matched(_PROPERTY):
            ranges = unicode_class(match[2] or match[3])
            return negated(ranges) if (match[0][0] == "P") != bool(match[1]) else ranges
        if self.peek().lower() in PERL:
            name = self.next()
            return PERL[name] if name in PERL else negated(PERL[name.lower()])
        code = self.escaped_code()
        return ((code, code),)

    def escaped_code(self) -> int:
        if match := self.matched(_HEX):
            code = int(match[1] or match[2], 16)
            if code <= MAX_CODE:
                return code
        character = self.peek()
        if character in _CONTROL and character:
            self.position += 1
            return _CONTROL[character]
        if match := self.matched(re.compile(r"0[0-7]{0,2}|[1-7][0-7]{1,2}")):
            return int(match[0], 8)
        if not character or character.isalnum():
            raise RegexError(f"invalid escape sequence: `\\{character}`" if character else "trailing backslash")
        self.position += 1
        return ord(character)

    def char_class(self) -> tuple[tuple[int, int], ...]:
        self.position += 1
        is_negated = self.take("^")
        ranges: list[tuple[int, int]] = []
        is_first = True
        while is_first or not self.take("]"):
            ranges += self.class_item()
            is_first = False
        found = merged(ranges)
        if self.flags.ignores_case:
            found = folded(found)
        return negated(found) if is_negated else found

    def class_item(self) -> tuple[tuple[int, int], ...]:
        if match := self.matched(_POSIX):
            if match[2] not in POSIX:
                raise RegexError(f"invalid character class range: `{match[0]}`")
            return negated(POSIX[match[2]]) if match[1] else POSIX[match[2]]
        low = self.class_end()
        if len(low) != 1 or low[0][0] != low[0][1]:
            return low
        if self.peek() != "-" or self.text.startswith("-]", self.position):
            return low
        self.position += 1
        high = self.class_end()
        if len(high) != 1 or high[0][1] < low[0][0]:
            raise RegexError(f"invalid character class range: `{self.text}`")
        return ((low[0][0], high[0][1]),)

    def class_end(self) -> tuple[tuple[int, int], ...]:
        character = self.next()
        if character == "\\":
            return self.escaped_ranges()
        return ((ord(character), ord(character)),)
