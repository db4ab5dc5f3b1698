"""Processes that a container leaves behind, found and killed, so that nothing outlives it.

A control group knows its members and kills them at once. Without one they are looked for in /proc: descendants of the
shim, which adopts orphans, that are in the container's session or carry its mark in their environment.
"""

import signal
from collections.abc import Callable, Mapping

from kohort.embedded.runtimes.process.shim.processes import Process, descendants, everybody, send

MARK = "KOHORT_CONTAINER"
ROUNDS = 100
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


def kill_descendants(top: int) -> None:
    """Kill everything below a process, which must not end meanwhile."""
    _sweep(lambda seen: set(descendants(top, seen)))


def _sweep(find: Callable[[Processes], set[int]]) -> None:
    """Stop them all, so that none can fork while others are found; then kill them.

    Who is stopped is not looked at again, so that a round is the shorter the less is left, and outruns what forks.
    """
    stopped: dict[int, Process] = {}
    for _ in range(ROUNDS):
        new = _living(find, everybody(stopped))
        for pid in stopped:
            new.pop(pid, None)
        if not new:
            break
        _send(new, signal.SIGSTOP)
        stopped |= new
    # Numbers may have been given anew on the way: only who belongs by a fresh look is killed, others may go on.
    doomed = _living(find, everybody())
    _send(doomed, signal.SIGKILL)
    _send({pid: process for pid, process in stopped.items() if pid not in doomed}, signal.SIGCONT)


def _living(find: Callable[[Processes], set[int]], seen: Processes) -> dict[int, Process]:
    return {pid: seen[pid] for pid in find(seen) if not seen[pid].is_dead}


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
