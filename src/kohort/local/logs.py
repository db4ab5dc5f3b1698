"""What a cluster has to say for itself: into a file of bounded size, and warnings also to whoever looks on."""

import logging
from collections.abc import Callable
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Final

from kohort.manager.logs import OURS, ConsoleLines

_FILE_BYTES: Final = 5 * 1024 * 1024
_FILES: Final = 2
"""How many full ones are kept besides the one that is written."""


class Echo(logging.Handler):
    """Warnings, one line each, to a function that may change or be taken away."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self.tell: Callable[[str], None] | None = tell

    def emit(self, record: logging.LogRecord) -> None:
        """Pass it on."""
        if self.tell is not None:
            self.tell(f"{record.levelname.lower()}: {' '.join(record.getMessage().split())}")


def set_up_logs(file: Path | None, echo: Echo | None) -> None:
    """Log into the file, if there is one: news of ours, warnings of everybody."""
    handlers: list[logging.Handler] = []
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        written = RotatingFileHandler(file, maxBytes=_FILE_BYTES, backupCount=_FILES, encoding="utf-8")
        written.setFormatter(ConsoleLines())
        handlers.append(written)
    if echo is not None:
        handlers.append(echo)
    root = logging.getLogger()
    root.handlers[:] = handlers
    root.setLevel(logging.WARNING)
    logging.getLogger(OURS).setLevel(logging.INFO)
