"""Logging of a local cluster: to a file of bounded size, and warnings to the terminal as well."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Final

from kohort.manager.logs import ROOT_LOGGER, ConsoleFormatter

_FILE_BYTES: Final = 5 * 1024 * 1024
_FILES: Final = 2
"""Number of rotated files."""


class Echo(logging.Handler):
    """Passes warnings, one line each, to a function that may change or be removed."""

    def __init__(self, write: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self.write: Callable[[str], None] | None = write

    def emit(self, record: logging.LogRecord) -> None:
        """Write the record as one line."""
        if self.write is not None:
            self.write(f"{record.levelname.lower()}: {' '.join(record.getMessage().split())}")


@contextmanager
def logging_to(file: Path | None, echo: Echo | None) -> Iterator[None]:
    """Log to the file, if given, until the context exits: info messages of Kohort, warnings of all libraries."""
    handlers: list[logging.Handler] = [] if echo is None else [echo]
    if file is not None:
        handlers.append(_file_handler(file))
    root, ours = logging.getLogger(), logging.getLogger(ROOT_LOGGER)
    before = root.handlers[:], root.level, ours.level
    root.handlers[:] = handlers
    root.setLevel(logging.WARNING)
    ours.setLevel(logging.INFO)
    try:
        yield
    finally:
        root.handlers[:] = before[0]
        root.setLevel(before[1])
        ours.setLevel(before[2])
        for handler in handlers:
            handler.close()


def _file_handler(file: Path) -> logging.Handler:
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handler = RotatingFileHandler(file, maxBytes=_FILE_BYTES, backupCount=_FILES, encoding="utf-8")
    handler.setFormatter(ConsoleFormatter())
    return handler
