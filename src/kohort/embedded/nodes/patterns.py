"""Texts that differ from node to node: `rack-{0..15}` gives racks to many nodes, as one would number them by hand.

All places of all texts form one mixed number, the first place its highest digit; the nodes are dealt out evenly over
its values, neighbours together. So hierarchies come out as hierarchies, whatever the number of nodes.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from kohort.api.errors import ApiError

NODE = "node"
"""The place that stands for the number of the node."""
_MOST_VALUES = 100_000
_BRACES = re.compile(r"\{([^{}]*)\}")
_PLACE = re.compile(r"(?:(?P<name>[a-z][a-z0-9]*):)?(?:(?P<first>[0-9]{1,9})\.\.(?P<last>[0-9]{1,9})|(?P<words>[^:]*))")


class NodePatternError(ApiError):
    """A pattern that can't be read; says which and why."""


@dataclass(frozen=True, slots=True)
class PatternDigit:
    """One digit of the mixed number."""

    name: str
    values: Sequence[str]


@dataclass(frozen=True, slots=True)
class Patterns:
    """Texts with places, by key."""

    texts_by_key: Mapping[str, tuple[str, ...]]
    """Literal text and names of places in turn, starting with text."""
    places: tuple[PatternDigit, ...]

    @classmethod
    def parse(cls, texts: Mapping[str, str]) -> "Patterns":
        """Read the texts in their order; raises PatternError."""
        places: dict[str, PatternDigit] = {}
        parsed = {key: tuple(_parts(text, places)) for key, text in texts.items()}
        used = {part for parts in parsed.values() for part in parts[1::2]}
        for name in sorted(used - {NODE} - places.keys()):
            known = ", ".join(f"{{{each}}}" for each in (NODE, *filter(str.isidentifier, places)))
            raise NodePatternError(
                f"{{{name}}} stands for nothing: use one of {known}, or give values as {{{name}:0..9}}"
            )
        if prod(len(place.values) for place in places.values()) > _MOST_VALUES:
            raise NodePatternError(f"the ranges have more than {_MOST_VALUES} combinations")
        return cls(parsed, tuple(places.values()))

    def texts(self, number: int, count: int) -> dict[str, str]:
        """The texts of one node of so many."""
        values = self._values(number, count)
        return {key: "".join(_filled(parts, values)) for key, parts in self.texts_by_key.items()}

    def _values(self, number: int, count: int) -> dict[str, str]:
        rest = number * prod(len(place.values) for place in self.places) // count
        values = {NODE: str(number)}
        for place in reversed(self.places):
            rest, digit = divmod(rest, len(place.values))
            values[place.name] = place.values[digit]
        return values


def _parts(text: str, places: dict[str, PatternDigit]) -> list[str]:
    parts = _BRACES.split(text)
    if any("{" in part or "}" in part for part in parts[::2]):
        raise NodePatternError(f'"{text}" has a brace without its partner')
    parts[1::2] = [_place(part, text, places) for part in parts[1::2]]
    return parts


def _place(inner: str, text: str, places: dict[str, PatternDigit]) -> str:
    """The name under which the place's value is found."""
    read = _PLACE.fullmatch(inner)
    if read is None:
        raise NodePatternError(f'"{text}": write {{0..15}}, {{a|b|c}}, {{rack:0..15}}, {{rack}} or {{{NODE}}}')
    if read["first"] is None and read["name"] is None and "|" not in inner:
        return inner
    name = read["name"] or f"{len(places)}: {inner}"
    if name in places or name == NODE:
        raise NodePatternError(f'"{text}": {{{name}:…}} has its values already; refer to it as {{{name}}}')
    places[name] = PatternDigit(
        name, _range(read["first"], read["last"], text) if read["first"] else _words(read["words"], text)
    )
    return name


def _range(first: str, last: str, text: str) -> Sequence[str]:
    low, high = int(first), int(last)
    if not 0 <= high - low < _MOST_VALUES:
        raise NodePatternError(f'"{text}": {first}..{last} must go upwards, and not further than {_MOST_VALUES} values')
    width = len(first) if first.startswith("0") and len(first) > 1 else 0
    return [str(number).zfill(width) for number in range(low, high + 1)]


def _words(words: str, text: str) -> Sequence[str]:
    found = words.split("|")
    if len(set(found)) < len(found) or not all(found):
        raise NodePatternError(f'"{text}": give different words between the bars')
    return found


def _filled(parts: Sequence[str], values: Mapping[str, str]) -> list[str]:
    return [values[part] if index % 2 else part for index, part in enumerate(parts)]
