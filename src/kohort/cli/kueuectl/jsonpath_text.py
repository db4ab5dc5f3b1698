"""Templates of `-o jsonpath=…`, as in kubectl: text, `{.a.path}`, `{"literals"}` and `{range …}…{end}`."""

import json
import re
from collections.abc import Iterator

from kohort.api.codec import Json
from kohort.api.errors import ApiError
from kohort.embedded.tables.jsonpath import JsonPath, compile_path

_PIECE = re.compile(r"""\{((?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^}"'])*)\}""")


class TemplateError(ApiError):
    """An invalid template."""


class _Range:
    """A part that is printed for each value of a path."""

    def __init__(self, path: JsonPath) -> None:
        self.path = path
        self.body: list[str | JsonPath | _Range] = []


class JsonPathText:
    """A compiled template."""

    def __init__(self, template: str) -> None:
        self._template = template if "{" in template else f"{{{template}}}"
        self._whole = _Range(compile_path("{@}"))
        self._read()

    def values(self, document: Json) -> list[Json]:
        """The values of the template's paths, in order."""
        return [value for part in self._whole.body if isinstance(part, JsonPath) for value in part.find(document)]

    def __call__(self, document: Json) -> str:
        """Render the template."""
        return "".join(_printed(self._whole, document))

    def _read(self) -> None:
        open_ranges, end = [self._whole], 0
        for piece in _PIECE.finditer(self._template):
            open_ranges[-1].body.append(self._template[end : piece.start()])
            self._take(piece[1].strip(), open_ranges)
            end = piece.end()
        open_ranges[-1].body.append(self._template[end:])
        if len(open_ranges) > 1 or "{" in self._template[end:]:
            raise TemplateError(f"jsonpath {self._template!r}: close every brace, and every range with {{end}}")

    def _take(self, inner: str, open_ranges: list[_Range]) -> None:
        if inner.startswith("range "):
            opened = _Range(compile_path(inner.removeprefix("range ").strip()))
            open_ranges[-1].body.append(opened)
            open_ranges.append(opened)
        elif inner == "end":
            if len(open_ranges) == 1:
                raise TemplateError(f"jsonpath {self._template!r}: {{end}} without a range")
            open_ranges.pop()
        elif inner[:1] in ('"', "'"):
            open_ranges[-1].body.append(_literal(inner))
        else:
            open_ranges[-1].body.append(compile_path(inner))


def _literal(text: str) -> str:
    inner = text[1:-1] if text[0] == '"' else text[1:-1].replace('"', '\\"')
    try:
        return str(json.loads(f'"{inner}"'))
    except ValueError:
        raise TemplateError(
            f"jsonpath: invalid literal {text}: quote it, and use \\n and \\t for newline and tab"
        ) from None


def _printed(part: _Range, document: Json) -> Iterator[str]:
    for value in part.path.find(document):
        for each in part.body:
            if isinstance(each, str):
                yield each
            elif isinstance(each, _Range):
                yield from _printed(each, value)
            else:
                yield " ".join(shown(found) for found in each.find(value))


def shown(value: Json) -> str:
    """A value as kubectl prints it: strings bare, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)
