"""Logs of the manager: one line per record, as JSON for machines or as text for people; levels by `-v`.

Libraries speak from WARNING on: what they do is told by our own lines.
"""

import json
import logging
import sys
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final, TextIO

OURS: Final = "kohort"


class LogFormat(StrEnum):
    """How a line looks."""

    JSON = "json"
    CONSOLE = "console"


class JsonLines(logging.Formatter):
    """One JSON object per record."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line."""
        line: dict[str, Any] = {
            "ts": _moment(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "msg": record.getMessage(),
        }
        if record.exc_info:
            line["stacktrace"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


class ConsoleLines(logging.Formatter):
    """Time, level, who and what; a traceback follows on its own lines."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as text."""
        name = record.name.removeprefix(f"{OURS}.")
        text = f"{_moment(record)} {record.levelname:<7} {name}: {' '.join(record.getMessage().splitlines())}"
        return f"{text}\n{self.formatException(record.exc_info)}" if record.exc_info else text


def _moment(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


FORMATTERS: Final = {LogFormat.JSON: JsonLines, LogFormat.CONSOLE: ConsoleLines}


def set_up_logs(form: LogFormat, verbosity: int, stream: TextIO | None = None) -> None:
    """Write records to standard error: warnings and news; with verbosity 1 or more also the details."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(FORMATTERS[form]())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING if verbosity < 2 else logging.DEBUG)
    logging.getLogger(OURS).setLevel(logging.INFO if verbosity < 1 else logging.DEBUG)
