"""Logging of the manager: one line per record, as JSON or text; levels by `-v`.

Libraries log from WARNING on, since Kohort's own records cover what they do.
"""

import json
import logging
import sys
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final, TextIO

ROOT_LOGGER: Final = "kohort"


class LogFormat(StrEnum):
    """The format of log lines."""

    JSON = "json"
    CONSOLE = "console"


class JsonFormatter(logging.Formatter):
    """One JSON object per record."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line."""
        line: dict[str, Any] = {
            "ts": _timestamp(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "msg": record.getMessage(),
        }
        if record.exc_info:
            line["stacktrace"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


class ConsoleFormatter(logging.Formatter):
    """Time, level, logger and message; a traceback follows on its own lines."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as text."""
        name = record.name.removeprefix(f"{ROOT_LOGGER}.")
        text = f"{_timestamp(record)} {record.levelname:<7} {name}: {' '.join(record.getMessage().splitlines())}"
        return f"{text}\n{self.formatException(record.exc_info)}" if record.exc_info else text


def _timestamp(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


FORMATTERS: Final = {LogFormat.JSON: JsonFormatter, LogFormat.CONSOLE: ConsoleFormatter}


def configure_logging(form: LogFormat, verbosity: int, stream: TextIO | None = None) -> None:
    """Log to standard error: level info, or debug with verbosity 1 or more; libraries from verbosity 2."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(FORMATTERS[form]())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING if verbosity < 2 else logging.DEBUG)
    logging.getLogger(ROOT_LOGGER).setLevel(logging.INFO if verbosity < 1 else logging.DEBUG)
