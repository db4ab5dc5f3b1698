"""An object of a manifest file, with the position of each field path.

Field paths are text and a key may contain dots, so that a path is matched against the existing keys.
"""

import re
from dataclasses import dataclass, field

from kohort.api.codec import Json
from kohort.api.documents.positions import FIRST_MARK, Children, Position, children_of, line_and_column, mark_of
from kohort.api.fields import ROOT, Path

_INDEX = re.compile(r"\[([0-9]{1,9})\](?=[.\[]|\Z)")


@dataclass(frozen=True, slots=True)
class Document:
    """A plain JSON value and its origin."""

    value: Json
    file: str
    place: Position = field(default=FIRST_MARK, repr=False, compare=False)

    @property
    def line(self) -> int:
        """The line of the object, from 1."""
        return self.line_of(ROOT)

    def line_of(self, path: Path) -> int:
        """The line of a field, or of its nearest existing ancestor."""
        return self.position_of(path)[0]

    def position_of(self, path: Path) -> tuple[int, int]:
        """The line and column of a field (of its key, in a mapping), or of its nearest existing ancestor."""
        place, rest = self.place, path.text if path.text.startswith("[") else f".{path.text}"
        while step := _step(children_of(place), rest):
            place, rest = step
        return line_and_column(mark_of(place))


def _step(children: Children, path: str) -> tuple[Position, str] | None:
    if isinstance(children, list):
        index = _INDEX.match(path)
        if index is None or int(index[1]) >= len(children):
            return None
        return children[int(index[1])], path[index.end() :]
    found = [(key, rest) for key in children if (rest := _after(key, path)) is not None]
    if not found:
        return None
    key, rest = max(found, key=lambda match: len(match[0]))
    return children[key], rest


def _after(key: str, path: str) -> str | None:
    for form in (f".{key}", f"[{key}]"):
        rest = path.removeprefix(form)
        if len(rest) < len(path) and rest[:1] in ("", ".", "["):
            return rest
    return None
