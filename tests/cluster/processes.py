"""Child processes with a log each: started, waited for, stopped; an ending parent takes them along."""

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


class StartError(Exception):
    """A process did not come up; the text has the end of its log."""


@dataclass(frozen=True, slots=True)
class Child:
    """One running program."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    @classmethod
    def start(
        cls, name: str, command: Sequence[str | Path], log: Path, environment: Mapping[str, str] | None = None
    ) -> "Child":
        """Run a program with all its output in the log, and with these variables besides those that are there."""
        with log.open("wb") as output:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(environment or {})},
                preexec_fn=_die_with_parent,
            )
        return cls(name, process, log)

    def wait_until(self, ready: Callable[[], bool], seconds: float) -> None:
        """Come back when it is ready; say why not when it ends before, or takes too long."""
        deadline = time.monotonic() + seconds
        while not ready():
            if self.process.poll() is not None:
                raise StartError(f"{self.name} ended with code {self.process.returncode}; {self.end_of_log()}")
            if time.monotonic() > deadline:
                raise StartError(f"{self.name} is not ready after {seconds:.0f} s; {self.end_of_log()}")
            time.sleep(_POLL_SECONDS)

    def end_of_log(self) -> str:
        """Where the log is, and what it says last."""
        lines = self.log.read_text(errors="replace").splitlines()[-_LAST_LINES:]
        return "\n".join([f"its log, {self.log}, ends with:", *lines])

    def stop(self) -> None:
        """End it: politely, then by force."""
        self.process.terminate()
        try:
            self.process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def _die_with_parent() -> None:
    """A killed test run must not leave a control plane behind; only Linux can promise that."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
