"""Where things stand in a file: marks, and the errors that name them.

A mark is one integer (line and column packed), because there is one for every value of a file that may hold millions.
"""

import re
from array import array
from bisect import bisect_right

from kohort.api.errors import DocumentError

_COLUMN_BITS = 16
_LAST_COLUMN = (1 << _COLUMN_BITS) - 1

Mark = int
Place = Mark | tuple[Mark, "Children"]
"""Where a value stands; one that is not empty also knows where its members or items stand."""
Children = dict[str, Place] | list[Place]


def mark_at(line: int, column: int) -> Mark:
    """Pack a line and a column, both counted from 1; columns end at 65535."""
    return line << _COLUMN_BITS | (column if column < _LAST_COLUMN else _LAST_COLUMN)


FIRST_MARK = mark_at(1, 1)


def line_and_column(mark: Mark) -> tuple[int, int]:
    """Undo `mark_at`."""
    return mark >> _COLUMN_BITS, mark & _LAST_COLUMN


def mark_of(place: Place) -> Mark:
    """The mark of a value itself."""
    return place if isinstance(place, int) else place[0]


def children_of(place: Place) -> Children:
    """The places inside a value; none for scalars and empty collections."""
    return [] if isinstance(place, int) else place[1]


def inner_place(place: Place, key: str | int) -> Place:
    """The place of a member or an item, or of the value itself where that is not known."""
    children = children_of(place)
    if isinstance(children, dict):
        return children.get(key, place) if isinstance(key, str) else place
    return children[key] if isinstance(key, int) and key < len(children) else place


class LineIndex:
    """Finds the mark of any character of a text."""

    def __init__(self, text: str) -> None:
        self._starts = array("Q", [0])
        self._starts.extend(newline.end() for newline in re.finditer("\n", text))

    def mark(self, offset: int) -> Mark:
        """The mark of the character at this offset."""
        line = bisect_right(self._starts, offset)
        return mark_at(line, offset - self._starts[line - 1] + 1)


def problem(message: str, file: str, mark: Mark) -> DocumentError:
    """The error to raise for a problem at a mark; whatever the message quotes, it stays one printable line."""
    line, column = line_and_column(mark)
    return DocumentError(one_line(message), file=file, line=line, column=column)


def one_line(text: str) -> str:
    """The text with line breaks, control characters and the like escaped."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
