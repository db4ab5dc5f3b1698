"""Trees for Python's `re`, and which of them it handles in good time.

Python tries alternatives one after the other, so a repetition inside a repetition may cost time without end, and
several in a row cost time like a power of the text's length.
"""

import re
from collections.abc import Iterator

from kohort.embedded.cel.re2.syntax import Alternation, Assertion, Chars, Repeat, Sequence, Tree

MAX_OPEN_REPEATS = 2
_PLACES = {
    "text start": r"\A",
    "text end": r"\Z",
    "line start": r"(?m:^)",
    "line end": r"(?m:$)",
    "word edge": r"(?a:\b)",
    "no word edge": r"(?a:\B)",
}


def translated(tree: Tree) -> re.Pattern[str]:
    """The expression for Python."""
    return re.compile(_source(tree))


def _source(tree: Tree) -> str:
    match tree:
        case Chars():
            return f"[{''.join(map(_range, tree.ranges))}]" if tree.ranges else r"(?!)"
        case Assertion():
            return _PLACES[tree.place]
        case Sequence():
            return "".join(map(_source, tree.parts))
        case Alternation():
            return f"(?:{'|'.join(map(_source, tree.options))})"
        case Repeat():
            most = "" if tree.most is None else tree.most
            return f"(?:{_source(tree.part)}){{{tree.least},{most}}}{'' if tree.is_greedy else '?'}"


def _range(limits: tuple[int, int]) -> str:
    return f"\\U{limits[0]:08x}" if limits[0] == limits[1] else f"\\U{limits[0]:08x}-\\U{limits[1]:08x}"


def is_harmless(tree: Tree) -> bool:
    """Whether the time that Python takes for a short text has a bearable bound."""
    return _open_repeats(tree) <= MAX_OPEN_REPEATS and not _nests(tree)


def _below(tree: Tree) -> tuple[Tree, ...]:
    match tree:
        case Sequence():
            return tree.parts
        case Alternation():
            return tree.options
        case Repeat():
            return (tree.part,)
    return ()


def _open_repeats(tree: Tree) -> int:
    own = isinstance(tree, Repeat) and (tree.most is None or tree.most - tree.least > 1) and not _is_unique(tree)
    return own + sum(map(_open_repeats, _below(tree)))


def _nests(tree: Tree) -> bool:
    """Whether a repetition contains another, or a choice, so that there are many ways to divide a text into rounds."""
    if isinstance(tree, Repeat) and tree.most not in (0, 1) and _varies(tree.part) and not _is_unique(tree):
        return True
    return any(map(_nests, _below(tree)))


def _varies(tree: Tree) -> bool:
    varies = isinstance(tree, Alternation) or (isinstance(tree, Repeat) and tree.least != tree.most)
    return varies or any(map(_varies, _below(tree)))


def _is_unique(tree: Repeat) -> bool:
    """Whether every round starts with a character that can't stand elsewhere in it, as in `(\\.[a-z]+)*`."""
    if not isinstance(tree.part, Sequence) or not isinstance(tree.part.parts[0], Chars):
        return False
    first, *rest = tree.part.parts
    return not any(_overlap(first, each) for part in rest for each in _chars(part))


def _chars(tree: Tree) -> Iterator[Chars]:
    if isinstance(tree, Chars):
        yield tree
    for below in _below(tree):
        yield from _chars(below)


def _overlap(left: Tree, right: Chars) -> bool:
    ranges = left.ranges if isinstance(left, Chars) else ()
    return any(low <= top and bottom <= high for low, high in ranges for bottom, top in right.ranges)
