"""Parses JSON: one object, several in sequence, one per line, or separated as YAML documents are.

Not the standard library's parser, because each key needs its position, and duplicates are errors.
"""

import json
import re
from collections.abc import Iterator
from typing import Final

from kohort.api.codec import Json
from kohort.api.documents.positions import LineIndex, Mark, Position, line_and_column, one_line, problem
from kohort.api.documents.scalars import json_number, refuse_surrogates
from kohort.api.documents.tree import TreeBuilder
from kohort.api.errors import DocumentError

_BETWEEN: Final = re.compile(r"(?:[ \t\r\n]++|#[^\n]*+|(?m:^)---(?=[ \t\r\n]|\Z))*+")
"""Separators between two documents."""
_SEPARATOR: Final = re.compile(r"^---", re.MULTILINE)
_TOKEN: Final = re.compile(
    r"""[ \t\r\n]*+(?:
        (?P<sign>[{}\[\]:,])
        |(?P<text>"[^"\\\x00-\x1f]*+(?:\\[^\x00-\x1f][^"\\\x00-\x1f]*+)*+")
        |(?P<number>-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][-+]?[0-9]++)?(?![0-9A-Za-z_.+-]))
        |(?P<word>(?:true|false|null)(?![0-9A-Za-z_]))
        |(?P<rest>[^ \t\r\n]{0,20})
    )""",
    re.VERBOSE,
)
_WORDS: Final = {"true": True, "false": False, "null": None}

_Kinds = tuple[str, ...]
_DOCUMENT: Final[_Kinds] = ("{", "[")
_VALUE: Final[_Kinds] = ("{", "[", "text", "number", "word")
_ITEM_OR_END: Final[_Kinds] = (*_VALUE, "]")
_KEY: Final[_Kinds] = ("text",)
_KEY_OR_END: Final[_Kinds] = ("text", "}")
_COLON: Final[_Kinds] = (":",)
_AFTER_MEMBER: Final[_Kinds] = (",", "}")
_AFTER_ITEM: Final[_Kinds] = (",", "]")
_END: Final[_Kinds] = ()
_AFTER: Final = {"}": _AFTER_MEMBER, "]": _AFTER_ITEM}
_EXPECTED: Final = {
    _DOCUMENT: "an object",
    _VALUE: "a value",
    _ITEM_OR_END: "a value or ]",
    _KEY: "a key in double quotes",
    _KEY_OR_END: "a key in double quotes or }",
    _COLON: ":",
    _AFTER_MEMBER: ", or }",
    _AFTER_ITEM: ", or ]",
}


class NotJsonError(DocumentError):
    """The text is not valid JSON; from `restart` on it may be YAML instead."""

    restart: int | None = None
    """The offset after the last complete document, unless YAML cannot start there."""


def starts_as_json(text: str) -> bool:
    """Whether the first document is an object or an array, or YAML in flow style."""
    return text.startswith(_DOCUMENT, _end(_BETWEEN, text, 0))


class JsonReader:
    """The documents of a text, each with its value and positions."""

    def __init__(self, text: str, file: str) -> None:
        self._text = text
        self._file = file
        self._lines = LineIndex(text)
        self._builder = TreeBuilder(file)

    def __iter__(self) -> Iterator[tuple[Json, Position]]:
        after = 0
        while (start := _end(_BETWEEN, self._text, after)) < len(self._text):
            try:
                end = self._read_document(start)
            except NotJsonError as error:
                if after == 0 or _SEPARATOR.search(self._text, after, start):
                    error.restart = after
                raise
            yield self._builder.finish()
            after = end

    def line_at(self, offset: int) -> int:
        """The line of an offset."""
        return line_and_column(self._lines.mark(offset))[0]

    def _read_document(self, start: int) -> int:
        """Pass one document to the builder; returns the offset after it."""
        expected = _DOCUMENT
        closers: list[str] = []
        for token in _TOKEN.finditer(self._text, start):
            kind = token["sign"] or str(token.lastgroup)
            if kind not in expected:
                raise self._unexpected(token, expected)
            expected = self._feed(kind, token, expected, closers)
            if expected is _END:
                return token.end()
        return len(self._text)

    def _feed(self, kind: str, token: re.Match[str], expected: _Kinds, closers: list[str]) -> _Kinds:
        """Pass one token to the builder; returns the tokens that may follow."""
        if kind == ":":
            return _VALUE
        if kind == ",":
            return _KEY if closers[-1] == "}" else _VALUE
        if kind == "{":
            self._builder.open_mapping(self._mark(token))
            closers.append("}")
            return _KEY_OR_END
        if kind == "[":
            self._builder.open_sequence(self._mark(token))
            closers.append("]")
            return _ITEM_OR_END
        if kind in closers[-1:]:
            closers.pop()
            self._builder.close()
        else:
            self._scalar(kind, token)
            if expected in (_KEY, _KEY_OR_END):
                return _COLON
        return _AFTER[closers[-1]] if closers else _END

    def _scalar(self, kind: str, token: re.Match[str]) -> None:
        content, mark = token[kind], self._mark(token)
        try:
            value = _WORDS[content] if kind == "word" else _text(content) if kind == "text" else json_number(content)
        except ValueError as error:
            raise problem(str(error), self._file, mark) from None
        self._builder.scalar(value, mark)

    def _mark(self, token: re.Match[str]) -> Mark:
        return self._lines.mark(token.start(token.lastgroup or 0))

    def _unexpected(self, token: re.Match[str], expected: _Kinds) -> NotJsonError:
        line, column = line_and_column(self._mark(token))
        found = token[token.lastgroup or 0][:20]
        message = f"expected {_EXPECTED[expected]}, found {found or 'the end of the file'}"
        if found.startswith('"') and token.lastgroup == "rest":
            message = "string without closing quote, or with a line break"
        return NotJsonError(one_line(f"not valid JSON: {message}"), file=self._file, line=line, column=column)


def _end(pattern: re.Pattern[str], text: str, offset: int) -> int:
    found = pattern.match(text, offset)
    return found.end() if found else offset


def _text(quoted: str) -> str:
    if "\\" not in quoted:
        return quoted[1:-1]
    try:
        text = str(json.loads(quoted))
    except json.JSONDecodeError as error:
        raise ValueError(f"not valid JSON: {error.msg.lower()}") from None
    refuse_surrogates(text)
    return text
