"""One object of a manifest file, with the way from a field path back to its line.

Field paths are text and a key may itself hold dots, so a path is matched against the keys that are there.
"""

import re
from dataclasses import dataclass, field

from kohort.api.codec import Json
from kohort.api.documents.positions import FIRST_MARK, Children, Place, children_of, line_and_column, mark_of
from kohort.api.fields import ROOT, Path

_INDEX = re.compile(r"\[([0-9]{1,9})\](?=[.\[]|\Z)")


@dataclass(frozen=True, slots=True)
class Document:
    """A plain JSON value and where it was read."""

    value: Json
    file: str
    place: Place = field(default=FIRST_MARK, repr=False, compare=False)

    @property
    def line(self) -> int:
        """The line where the object starts, counted from 1."""
        return self.line_of(ROOT)

    def line_of(self, path: Path) -> int:
        """The line of a field, or of the nearest ancestor that is there."""
        return self.position_of(path)[0]

    def position_of(self, path: Path) -> tuple[int, int]:
        """The line and column of a field (of its key, in a mapping), or of the nearest ancestor that is there."""
        place, rest = self.place, path.text if path.text.startswith("[") else f".{path.text}"
        while step := _step(children_of(place), rest):
            place, rest = step
        return line_and_column(mark_of(place))


def _step(children: Children, path: str) -> tuple[Place, str] | None:
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
