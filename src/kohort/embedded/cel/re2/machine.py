"""A machine that reads a text once: all ways through the expression are followed at the same time."""

from collections.abc import Iterator
from dataclasses import dataclass

from kohort.embedded.cel.re2.classes import PERL
from kohort.embedded.cel.re2.syntax import Alternation, Assertion, Chars, Place, RegexError, Repeat, Sequence, Tree

MAX_SIZE = 20_000
MAX_TRANSITIONS = 20_000

_WORD = Chars(PERL["w"])


@dataclass(slots=True)
class _Node:
    """A step: characters or a place to be met, then on to `ways`, the preferred first; without ways it is the end."""

    demand: Chars | Place | None
    ways: tuple[int, ...] = ()


States = tuple[int, ...]
"""Nodes at which the machine stands at once, the preferred first."""


class Machine:
    """An expression as a graph of steps."""

    def __init__(self, tree: Tree) -> None:
        self.nodes: list[_Node] = []
        self.end = self._add(_Node(None))
        self.start = self._build(tree, self.end)
        self._transitions: dict[tuple[States, str, str], States | None] = {}

    # Building, from the end to the start

    def _add(self, node: _Node) -> int:
        if len(self.nodes) >= MAX_SIZE:
            raise RegexError("expression too large")
        self.nodes.append(node)
        return len(self.nodes) - 1

    def _build(self, tree: Tree, after: int) -> int:
        match tree:
            case Chars():
                return self._add(_Node(tree, (after,)))
            case Assertion():
                return self._add(_Node(tree.place, (after,)))
            case Sequence():
                for part in reversed(tree.parts):
                    after = self._build(part, after)
                return after
            case Alternation():
                return self._add(_Node(None, tuple(self._build(each, after) for each in tree.options)))
            case Repeat():
                return self._repeat(tree, after)

    def _repeat(self, tree: Repeat, after: int) -> int:
        if tree.most is None:
            loop = self._add(_Node(None))
            inner = self._build(tree.part, loop)
            self.nodes[loop].ways = (inner, after) if tree.is_greedy else (after, inner)
            after = loop
        else:
            skip = after
            for _ in range(tree.most - tree.least):
                inner = self._build(tree.part, after)
                after = self._add(_Node(None, (inner, skip) if tree.is_greedy else (skip, inner)))
        for _ in range(tree.least):
            after = self._build(tree.part, after)
        return after

    # Running

    def _reached(self, states: States, before: str, following: str) -> list[int]:
        """The nodes with characters (or the end) that can be reached between two characters, preferred first."""
        found: list[int] = []
        seen: set[int] = set()
        stack = list(reversed(states))
        while stack:
            index = stack.pop()
            if index in seen:
                continue
            seen.add(index)
            node = self.nodes[index]
            if isinstance(node.demand, Chars) or index == self.end:
                found.append(index)
            elif node.demand is None or _is_at(node.demand, before, following):
                stack.extend(reversed(node.ways))
        return found

    def matches(self, text: str) -> bool:
        """Whether any part of the text matches."""
        states: States = (self.start,)
        before = ""
        transitions = self._transitions
        for character in text:
            key = (states, before, character)
            following = transitions[key] if key in transitions else self._remembered(key)
            if following is None:
                return True
            states, before = following, character
        return self.end in self._reached(states, before, "")

    def _remembered(self, key: tuple[States, str, str]) -> States | None:
        if len(self._transitions) >= MAX_TRANSITIONS:
            self._transitions.clear()
        self._transitions[key] = following = self._following(*key)
        return following

    def _following(self, states: States, before: str, character: str) -> States | None:
        """Where the machine stands after a character, a new try included; None when a match is complete."""
        reached = self._reached(states, before, character)
        if self.end in reached:
            return None
        taken = {way for index in reached for way in self._taken(index, character)}
        return tuple(sorted(taken | {self.start}))

    def _taken(self, index: int, character: str) -> tuple[int, ...]:
        node = self.nodes[index]
        return node.ways if isinstance(node.demand, Chars) and node.demand.has(character) else ()

    def found(self, text: str) -> Iterator[str]:
        """All matches, from left to right; an empty one right after another match does not count."""
        position, last_end = 0, -1
        while position <= len(text):
            span = self._first(text, position)
            if span is None:
                return
            start, end = span
            if end > start or start != last_end:
                yield text[start:end]
            last_end = end
            position = end if end > start else end + 1

    def _first(self, text: str, position: int) -> tuple[int, int] | None:
        """The leftmost match from a position on; of several there, the preferred one."""
        threads: list[tuple[int, int]] = []
        best: tuple[int, int] | None = None
        for place in range(position, len(text) + 1):
            before, character = text[place - 1 : place] if place else "", text[place : place + 1]
            if best is None:
                threads.append((self.start, place))
            following: list[tuple[int, int]] = []
            seen: set[int] = set()
            for state, start in threads:
                for index in self._reached((state,), before, character):
                    if index in seen:
                        continue
                    seen.add(index)
                    if index == self.end:
                        best = (start, place)
                        break
                    following += [(way, start) for way in self._taken(index, character)] if character else []
                if best is not None and best[1] == place:
                    break
            threads = following
            if not threads and best is not None:
                return best
        return best


def _is_at(place: Place, before: str, following: str) -> bool:
    match place:
        case "text start":
            return not before
        case "text end":
            return not following
        case "line start":
            return before in ("", "\n")
        case "line end":
            return following in ("", "\n")
    is_edge = (bool(before) and _WORD.has(before)) != (bool(following) and _WORD.has(following))
    return is_edge == (place == "word edge")
