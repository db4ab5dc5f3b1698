"""What the shim knows of its containers, told to the agent and kept in a file that outlives both.

The whole book is sent whenever it changes: an agent that was away has missed nothing.
"""

import contextlib
import json
import os
from typing import Any

from kohort.embedded.runtimes.job_files import read_regular

Facts = dict[str, Any]
FILE = "state.json"
DIRECTORY_VARIABLE = "KOHORT_DIRECTORY"
"""Names the directory of the pod, or of all pods, in the environment of a shim."""
MOST_BYTES = 16 << 20


_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class ShimState:
    """The containers of a pod by name: attempt, pid, start, end."""

    def __init__(self, directory: str) -> None:
        self._path = f"{directory}/{FILE}"
        self.containers: dict[str, Facts] = read(directory).get("containers", {})
        self._shim: Facts = {}

    def sign(self, pid: int, ticks: int) -> None:
        """Say who keeps the book now."""
        self._shim = {"pid": pid, "ticks": ticks}

    def line(self) -> bytes:
        """The book as one line of JSON."""
        book = {"shim": self._shim, "containers": self.containers}
        return json.dumps(book, separators=(",", ":")).encode() + b"\n"

    def save(self) -> None:
        """Keep it on disk; where the disk is full, the agent still hears it."""
        with contextlib.suppress(OSError):
            fd = os.open(self._path + ".new", _FLAGS, 0o600)
            try:
                os.write(fd, self.line())
            finally:
                os.close(fd)
            os.replace(self._path + ".new", self._path)


def read(directory: str) -> Facts:
    """The book on disk; empty when there is none that can be read."""
    try:
        found = json.loads(read_regular(f"{directory}/{FILE}", MOST_BYTES))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
