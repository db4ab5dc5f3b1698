"""Reads logs; the error for a damaged one names the file and the line."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from kohort.api.errors import ApiError, DocumentError
from kohort.engine.event_log.header import DECISIONS, EVENTS, check_header, settings_of
from kohort.engine.event_log.lines import decided_of, step_of
from kohort.engine.event_log.model import DecisionLog, EventLog

_Entry = TypeVar("_Entry")


def read_events(lines: Iterable[bytes], file: str = EVENTS) -> EventLog:
    """The settings and steps of a log; raises a DocumentError that names the line where one is damaged."""
    rest = iter(lines)
    settings = _head(rest, file, EVENTS, settings_of)
    return EventLog(settings, *_body(rest, file, step_of))


def read_decisions(lines: Iterable[bytes], file: str = DECISIONS) -> DecisionLog:
    """The decisions of a log; raises a DocumentError that names the line where one is damaged."""
    rest = iter(lines)
    _head(rest, file, DECISIONS, lambda line: check_header(line, DECISIONS))
    return DecisionLog(*_body(rest, file, decided_of))


def _head(lines: Iterator[bytes], file: str, name: str, parse: Callable[[bytes], _Entry]) -> _Entry:
    line = next(lines, None)
    if line is None:
        raise DocumentError(f"empty; a log begins with the header of {name}", file=file)
    try:
        return parse(line)
    except ApiError as error:
        raise DocumentError(str(error), file=file, line=1) from None


def _body(lines: Iterator[bytes], file: str, parse: Callable[[bytes], _Entry]) -> tuple[tuple[_Entry, ...], str]:
    """All entries, and a warning where the last line breaks off."""
    entries: list[_Entry] = []
    broken_off: DocumentError | None = None
    for number, line in enumerate(lines, 2):
        if broken_off is not None:
            raise broken_off
        try:
            entries.append(parse(line))
        except ApiError as error:
            damage = DocumentError(str(error), file=file, line=number)
            if line.endswith(b"\n"):
                raise damage from None
            broken_off = damage
    return tuple(entries), f"the last line breaks off and was left out: {broken_off}" if broken_off else ""
