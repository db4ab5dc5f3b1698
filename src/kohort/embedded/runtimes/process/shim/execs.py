"""Additional commands in a container, for hooks and probes: each has one response; none is part of the shim's state.

They run in the context of the container and end with it at the latest.
"""

import contextlib
import os
import selectors
import signal
from collections.abc import Callable
from typing import Any

from kohort.embedded.runtimes.process.shim.spawning import Child, StartCommand, spawn

MAX_OUTPUT_BYTES = 10 << 10
"""Bytes of output that are kept."""
LAST_READS = 16


class ShimExec:
    """A running command."""

    def __init__(self, number: int, child: Child, pipe: int) -> None:
        self.number = number
        self.child = child
        self.pipe = pipe
        self.output = b""

    def read(self) -> bool:
        """Reads its output; returns whether more may follow."""
        try:
            data = os.read(self.pipe, 65536)
        except BlockingIOError:
            return True
        self.output = (self.output + data)[:MAX_OUTPUT_BYTES]
        return bool(data)

    def complaint(self) -> str:
        """Why the program could not be executed; empty if it was."""
        with contextlib.suppress(BlockingIOError):
            return os.read(self.child.errors, 4096).decode(errors="replace")
        return ""


class Execs:
    """The running commands."""

    def __init__(self, selector: selectors.BaseSelector, answer: Callable[[dict[str, Any]], None]) -> None:
        self._selector = selector
        self._answer = answer
        self._running: dict[int, ShimExec] = {}

    def start(self, number: int, order: StartCommand, argv: list[str]) -> None:
        """Runs a command with the settings of a container's start command."""
        read, write = os.pipe()
        os.set_blocking(read, False)
        try:
            found = ShimExec(number, spawn({**order, "argv": argv}, write, write), read)
        except OSError as error:
            os.close(read)
            self.refuse(number, str(error))
            return
        finally:
            os.close(write)
        self._running[found.child.pid] = found
        self._selector.register(read, selectors.EVENT_READ, lambda: self._read(found))

    def refuse(self, number: int, why: str) -> None:
        """Responds that a command cannot be run."""
        self._answer({"answer": number, "code": 128, "output": "", "error": why})

    def drop(self, number: int) -> None:
        """Kills a command whose caller is gone."""
        for found in self._running.values():
            if found.number == number:
                _kill(found.child.pid)

    def drop_all(self) -> None:
        """Kills all commands: the agent is gone."""
        for found in self._running.values():
            self.drop(found.number)
            found.number = -1

    def ended(self, pid: int, code: int) -> None:
        """Handles the exit of a child that may be one of these commands."""
        found = self._running.pop(pid, None)
        if found is None:
            return
        for _ in range(LAST_READS):
            before = len(found.output)
            if not found.read() or len(found.output) == before:
                break
        error = found.complaint()
        self._close(found)
        if found.number >= 0:
            output = found.output.decode(errors="replace")
            self._answer({"answer": found.number, "code": code, "output": output, "error": error})

    def _read(self, found: ShimExec) -> None:
        if not found.read():
            self._selector.unregister(found.pipe)

    def _close(self, found: ShimExec) -> None:
        with contextlib.suppress(KeyError):
            self._selector.unregister(found.pipe)
        os.close(found.pipe)
        os.close(found.child.errors)


def _kill(pid: int) -> None:
    """Kills a command with its children; one that was just forked has no process group yet."""
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError):
            kill(pid, signal.SIGKILL)
            return
