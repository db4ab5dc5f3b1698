"""The shim's state of its containers, sent to the agent and kept in a file that outlives both.

The whole state is sent whenever it changes: a reconnecting agent misses nothing.
"""

import contextlib
import json
import os
from typing import Any

from kohort.embedded.runtimes.job_files import read_regular

ShimFacts = dict[str, Any]
FILE = "state.json"
DIRECTORY_VARIABLE = "KOHORT_DIRECTORY"
"""Variable with the directory of the pod, or of all pods, in the environment of a shim."""
MAX_STATE_BYTES = 16 << 20


_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class ShimState:
    """The containers of a pod by name: attempt, PID, start, end."""

    def __init__(self, directory: str) -> None:
        self._path = f"{directory}/{FILE}"
        self.containers: dict[str, ShimFacts] = read(directory).get("containers", {})
        self._shim: ShimFacts = {}

    def sign(self, pid: int, ticks: int) -> None:
        """Records the shim process."""
        self._shim = {"pid": pid, "ticks": ticks}

    def line(self) -> bytes:
        """The state as one line of JSON."""
        shim_state = {"shim": self._shim, "containers": self.containers}
        return json.dumps(shim_state, separators=(",", ":")).encode() + b"\n"

    def save(self) -> None:
        """Saves it to disk; on a full disk the agent still receives it."""
        with contextlib.suppress(OSError):
            fd = os.open(self._path + ".new", _FLAGS, 0o600)
            try:
                os.write(fd, self.line())
            finally:
                os.close(fd)
            os.replace(self._path + ".new", self._path)


def read(directory: str) -> ShimFacts:
    """The state on disk; empty if it is missing or invalid."""
    try:
        found = json.loads(read_regular(f"{directory}/{FILE}", MAX_STATE_BYTES))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
