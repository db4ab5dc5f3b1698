"""The agent's client of the task limit monitor: one for all pods, started when needed and restarted if it exits.

No container that needs it starts before the monitor has announced that it runs.
"""

import asyncio
import contextlib
import fcntl
import logging
import os
import socket
from pathlib import Path

from kohort.embedded.runtimes.job_files import read_regular
from kohort.embedded.runtimes.process.host_capabilities import shim_command, shim_environment
from kohort.embedded.runtimes.process.shim.task_monitor import AGENT, READY
from kohort.kube.clock import Clock

log = logging.getLogger(__name__)

START_SECONDS = 60.0
FIRST_RESTART, MAX_RESTART = 1.0, 60.0
"""Seconds between attempts to restart a monitor, doubling."""
MAX_ERROR_BYTES = 65536


class TaskMonitorError(OSError):
    """The monitor did not start, so that no process limits of root containers are enforced."""

    def __init__(self, cause: str) -> None:
        super().__init__(f"starting the task limit monitor failed, which enforces process limits of root: {cause}")


class TaskMonitorClient:
    """The monitor of the pods of a directory; it exits by itself when agent and pods are gone."""

    def __init__(self, data: Path, limit: int, clock: Clock) -> None:
        self._data = data
        self._message = b"%d" % limit
        self._clock = clock
        self._starting = asyncio.Lock()
        self._socket: socket.socket | None = None
        self._watcher: asyncio.Task[None] | None = None

    async def wake(self) -> None:
        """Activates it before a container starts; raises TaskMonitorError if it cannot be started."""
        async with self._starting:
            if not self._notify():
                await self.close()
                self._watcher = asyncio.create_task(self._watch(await self._start()))

    def resume(self) -> None:
        """Activates it for containers that already run, in the background and until it is started."""
        self._watcher = asyncio.create_task(self._restart_and_watch())

    async def close(self) -> None:
        """Disconnects from it."""
        watcher, self._watcher, self._socket = self._watcher, None, None
        if watcher is not None:
            watcher.cancel()
            await asyncio.gather(watcher, return_exceptions=True)

    def _notify(self) -> bool:
        """Whether the message was delivered; a monitor with a full socket is active anyway."""
        if self._socket is None:
            return False
        try:
            self._socket.send(self._message)
        except BlockingIOError:
            return True
        except (BrokenPipeError, ConnectionResetError):
            return False
        return True

    async def _start(self) -> socket.socket:
        self._socket = await start_task_monitor(self._data)
        self._notify()
        return self._socket

    async def _watch(self, connection: socket.socket) -> None:
        """Restarts the monitor when it exits, which it does not do by itself while its agent runs."""
        with connection:
            await _end_of(connection)
        self._socket = None
        log.warning("task limit monitor exited, restarting it")
        await self._restart_and_watch()

    async def _restart_and_watch(self) -> None:
        pause = FIRST_RESTART
        while True:
            try:
                connection = await self._start()
            except TaskMonitorError as error:
                log.error("process limits of running root containers are not enforced: %s", error)  # noqa: TRY400
                await self._clock.sleep(pause)
                pause = min(pause * 2, MAX_RESTART)
            else:
                return await self._watch(connection)


async def start_task_monitor(data: Path) -> socket.socket:
    """Starts a monitor and returns the connection to it; raises TaskMonitorError."""
    ours, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
    ours.settimeout(0.0)
    try:
        with theirs:
            starter = _spawn(data, theirs)
        await asyncio.to_thread(os.waitpid, starter, 0)
        await _wait_until_ready(data, ours)
    except BaseException:
        ours.close()
        raise
    return ours


async def _wait_until_ready(data: Path, connection: socket.socket) -> None:
    try:
        async with asyncio.timeout(START_SECONDS):
            is_ready = await asyncio.get_running_loop().sock_recv(connection, len(READY)) == READY
    except TimeoutError:
        raise TaskMonitorError(f"no response within {START_SECONDS:.0f} seconds") from None
    except OSError:
        is_ready = False
    if not is_ready:
        raise TaskMonitorError(await asyncio.to_thread(_last_error, data))


def _spawn(data: Path, connection: socket.socket) -> int:
    """Starts the intermediate process, which forks the monitor and exits at once."""
    command = shim_command("task_monitor", "watch")
    # Duplicating a descriptor onto its own number would leave it closed on exec.
    spare = fcntl.fcntl(connection, fcntl.F_DUPFD_CLOEXEC, AGENT + 1)
    actions = [
        (os.POSIX_SPAWN_DUP2, spare, AGENT),
        (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, str(_error_file(data)), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600),
    ]
    try:
        return os.posix_spawn(command[0], command, shim_environment(data), file_actions=actions)
    except OSError as error:
        raise TaskMonitorError(error.strerror or str(error)) from None
    finally:
        os.close(spare)


def _error_file(data: Path) -> Path:
    return data / "sentry.err"


def _last_error(data: Path) -> str:
    """The last line that a monitor printed before it exited."""
    try:
        lines = read_regular(_error_file(data), MAX_ERROR_BYTES).decode(errors="replace").strip().splitlines()
    except OSError:
        lines = []
    return lines[-1] if lines else "it exited at once"


async def _end_of(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while await asyncio.get_running_loop().sock_recv(connection, 64):
            pass
