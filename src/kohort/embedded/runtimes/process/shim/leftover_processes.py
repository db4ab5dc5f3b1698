"""Finds and kills the processes that a container leaves behind.

A control group kills its members at once. Without one they are found in /proc: descendants of the shim, which is a
subreaper, that are in the container's session or have its mark in their environment.
"""

import signal
import time
from collections.abc import Callable, Mapping

from kohort.embedded.runtimes.process.shim.processes import Load, Process, all_processes, descendants, look_at, send

MARK = "KOHORT_CONTAINER"
NO_ADOPTER = -1
"""PID that adopts no orphans; 0 is the parent of processes whose parent is outside the PID namespace."""
ROUNDS = 100
QUIET = 0.005
MAX_SEARCH_SECONDS = 0.5
"""Seconds without a new child after which the search ends, and its maximum duration."""
PARENT_WAIT = 0.02
"""Seconds to wait until the parent of a new PID is visible."""
Processes = Mapping[int, Process]


def kill_group(path: str) -> bool:
    """Kills all members of a control group; returns whether the kernel supports it."""
    try:
        with open(f"{path}/cgroup.kill", "w") as file:
            file.write("1")
    except OSError:
        return False
    return True


def kill_session(leader: int, mark: str, shim: int) -> None:
    """Kills the processes of a container."""
    _sweep(lambda seen: _belonging(leader, mark, shim, seen))


def kill_abandoned(leader: int, mark: str) -> None:
    """Kills the processes of a container whose shim is gone: by session or mark."""
    _sweep(
        lambda seen: {
            pid
            for pid, process in seen.items()
            if (leader and process.session == leader) or mark.encode() in _environment(pid)
        }
    )


def kill_descendants(top: int, ticks: int) -> dict[int, Process]:
    """Kills all descendants of a process identified by its start time; returns them."""
    return _sweep(lambda seen: set(descendants(top, seen)) if top in seen and seen[top].ticks == ticks else set(), top)


def _sweep(find: Callable[[Processes], set[int]], adopter: int = NO_ADOPTER) -> dict[int, Process]:
    """Stops all matching processes, so that none can fork while others are found; then kills them and returns them.

    Scanning all processes takes longer than forking one. So children of stopped processes are caught by their PIDs,
    which are allocated sequentially, until none are created any more; then the scan is repeated.
    """
    stopped: dict[int, Process] = {}
    targets: dict[int, Process] = {}
    load = Load()
    for _ in range(ROUNDS):
        load.births()
        seen = all_processes()
        targets = {pid: seen[pid] for pid in find(seen) if not seen[pid].is_dead}
        new = {pid: process for pid, process in targets.items() if pid not in stopped}
        if not new:
            break
        _send(new, signal.SIGSTOP)
        stopped |= new
        _stop_children(stopped, adopter, load)
    load.close()
    _send(targets, signal.SIGKILL)
    # PIDs may have been reused meanwhile: processes that no longer match are continued.
    _send({pid: process for pid, process in stopped.items() if pid not in targets}, signal.SIGCONT)
    return targets


def _stop_children(stopped: dict[int, Process], adopter: int, load: Load) -> None:
    """Stops the children of stopped processes, or those adopted, until none appear for a while."""
    began = quiet_since = now = time.monotonic()
    given: dict[int, float] = {}
    while now - quiet_since < QUIET and now - began < MAX_SEARCH_SECONDS:
        given = {pid: at for pid, at in given.items() if now - at < PARENT_WAIT} | dict.fromkeys(load.births(), now)
        seen = {pid: look_at(pid) for pid in given}
        new = {pid: process for pid, process in seen.items() if process and _is_child(process, stopped, adopter)}
        _send(new, signal.SIGSTOP)
        stopped |= new
        # A PID is allocated a moment before its process is visible, and its parent may be exiting.
        given = {pid: at for pid, at in given.items() if not (found := seen[pid]) or found.parent in given}
        now = time.monotonic()
        quiet_since = now if new else quiet_since


def _is_child(process: Process, stopped: Processes, adopter: int) -> bool:
    return process.parent in stopped or process.parent == adopter


def _send(processes: Processes, number: int) -> None:
    for pid, process in processes.items():
        send(pid, process.ticks, number)


def _belonging(leader: int, mark: str, shim: int, seen: Processes) -> set[int]:
    return {
        pid
        for pid in descendants(shim, seen)
        if pid == leader or seen[pid].session == leader or mark.encode() in _environment(pid)
    }


def _environment(pid: int) -> list[bytes]:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read(1 << 20).split(b"\0")
    except OSError:
        return []
