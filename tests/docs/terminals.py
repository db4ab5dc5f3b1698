"""A terminal of its own for a command that stays in the foreground: started, looked at, and ended by Ctrl-C."""

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

GRACE: Final = 90.0
"""Seconds that a command has to end after Ctrl-C."""
PAUSE: Final = 0.05


class Terminal:
    """One command at work."""

    def __init__(self, text: str, folder: Path, environment: Mapping[str, str]) -> None:
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the terminal
        self._process = subprocess.Popen(
            ["bash", "-c", text],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    @property
    def seen(self) -> str:
        """What it has printed so far."""
        size = os.fstat(self._output.fileno()).st_size
        return os.pread(self._output.fileno(), size, 0).decode(errors="replace")

    def shows(self, wanted: Callable[[str], bool], patience: float) -> bool:
        """Wait until it shows what is wanted; whether it came to that before it ended, and in time."""
        end = time.monotonic() + patience
        while not wanted(self.seen):
            if self._process.poll() is not None or time.monotonic() >= end:
                return wanted(self.seen)
            time.sleep(PAUSE)
        return True

    def interrupt(self) -> None:
        """Press Ctrl-C and wait for the end, which is forced if it does not come."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGINT)
        try:
            self._process.wait(GRACE)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(GRACE)

    def close(self) -> None:
        """Leave nothing running."""
        self.interrupt()
        self._output.close()
