"""Child processes, each with a log file; they end with the process that started them."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_POLL_SECONDS = 0.05
_STOP_SECONDS = 10
_LAST_LINES = 15
_PR_SET_PDEATHSIG = 1


class ProcessStartError(Exception):
    """A process did not become ready; the message contains the end of its log."""


@dataclass(frozen=True, slots=True)
class ChildProcess:
    """One running program."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    @classmethod
    def start(
        cls, name: str, command: Sequence[str | Path], log: Path, environment: Mapping[str, str] | None = None
    ) -> "ChildProcess":
        """Run a program with its output in the log and with these environment variables added."""
        with log.open("wb") as output:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(environment or {})},
                preexec_fn=_end_with_parent,
            )
        return cls(name, process, log)

    def wait_until(self, ready: Callable[[], bool], seconds: float) -> None:
        """Return when the process is ready; raise when it ends first, or stop it and raise on a timeout."""
        deadline = time.monotonic() + seconds
        while not ready():
            if self.process.poll() is not None:
                raise ProcessStartError(f"{self.name} ended with code {self.process.returncode}; {self.tail_of_log()}")
            if time.monotonic() > deadline:
                self.stop()
                raise ProcessStartError(f"{self.name} is not ready after {seconds:.0f} s; {self.tail_of_log()}")
            time.sleep(_POLL_SECONDS)

    def tail_of_log(self) -> str:
        """Path and last lines of the log."""
        lines = self.log.read_text(errors="replace").splitlines()[-_LAST_LINES:]
        return "\n".join([f"its log, {self.log}, ends with:", *lines])

    def stop(self) -> None:
        """Send SIGTERM, and SIGKILL after a grace period."""
        self.process.terminate()
        try:
            self.process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def _end_with_parent() -> None:
    """Tie the child to its parent: a killed test run must not leave a control plane running. Linux only."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
