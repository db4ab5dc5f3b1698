"""Patterns for per-node text: `rack-{0..15}` assigns racks to nodes.

All placeholders of all texts form one mixed-radix number, the first placeholder being its highest digit; nodes are
distributed evenly over its values in order. So hierarchies come out as hierarchies for any number of nodes.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from kohort.api.errors import ApiError

NODE = "node"
"""Placeholder for the index of the node."""
_MAX_VALUES = 100_000
_BRACES = re.compile(r"\{([^{}]*)\}")
_PLACEHOLDER = re.compile(
    r"(?:(?P<name>[a-z][a-z0-9]*):)?(?:(?P<first>[0-9]{1,9})\.\.(?P<last>[0-9]{1,9})|(?P<words>[^:]*))"
)


class NodePatternError(ApiError):
    """An invalid pattern; states which and why."""


@dataclass(frozen=True, slots=True)
class PatternDigit:
    """One digit of the mixed-radix number."""

    name: str
    values: Sequence[str]


@dataclass(frozen=True, slots=True)
class Patterns:
    """Texts with placeholders, by key."""

    texts_by_key: Mapping[str, tuple[str, ...]]
    """Alternating literal text and placeholder names, starting with text."""
    digits: tuple[PatternDigit, ...]

    @classmethod
    def parse(cls, texts: Mapping[str, str]) -> "Patterns":
        """Parses the texts in order; raises NodePatternError."""
        digits: dict[str, PatternDigit] = {}
        parsed = {key: tuple(_parts(text, digits)) for key, text in texts.items()}
        used = {part for parts in parsed.values() for part in parts[1::2]}
        for name in sorted(used - {NODE} - digits.keys()):
            known = ", ".join(f"{{{each}}}" for each in (NODE, *filter(str.isidentifier, digits)))
            raise NodePatternError(
                f"undefined placeholder {{{name}}}: use one of {known}, or give values as {{{name}:0..9}}"
            )
        if prod(len(digit.values) for digit in digits.values()) > _MAX_VALUES:
            raise NodePatternError(f"the ranges have more than {_MAX_VALUES} combinations")
        return cls(parsed, tuple(digits.values()))

    def texts(self, number: int, count: int) -> dict[str, str]:
        """The texts of one of `count` nodes."""
        values = self._values(number, count)
        return {key: "".join(_filled(parts, values)) for key, parts in self.texts_by_key.items()}

    def _values(self, number: int, count: int) -> dict[str, str]:
        rest = number * prod(len(digit.values) for digit in self.digits) // count
        values = {NODE: str(number)}
        for digit in reversed(self.digits):
            rest, index = divmod(rest, len(digit.values))
            values[digit.name] = digit.values[index]
        return values


def _parts(text: str, digits: dict[str, PatternDigit]) -> list[str]:
    parts = _BRACES.split(text)
    if any("{" in part or "}" in part for part in parts[::2]):
        raise NodePatternError(f'"{text}": unmatched brace')
    parts[1::2] = [_digit(part, text, digits) for part in parts[1::2]]
    return parts


def _digit(inner: str, text: str, digits: dict[str, PatternDigit]) -> str:
    """Parses a placeholder and returns the name of its value."""
    read = _PLACEHOLDER.fullmatch(inner)
    if read is None:
        raise NodePatternError(f'"{text}": write {{0..15}}, {{a|b|c}}, {{rack:0..15}}, {{rack}} or {{{NODE}}}')
    if read["first"] is None and read["name"] is None and "|" not in inner:
        return inner
    name = read["name"] or f"{len(digits)}: {inner}"
    if name in digits or name == NODE:
        raise NodePatternError(f'"{text}": duplicate {{{name}:…}}; refer to it as {{{name}}}')
    digits[name] = PatternDigit(
        name, _range(read["first"], read["last"], text) if read["first"] else _words(read["words"], text)
    )
    return name


def _range(first: str, last: str, text: str) -> Sequence[str]:
    low, high = int(first), int(last)
    if not 0 <= high - low < _MAX_VALUES:
        raise NodePatternError(f'"{text}": {first}..{last} must ascend and have at most {_MAX_VALUES} values')
    width = len(first) if first.startswith("0") and len(first) > 1 else 0
    return [str(number).zfill(width) for number in range(low, high + 1)]


def _words(words: str, text: str) -> Sequence[str]:
    found = words.split("|")
    if len(set(found)) < len(found) or not all(found):
        raise NodePatternError(f'"{text}": alternatives must be distinct and not empty')
    return found


def _filled(parts: Sequence[str], values: Mapping[str, str]) -> list[str]:
    return [values[part] if index % 2 else part for index, part in enumerate(parts)]
