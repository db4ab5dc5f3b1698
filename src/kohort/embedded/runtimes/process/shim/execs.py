"""Commands beside a container's own, for hooks and probes: each is answered once, and none of it is in the book.

They run in the surroundings of the container and end with it at the latest.
"""

import contextlib
import os
import selectors
import signal
from collections.abc import Callable
from typing import Any

from kohort.embedded.runtimes.process.shim.spawning import Child, Order, spawn

MOST_OUTPUT = 10 << 10
"""Bytes that are kept of what a command prints."""
LAST_READS = 16


class ShimExec:
    """A command that runs."""

    def __init__(self, number: int, child: Child, pipe: int) -> None:
        self.number = number
        self.child = child
        self.pipe = pipe
        self.output = b""

    def read(self) -> bool:
        """Take in what it printed; whether more may come."""
        try:
            data = os.read(self.pipe, 65536)
        except BlockingIOError:
            return True
        self.output = (self.output + data)[:MOST_OUTPUT]
        return bool(data)

    def complaint(self) -> str:
        """Why the program could not be run; nothing where it was."""
        with contextlib.suppress(BlockingIOError):
            return os.read(self.child.errors, 4096).decode(errors="replace")
        return ""


class Execs:
    """The commands that run now."""

    def __init__(self, selector: selectors.BaseSelector, answer: Callable[[dict[str, Any]], None]) -> None:
        self._selector = selector
        self._answer = answer
        self._running: dict[int, ShimExec] = {}

    def start(self, number: int, order: Order, argv: list[str]) -> None:
        """Run a command as a container would be run by this order."""
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
        """Answer that a command can't be run."""
        self._answer({"answer": number, "code": 128, "output": "", "error": why})

    def drop(self, number: int) -> None:
        """End a command that nobody waits for any more."""
        for found in self._running.values():
            if found.number == number:
                _kill(found.child.pid)

    def drop_all(self) -> None:
        """End all commands: who asked for them is gone."""
        for found in self._running.values():
            self.drop(found.number)
            found.number = -1

    def ended(self, pid: int, code: int) -> None:
        """A child of the shim has ended, perhaps one of these."""
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
    """Kill a command with its children; one that was only just forked leads no group yet."""
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError):
            kill(pid, signal.SIGKILL)
            return
