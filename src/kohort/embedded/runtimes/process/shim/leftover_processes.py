"""Processes that a container leaves behind, found and killed, so that nothing outlives it.

A control group knows its members and kills them at once. Without one they are looked for in /proc: descendants of the
shim, which adopts orphans, that are in the container's session or carry its mark in their environment.
"""

import signal
import time
from collections.abc import Callable, Mapping

from kohort.embedded.runtimes.process.shim.processes import Load, Process, descendants, everybody, look_at, send

MARK = "KOHORT_CONTAINER"
NOBODY = -1
"""Who adopts no orphans; 0 is the parent of what has its parent outside."""
ROUNDS = 100
QUIET = 0.005
LONGEST_CHASE = 0.5
"""Seconds without a child after which a chase is over, and seconds after which it is in any case."""
UNDECIDED = 0.02
"""Seconds for which it is asked whose child a number has become."""
Processes = Mapping[int, Process]


def kill_group(path: str) -> bool:
    """Kill all members of a control group; whether the kernel can do that."""
    try:
        with open(f"{path}/cgroup.kill", "w") as file:
            file.write("1")
    except OSError:
        return False
    return True


def kill_session(leader: int, mark: str, shim: int) -> None:
    """Kill the processes that belong to a container."""
    _sweep(lambda seen: _belonging(leader, mark, shim, seen))


def kill_abandoned(leader: int, mark: str) -> None:
    """Kill the processes of a container whose shim is gone: of its session, or with its mark."""
    _sweep(
        lambda seen: {
            pid
            for pid, process in seen.items()
            if (leader and process.session == leader) or mark.encode() in _environment(pid)
        }
    )


def kill_descendants(top: int, ticks: int) -> dict[int, Process]:
    """Kill everything below the process that was started then; tells whom."""
    return _sweep(lambda seen: set(descendants(top, seen)) if top in seen and seen[top].ticks == ticks else set(), top)


def _sweep(find: Callable[[Processes], set[int]], adopter: int = NOBODY) -> dict[int, Process]:
    """Stop them all, so that none can fork while others are found; then kill them, and tell whom.

    Looking at all processes takes longer than forking one. So children of what is stopped are caught by their numbers,
    which are given out in turn, until no more are born; only then it is looked again whether all are found.
    """
    stopped: dict[int, Process] = {}
    doomed: dict[int, Process] = {}
    load = Load()
    for _ in range(ROUNDS):
        load.births()
        seen = everybody()
        doomed = {pid: seen[pid] for pid in find(seen) if not seen[pid].is_dead}
        new = {pid: process for pid, process in doomed.items() if pid not in stopped}
        if not new:
            break
        _send(new, signal.SIGSTOP)
        stopped |= new
        _chase(stopped, adopter, load)
    load.close()
    _send(doomed, signal.SIGKILL)
    # Numbers may have been given anew on the way: who does not belong by the last look may go on.
    _send({pid: process for pid, process in stopped.items() if pid not in doomed}, signal.SIGCONT)
    return doomed


def _chase(stopped: dict[int, Process], adopter: int, load: Load) -> None:
    """Stop the children that are born to what is stopped, or left to an adopter, until there are none for a while."""
    began = quiet_since = now = time.monotonic()
    given: dict[int, float] = {}
    while now - quiet_since < QUIET and now - began < LONGEST_CHASE:
        given = {pid: at for pid, at in given.items() if now - at < UNDECIDED} | dict.fromkeys(load.births(), now)
        seen = {pid: look_at(pid) for pid in given}
        new = {pid: process for pid, process in seen.items() if process and _is_child(process, stopped, adopter)}
        _send(new, signal.SIGSTOP)
        stopped |= new
        # A number is given out a moment before its process can be seen, and a parent may be on its way out.
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
