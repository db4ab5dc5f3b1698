"""Processes that a container leaves behind, found and killed, so that nothing outlives it.

A control group knows its members and kills them at once. Without one they are looked for in /proc: descendants of the
shim, which adopts orphans, that are in the container's session or carry its mark in their environment.
"""

import contextlib
import os
import signal
from collections.abc import Callable

MARK = "KOHORT_CONTAINER"
ROUNDS = 100


def kill_group(path: str) -> bool:
    """Kill all members of a control group; whether the kernel can do that."""
    try:
        with open(f"{path}/cgroup.kill", "w") as file:
            file.write("1")
    except OSError:
        return False
    return True


def kill_session(leader: int, mark: str, shim: int) -> None:
    """Kill the processes that belong to a container, those first that were born while we looked."""
    _sweep(lambda: _belonging(leader, mark, shim))


def kill_abandoned(leader: int, mark: str) -> None:
    """Kill the processes of a container whose shim is gone: of its session, or with its mark."""
    _sweep(
        lambda: {
            pid
            for pid, (_, session) in parents().items()
            if (leader and session == leader) or mark.encode() in _environment(pid)
        }
    )


def kill_descendants(shim: int) -> None:
    """Kill everything below a process."""
    _sweep(lambda: set(descendants(shim, parents())))


def start_ticks(pid: int) -> int:
    """When a process was started, in ticks since boot: with its number, what makes it this process; 0 if it is gone."""
    fields = _stat(pid)
    return int(fields[19]) if fields else 0


def _sweep(find: Callable[[], set[int]]) -> None:
    """Stop them all, so that none can fork while others are found; then kill them."""
    found: set[int] = set()
    for _ in range(ROUNDS):
        new = find() - found
        if not new:
            break
        found |= new
        _send(new, signal.SIGSTOP)
    _send(found, signal.SIGKILL)


def _send(pids: set[int], number: int) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _belonging(leader: int, mark: str, shim: int) -> set[int]:
    stats = parents()
    return {
        pid
        for pid in descendants(shim, stats)
        if pid == leader or stats[pid][1] == leader or mark.encode() in _environment(pid)
    }


def parents() -> dict[int, tuple[int, int]]:
    """Parent and session of every process that is not dead already."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            fields = _stat(int(name))
            if fields and fields[0] != "Z":
                found[int(name)] = (int(fields[1]), int(fields[3]))
    return found


def descendants(top: int, stats: dict[int, tuple[int, int]]) -> list[int]:
    """Everything below a process."""
    children: dict[int, list[int]] = {}
    for pid, (parent, _) in stats.items():
        children.setdefault(parent, []).append(pid)
    found, todo = [], [top]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return found


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the state on."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()
    except OSError:
        return []


def _environment(pid: int) -> list[bytes]:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read(1 << 20).split(b"\0")
    except OSError:
        return []
