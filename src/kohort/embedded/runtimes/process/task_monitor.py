"""The agent's client of the task limit monitor: one for all pods, started when needed."""

import asyncio
import contextlib
import fcntl
import os
import socket
from pathlib import Path

from kohort.embedded.runtimes.process.host_capabilities import shim_command, shim_environment
from kohort.embedded.runtimes.process.shim.task_monitor import AGENT


class TaskMonitorClient:
    """The monitor of the pods of a directory; it exits by itself when agent and pods are gone."""

    def __init__(self, data: Path, limit: int) -> None:
        self._data = data
        self._message = b"%d" % limit
        self._socket: socket.socket | None = None

    async def wake(self) -> None:
        """Activates it before a container starts; raises OSError if it cannot be started."""
        if not self._notify():
            self._socket, starter = start_task_monitor(self._data)
            self._notify()
            await asyncio.to_thread(os.waitpid, starter, 0)

    def close(self) -> None:
        """Disconnects from it."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _notify(self) -> bool:
        """Whether the message was delivered; a monitor with a full socket is active anyway."""
        if self._socket is None:
            return False
        with contextlib.suppress(BlockingIOError):
            try:
                self._socket.send(self._message)
            except (BrokenPipeError, ConnectionResetError):
                self.close()
                return False
        return True


def start_task_monitor(data: Path) -> tuple[socket.socket, int]:
    """Starts a monitor; the intermediate process exits at once and still has to be reaped."""
    ours, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
    ours.settimeout(0.0)
    command = shim_command("task_monitor", "watch")
    with theirs:
        # Duplicating a descriptor onto its own number would leave it closed on exec.
        spare = fcntl.fcntl(theirs, fcntl.F_DUPFD_CLOEXEC, AGENT + 1)
    actions = [
        (os.POSIX_SPAWN_DUP2, spare, AGENT),
        (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, str(data / "sentry.err"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600),
    ]
    try:
        return ours, os.posix_spawn(command[0], command, shim_environment(data), file_actions=actions)
    except OSError:
        ours.close()
        raise
    finally:
        os.close(spare)
