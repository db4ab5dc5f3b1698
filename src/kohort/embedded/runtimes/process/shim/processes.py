"""Processes in /proc; PID and start time identify a process.

Signals go to exactly that process: PIDs are reused, and soon while a fork bomb runs.
"""

import contextlib
import errno
import os
import signal
from collections.abc import Iterable, Mapping
from typing import NamedTuple

ORPHANS_AGAIN = 3


class Process(NamedTuple):
    """A process at the time of reading."""

    parent: int
    session: int
    tasks: int
    """Number of threads; zombies count, as in the kernel."""
    ticks: int
    """Start time in ticks since boot."""
    is_dead: bool


def look_at(pid: int) -> Process | None:
    """Reads a process; None if it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    tasks = int(fields[17])
    # Other threads continue after the main thread has exited, although the process shows as a zombie.
    return Process(int(fields[1]), int(fields[3]), max(tasks, 1), int(fields[19]), fields[0] in b"ZX" and tasks <= 1)


def all_processes() -> dict[int, Process]:
    """All processes."""
    found: dict[int, Process] = {}
    _look_at_all((int(name) for name in os.listdir("/proc") if name.isdigit()), found)
    for _ in range(ORPHANS_AGAIN):
        # Parents that exited meanwhile have left their children to an adopter.
        _look_at_all([pid for pid, process in found.items() if process.parent and process.parent not in found], found)
    return found


def _look_at_all(pids: Iterable[int], found: dict[int, Process]) -> None:
    for pid in pids:
        process = look_at(pid)
        if process:
            found[pid] = process
        else:
            found.pop(pid, None)


def descendants(top: int, processes: Mapping[int, Process]) -> list[int]:
    """All descendants of a process, parents before their children."""
    children: dict[int, list[int]] = {}
    for pid, process in processes.items():
        children.setdefault(process.parent, []).append(pid)
    found, todo = [], [top]
    while todo:
        below = children.pop(todo.pop(), [])
        found += below
        todo += below
    return found


class Load:
    """System-wide task counts from one line of /proc, at constant cost."""

    def __init__(self) -> None:
        self._file = os.open("/proc/loadavg", os.O_RDONLY | os.O_CLOEXEC)
        self._last = self._newest()

    def tasks(self) -> int:
        """Number of processes and threads."""
        return int(self._fields()[3].partition(b"/")[2])

    def births(self) -> range:
        """PIDs allocated since the last call; none after a wrap-around."""
        before, self._last = self._last, self._newest()
        return range(before + 1, self._last + 1)

    def close(self) -> None:
        """Closes the file."""
        os.close(self._file)

    def _newest(self) -> int:
        return int(self._fields()[4])

    def _fields(self) -> list[bytes]:
        return os.pread(self._file, 128, 0).split()


def start_ticks(pid: int) -> int:
    """Start time of a process; 0 if it is gone."""
    process = look_at(pid)
    return process.ticks if process else 0


def send(pid: int, ticks: int, number: int) -> None:
    """Signals the process with this start time; does nothing if it is gone."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        try:
            handle = os.pidfd_open(pid)
        except OSError as error:
            # Old kernels have no pidfd; there is none for threads either.
            if error.errno == errno.ENOSYS and start_ticks(pid) == ticks:
                os.kill(pid, number)
            return
        try:
            if start_ticks(pid) == ticks:
                signal.pidfd_send_signal(handle, number)
        finally:
            os.close(handle)
