"""The processes of this machine as /proc shows them; a number and the time of its start make a process this one.

Signals go to exactly the process that was seen: numbers are given anew, and soon where something forks without end.
"""

import contextlib
import errno
import os
import signal
from collections.abc import Mapping
from typing import NamedTuple

_NOBODY: Mapping[int, "Process"] = {}


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


def everybody(known: Mapping[int, Process] = _NOBODY) -> dict[int, Process]:
    """All processes; those that are known already are not looked at again."""
    found = dict(known)
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) not in known and (process := look_at(int(name))):
            found[int(name)] = process
    return found


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
            if error.errno != errno.ENOSYS:
                raise
            if start_ticks(pid) == ticks:
                os.kill(pid, number)
            return
        try:
            if start_ticks(pid) == ticks:
                signal.pidfd_send_signal(handle, number)
        finally:
            os.close(handle)
