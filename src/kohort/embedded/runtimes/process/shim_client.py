"""The agent's client of a shim: starts or finds one, sends commands, receives its state.

The socket is created here and passed on, so that a shim is reachable at any time.
"""

import asyncio
import contextlib
import fcntl
import json
import os
import socket
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from kohort.embedded.runtimes.probes.prober import ExecResult
from kohort.embedded.runtimes.process.host_capabilities import shim_command, shim_environment
from kohort.embedded.runtimes.process.shim import leftover_processes
from kohort.embedded.runtimes.process.shim.main import LISTENER
from kohort.embedded.runtimes.process.shim.processes import start_ticks
from kohort.embedded.runtimes.process.shim.state import ShimFacts, read

SOCKET = "control"
LINE = 16 << 20
QUIT_SECONDS = 10.0
GREETING_SECONDS = 10.0
GONE = ExecResult(128, error="the process that looks after the pod is gone")


class ShimClient:
    """A connection to the shim of one pod."""

    def __init__(self, directory: Path, on_state: Callable[[ShimFacts], None], on_loss: Callable[[], None]) -> None:
        self.directory = directory
        self._on_state = on_state
        self._on_loss = on_loss
        self._writer: asyncio.StreamWriter | None = None
        self._task: asyncio.Task[None] | None = None
        self._pid = 0
        """PID of the shim if it is a child that has to be reaped."""
        self._numbers = count()
        self._pending: dict[int, asyncio.Future[ExecResult]] = {}

    async def open(self) -> None:
        """Connects to the running shim or starts one; raises OSError if neither is possible."""
        try:
            reader = await self._connect()
        except OSError:
            await asyncio.to_thread(reap_leftovers, self.directory)
            self._pid = start_shim(self.directory)
            reader = await self._connect()
        self._task = asyncio.create_task(self._listen(reader))

    async def find(self) -> bool:
        """Connects to the running shim, if any."""
        try:
            reader = await self._connect()
        except OSError:
            return False
        self._task = asyncio.create_task(self._listen(reader))
        return True

    def send(self, **order: Any) -> None:
        """Sends a command."""
        if self._writer is not None:
            self._writer.write(json.dumps(order, separators=(",", ":")).encode() + b"\n")

    async def execute(self, name: str, argv: Sequence[str]) -> ExecResult:
        """Runs a command in the context of a container; cancellation ends the command."""
        if self._writer is None:
            return GONE
        number = next(self._numbers)
        answer: asyncio.Future[ExecResult] = asyncio.get_running_loop().create_future()
        self._pending[number] = answer
        self.send(do="exec", number=number, name=name, argv=[str(part) for part in argv])
        try:
            return await answer
        finally:
            del self._pending[number]
            if answer.cancelled():
                self.send(do="drop", number=number)

    async def quit(self) -> None:
        """Lets the shim end everything and exit; it is gone when this returns, by force if necessary."""
        self.send(do="quit")
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=QUIT_SECONDS)
        await self.close()
        await asyncio.to_thread(reap_leftovers, self.directory)

    async def close(self) -> None:
        """Disconnects from the shim, which continues while something is running."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._writer is not None:
            self._writer.close()
            with contextlib.suppress(OSError):
                await self._writer.wait_closed()
        self._writer = self._task = None

    async def _connect(self) -> asyncio.StreamReader:
        """Connects and receives the state that a shim sends first; an unserved socket is no shim."""
        with _short_path(self.directory) as path:
            reader, writer = await asyncio.open_unix_connection(path, limit=LINE)
        try:
            async with asyncio.timeout(GREETING_SECONDS):
                shim_state = json.loads(await reader.readline())
        except (OSError, ValueError):
            writer.close()
            raise ConnectionRefusedError(f"{self.directory}: shim does not respond") from None
        except asyncio.CancelledError:
            writer.close()
            raise
        self._writer = writer
        self._on_state(shim_state)
        return reader

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        with contextlib.suppress(OSError, ValueError):
            while line := await reader.readline():
                self._receive(json.loads(line))
        for answer in self._pending.values():
            if not answer.done():
                answer.set_result(GONE)
        if self._pid:
            await asyncio.to_thread(_collect, self._pid)
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        self._on_loss()

    def _receive(self, received: ShimFacts) -> None:
        """Processes the state or the response to a command."""
        if "answer" not in received:
            self._on_state(received)
            return
        answer = self._pending.get(int(received["answer"]))
        if answer is not None and not answer.done():
            answer.set_result(ExecResult(int(received["code"]), str(received["output"]), str(received["error"])))


def _collect(pid: int) -> None:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)


class _short_path:  # noqa: N801  used like a function
    """A path to the socket that fits into a socket address for any directory depth."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._fd = -1

    def __enter__(self) -> str:
        self._fd = os.open(self._directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        return f"/proc/self/fd/{self._fd}/{SOCKET}"

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)


def start_shim(directory: Path) -> int:
    """Starts a shim for a pod, without a terminal; secrets are passed over the socket only."""
    with _short_path(directory) as path, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        listener.bind(path)
        os.chmod(path, 0o600)
        listener.listen(4)
        errors = str(directory / "shim.err")
        # Duplicating a descriptor onto its own number would leave it closed on exec.
        spare = fcntl.fcntl(listener, fcntl.F_DUPFD_CLOEXEC, LISTENER + 1)
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0),
            (os.POSIX_SPAWN_OPEN, 2, errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600),
            (os.POSIX_SPAWN_DUP2, spare, LISTENER),
        ]
        command = shim_command("main", "serve")
        try:
            return os.posix_spawn(command[0], command, shim_environment(directory), file_actions=actions, setsid=True)
        finally:
            os.close(spare)


def reap_leftovers(directory: Path) -> dict[str, ShimFacts]:
    """Kills what a lost shim left behind, according to its last state."""
    containers: dict[str, ShimFacts] = read(str(directory)).get("containers", {})
    for facts in containers.values():
        if "ended" in facts:
            continue
        group = facts.get("cgroup")
        if not (group and leftover_processes.kill_group(group)):
            _kill_abandoned(facts)
        if group:
            with contextlib.suppress(OSError):
                os.rmdir(group)
    return containers


def _kill_abandoned(facts: ShimFacts) -> None:
    """Kills a container by session and mark; if its PID was reused, the session belongs to other processes."""
    leader = int(facts["pid"])
    is_ours = leader > 0 and start_ticks(leader) in (0, int(facts["ticks"]))
    leftover_processes.kill_abandoned(leader if is_ours else 0, str(facts["mark"]))
