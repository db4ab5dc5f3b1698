"""Parses YAML from the events of the parser (libyaml if PyYAML has it).

Tags construct nothing, and no tree of nodes is built between the events and the values.
"""

import re
from collections.abc import Iterator
from typing import Final, Protocol

import yaml
from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from kohort.api.codec import Json
from kohort.api.documents.positions import LineIndex, Mark, Position, mark_at, problem
from kohort.api.documents.scalars import YAML_TAG, Scalar, plain_scalar, refuse_surrogates, shown_tag, tagged_scalar
from kohort.api.documents.tree import TreeBuilder

_PARSER: Final = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader

_UNPRINTABLE: Final = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MERGE_TAGS: Final = (None, f"{YAML_TAG}merge")
_AT_THEIR_START: Final = ("while scanning a simple key", "while scanning a quoted scalar")
"""Constructs whose errors are detected only lines after their position."""
_REMEDIES: Final = {
    "tab": "indent with spaces, not with tabs",
    "'\\t'": "indent with spaces, not with tabs",
    "cannot start any token": "put the value in quotes; indent with spaces, not with tabs",
    "mapping values are not allowed": "indent the keys of a mapping alike, and quote a value that holds ': '",
    "could not find expected ':'": "a key needs a colon and a space after it",
    "did not find expected key": "indent the keys of a mapping alike",
    "expected <block end>": "indent keys and items alike",
    "'-' indicator": "indent the items of a list alike",
    "unexpected end of stream": "close the quote",
}
"""Remedies for common errors of the parsers; the first match counts."""


class _Position(Protocol):
    """A position of either parser, from 0."""

    line: int
    column: int


class YamlReader:
    """The documents of a text that starts at some line of a file, each with its value and positions."""

    def __init__(self, text: str, file: str, first_line: int = 1) -> None:
        self._text = text
        self._file = file
        self._first_line = first_line
        self._builder = TreeBuilder(file)

    def __iter__(self) -> Iterator[tuple[Json, Position]]:
        self._refuse_control_characters()
        parser = _PARSER(self._text)
        try:
            while event := self._next_event(parser):
                if isinstance(event, ScalarEvent):
                    self._scalar(event)
                elif isinstance(event, MappingEndEvent | SequenceEndEvent):
                    self._builder.close()
                elif isinstance(event, DocumentEndEvent):
                    yield self._builder.finish()
                else:
                    self._start_or_alias(event)
        finally:
            parser.dispose()

    def _refuse_control_characters(self) -> None:
        if control := _UNPRINTABLE.search(self._text):
            mark = LineIndex(self._text[: control.start()]).mark(control.start())
            message = f"character U+{ord(control[0]):04X} is not allowed in YAML; remove it"
            raise problem(message, self._file, mark + mark_at(self._first_line - 1, 0))

    def _next_event(self, parser: yaml.SafeLoader | yaml.CSafeLoader) -> Event | None:
        try:
            return parser.get_event()
        except yaml.MarkedYAMLError as error:
            raise problem(_complaint(error), self._file, self._mark(_place_to_mend(error))) from None
        except (ValueError, OverflowError) as error:
            # The pure Python parser leaves escapes and versions out of range to chr() and int().
            reached = parser.get_mark() if isinstance(parser, yaml.SafeLoader) else None
            raise problem(f"not valid YAML: {error}", self._file, self._mark(reached)) from None

    def _mark(self, start: _Position | None) -> Mark:
        return mark_at(self._first_line + start.line, start.column + 1) if start else mark_at(self._first_line, 1)

    def _scalar(self, event: ScalarEvent) -> None:
        mark = self._mark(event.start_mark)
        plain = not event.style
        if plain and event.value == "<<" and event.tag in _MERGE_TAGS and self._builder.merge_key(mark):
            return
        try:
            value = _value_of(event)
        except ValueError as error:
            raise problem(str(error), self._file, mark) from None
        self._builder.scalar(value, mark, event.anchor)

    def _start_or_alias(self, event: Event) -> None:
        mark = self._mark(event.start_mark)
        if isinstance(event, MappingStartEvent):
            self._refuse_tag(event.tag, "map", mark)
            self._builder.open_mapping(mark, event.anchor)
        elif isinstance(event, SequenceStartEvent):
            self._refuse_tag(event.tag, "seq", mark)
            self._builder.open_sequence(mark, event.anchor)
        elif isinstance(event, AliasEvent):
            self._builder.alias(str(event.anchor), mark)

    def _refuse_tag(self, tag: str | None, allowed: str, mark: Mark) -> None:
        if tag not in (None, "!", YAML_TAG + allowed):
            message = f"tag {shown_tag(tag)} is not allowed here: manifests are plain data; remove the tag"
            raise problem(message, self._file, mark)


def _value_of(event: ScalarEvent) -> Scalar:
    text: str = event.value
    if event.style == '"':
        refuse_surrogates(text)
    if event.tag is not None:
        return tagged_scalar(text, event.tag)
    return text if event.style else plain_scalar(text)


def _place_to_mend(error: yaml.MarkedYAMLError) -> _Position | None:
    if error.context in _AT_THEIR_START and error.context_mark is not None:
        return error.context_mark
    return error.problem_mark or error.context_mark


def _complaint(error: yaml.MarkedYAMLError) -> str:
    complaint = ", ".join(part for part in (error.context, error.problem) if part)
    remedy = next((f"; {remedy}" for words, remedy in _REMEDIES.items() if words in complaint), "")
    return f"not valid YAML: {complaint}{remedy}"
