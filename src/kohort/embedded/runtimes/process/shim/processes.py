"""The processes of this machine as /proc shows them; a number and the time of its start make a process this one.

Signals go to exactly the process that was seen: numbers are given anew, and soon where something forks without end.
"""

import contextlib
import errno
import os
import signal
from collections.abc import Iterable, Mapping
from typing import NamedTuple

ORPHANS_AGAIN = 3


class Process(NamedTuple):
    """A process when it was looked at."""

    parent: int
    session: int
    tasks: int
    """Its threads; one that is dead and not yet waited for still counts, as it does for the kernel."""
    ticks: int
    """When it was started, in ticks since boot."""
    is_dead: bool


def look_at(pid: int) -> Process | None:
    """A process now; None if it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    tasks = int(fields[17])
    # Other threads go on when the first has ended, though it shows as dead.
    return Process(int(fields[1]), int(fields[3]), max(tasks, 1), int(fields[19]), fields[0] in b"ZX" and tasks <= 1)


def everybody() -> dict[int, Process]:
    """All processes."""
    found: dict[int, Process] = {}
    _look_at_all((int(name) for name in os.listdir("/proc") if name.isdigit()), found)
    for _ in range(ORPHANS_AGAIN):
        # Parents that ended meanwhile have left their children to somebody else.
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
    """Everything below a process, parents before their children."""
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
    """What the kernel says of all processes in one line: a read that costs the same however many there are."""

    def __init__(self) -> None:
        self._file = os.open("/proc/loadavg", os.O_RDONLY | os.O_CLOEXEC)
        self._last = self._newest()

    def tasks(self) -> int:
        """How many processes and threads there are."""
        return int(self._fields()[3].partition(b"/")[2])

    def births(self) -> range:
        """The numbers that were given out since the last call; none, if they have begun anew."""
        before, self._last = self._last, self._newest()
        return range(before + 1, self._last + 1)

    def close(self) -> None:
        """Read no more."""
        os.close(self._file)

    def _newest(self) -> int:
        return int(self._fields()[4])

    def _fields(self) -> list[bytes]:
        return os.pread(self._file, 128, 0).split()


def start_ticks(pid: int) -> int:
    """When a process was started; 0 if it is gone."""
    process = look_at(pid)
    return process.ticks if process else 0


def send(pid: int, ticks: int, number: int) -> None:
    """Signal the process that was started then; nobody, if it is gone."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        try:
            handle = os.pidfd_open(pid)
        except OSError as error:
            # Old kernels have no handles; for a thread, which is signalled with its process, there is none either.
            if error.errno == errno.ENOSYS and start_ticks(pid) == ticks:
                os.kill(pid, number)
            return
        try:
            if start_ticks(pid) == ticks:
                signal.pidfd_send_signal(handle, number)
        finally:
            os.close(handle)
