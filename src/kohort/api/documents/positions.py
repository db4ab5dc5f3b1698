"""Positions in a file, and errors with a position.

A mark is one integer (line and column), because a file may have millions of values, each with a mark.
"""

import re
from array import array
from bisect import bisect_right

from kohort.api.errors import DocumentError

_COLUMN_BITS = 16
_LAST_COLUMN = (1 << _COLUMN_BITS) - 1

Mark = int
Position = Mark | tuple[Mark, "Children"]
"""The position of a value; for objects and arrays with the positions of their members or items."""
Children = dict[str, Position] | list[Position]


def mark_at(line: int, column: int) -> Mark:
    """Pack a line and a column, both counted from 1; columns end at 65535."""
    return line << _COLUMN_BITS | (column if column < _LAST_COLUMN else _LAST_COLUMN)


FIRST_MARK = mark_at(1, 1)


def line_and_column(mark: Mark) -> tuple[int, int]:
    """The inverse of `mark_at`."""
    return mark >> _COLUMN_BITS, mark & _LAST_COLUMN


def mark_of(place: Position) -> Mark:
    """The mark of a value."""
    return place if isinstance(place, int) else place[0]


def children_of(place: Position) -> Children:
    """The positions inside a value; none for scalars and empty collections."""
    return [] if isinstance(place, int) else place[1]


def inner_place(place: Position, key: str | int) -> Position:
    """The position of a member or item, or of the value itself if that is not known."""
    children = children_of(place)
    if isinstance(children, dict):
        return children.get(key, place) if isinstance(key, str) else place
    return children[key] if isinstance(key, int) and key < len(children) else place


class LineIndex:
    """Maps offsets of a text to marks."""

    def __init__(self, text: str) -> None:
        self._starts = array("Q", [0])
        self._starts.extend(newline.end() for newline in re.finditer("\n", text))

    def mark(self, offset: int) -> Mark:
        """The mark of the character at this offset."""
        line = bisect_right(self._starts, offset)
        return mark_at(line, offset - self._starts[line - 1] + 1)


def problem(message: str, file: str, mark: Mark) -> DocumentError:
    """The error for a problem at a mark; the message is made one printable line."""
    line, column = line_and_column(mark)
    return DocumentError(one_line(message), file=file, line=line, column=column)


def one_line(text: str) -> str:
    """The text with line breaks and control characters escaped."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
