"""JSONPath of printer columns: `.spec.x`, `['a.b']`, `[0]`, `[*]`, `[?(@.type=="Ready")].status`.

Compiled once; a lookup never raises: a path without a match finds nothing.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from kohort.api.codec import Json, decode_json
from kohort.api.errors import ApiError, DecodeError
from kohort.api.fields import shown_value

_PathStep = Callable[[Json], Iterable[Json]]

_FILTER = re.compile(r"\?\(\s*@(?P<path>[^=!<>]*?)\s*(?:(?P<operator>==|!=|<=|>=|<|>)\s*(?P<value>.+?)\s*)?\)")
_INDEX = re.compile(r"-?[0-9]{1,9}")
_SLICE = re.compile(r"(-?[0-9]{0,9}):(-?[0-9]{0,9})")
_COMPARE: dict[str, Callable[[Json, Json], bool]] = {
    "==": lambda one, other: bool(one == other),
    "!=": lambda one, other: bool(one != other),
    "<": lambda one, other: bool(one < other),
    "<=": lambda one, other: bool(one <= other),
    ">": lambda one, other: bool(one > other),
    ">=": lambda one, other: bool(one >= other),
}


class JsonPathError(ApiError):
    """The text is not a supported JSONPath."""


@dataclass(frozen=True, slots=True)
class JsonPath:
    """A compiled path."""

    steps: tuple[_PathStep, ...]

    def find(self, document: Json) -> list[Json]:
        """All values at the path."""
        found = [document]
        for step in self.steps:
            found = [value for each in found for value in step(each)]
        return found


@lru_cache(maxsize=2048)
def compile_path(text: str) -> JsonPath:
    """Compiles a path; braces and a leading `$` or `@` are optional."""
    body = text.strip()
    if body.startswith("{") and body.endswith("}"):
        body = body[1:-1].strip()
    body = body.removeprefix("$").removeprefix("@")
    return JsonPath(tuple(_steps(body, text)))


def _steps(body: str, text: str) -> Iterator[_PathStep]:
    place = 0
    while place < len(body):
        if body[place] == "[":
            end = _closing(body, place, text)
            yield _bracket(body[place + 1 : end].strip(), text)
            place = end + 1
        else:
            name, recursive, place = _dotted(body, place, text)
            if recursive:
                yield _descend
            if name:
                yield _every if name == "*" else _member(name)


def _dotted(body: str, place: int, text: str) -> tuple[str, bool, int]:
    """A name after a dot; backslashes escape dots. Two dots search at every depth."""
    dots = 0
    while place < len(body) and body[place] == ".":
        dots, place = dots + 1, place + 1
    if dots > 2 or (not dots and place):
        raise _bad(text, "separate names by dots")
    name = ""
    while place < len(body) and body[place] not in ".[":
        if body[place] == "\\" and place + 1 < len(body):
            place += 1
        name += body[place]
        place += 1
    return name, dots == 2, place


def _closing(body: str, start: int, text: str) -> int:
    quote = ""
    for place in range(start + 1, len(body)):
        letter = body[place]
        if quote:
            quote = "" if letter == quote and body[place - 1] != "\\" else quote
        elif letter in "'\"":
            quote = letter
        elif letter == "]":
            return place
    raise _bad(text, "close every bracket")


def _bracket(inner: str, text: str) -> _PathStep:
    if inner == "*":
        return _every
    if len(inner) >= 2 and inner[0] == inner[-1] and inner[0] in "'\"":
        return _member(re.sub(r"\\(.)", r"\1", inner[1:-1]))
    if _INDEX.fullmatch(inner):
        return _item(int(inner))
    if match := _SLICE.fullmatch(inner):
        return _slice(*match.groups())
    if match := _FILTER.fullmatch(inner):
        return _filter(compile_path(match["path"]), match["operator"], match["value"], text)
    raise _bad(text, "write a position, a quoted name, * or a filter such as ?(@.type=='Ready') in brackets")


def _bad(text: str, remedy: str) -> JsonPathError:
    return JsonPathError(f"not a JSONPath: {shown_value(text)}: {remedy}")


def _every(value: Json) -> Iterable[Json]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else ()


def _descend(value: Json) -> Iterable[Json]:
    found = [value]
    for each in _every(value):
        found.extend(_descend(each))
    return found


def _member(name: str) -> _PathStep:
    def step(value: Json) -> Iterable[Json]:
        if isinstance(value, dict) and value.get(name) is not None:
            return (value[name],)
        return ()

    return step


def _item(index: int) -> _PathStep:
    def step(value: Json) -> Iterable[Json]:
        if isinstance(value, list) and -len(value) <= index < len(value):
            return (value[index],)
        return ()

    return step


def _slice(start: str, end: str) -> _PathStep:
    first, last = int(start) if start else None, int(end) if end else None

    def step(value: Json) -> Iterable[Json]:
        return value[first:last] if isinstance(value, list) else ()

    return step


def _filter(path: JsonPath, operator: str | None, literal: str | None, text: str) -> _PathStep:
    if operator is None or literal is None:
        return lambda value: [item for item in _every(value) if path.find(item)]
    compare, wanted = _COMPARE[operator], _literal(literal, text)

    def holds(item: Json) -> bool:
        try:
            return any(compare(found, wanted) for found in path.find(item))
        except TypeError:
            return False

    return lambda value: [item for item in _every(value) if holds(item)]


def _literal(literal: str, text: str) -> Json:
    if len(literal) >= 2 and literal[0] == literal[-1] == "'":
        return literal[1:-1]
    try:
        return decode_json(literal.encode())
    except DecodeError:
        raise _bad(text, "compare with a number, true, false or a quoted text") from None
