"""Control groups (v2) for containers, if delegated to this user: memory, CPU and process limits.

Controllers that were not delegated are skipped one by one; a group without controllers still serves to kill its
members.
"""

import contextlib
import errno
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

WANTED = ("memory", "cpu", "pids")
CPU_PERIOD = 100_000
LEAF = "kohort-agent"


@dataclass(frozen=True, slots=True)
class ContainerGroups:
    """A control group with one child per container."""

    top: Path
    controllers: frozenset[str]

    def make(self, name: str, files: Mapping[str, str]) -> Path:
        """Creates the group of a container; limits of missing controllers are skipped."""
        path = self.top / name
        path.mkdir(parents=True, exist_ok=True)
        for file, value in files.items():
            if file.partition(".")[0] in self.controllers:
                with contextlib.suppress(FileNotFoundError):
                    (path / file).write_text(value)
        return path

    def forget(self, pod: str) -> None:
        """Removes the groups of a pod without processes."""
        for path in self.top.glob(f"{pod}-*"):
            with contextlib.suppress(OSError):
                path.rmdir()

    def close(self) -> None:
        """Removes the group if it is empty."""
        with contextlib.suppress(OSError):
            self.top.rmdir()


def find_groups(given: Path | None, name: str) -> ContainerGroups | None:
    """A control group prepared for containers; None if not permitted.

    Root creates one at the top, as container engines do; other users use their own if it was delegated to them.
    """
    parent = given or (_mount() if os.geteuid() == 0 else _own_group())
    if parent is None:
        return None
    try:
        top = parent / name
        top.mkdir(exist_ok=True)
        enabled = _enable(parent)
        if enabled:
            enabled = _enable(top)
    except OSError:
        return None
    if not os.access(top / "cgroup.procs", os.W_OK):
        return None
    return ContainerGroups(top, frozenset(enabled))


def _mount() -> Path | None:
    """The mount point of the unified hierarchy."""
    try:
        mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    except OSError:
        return None
    return next((Path(fields[1]) for fields in mounts if fields[2] == "cgroup2"), None)


def _own_group() -> Path | None:
    """The control group of this process."""
    mount = _mount()
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return None
    path = next((line[3:] for line in lines if line.startswith("0::")), None)
    return None if path is None or mount is None else mount / path.lstrip("/")


def _enable(group: Path) -> set[str]:
    """Enables the needed controllers for children, as far as permitted."""
    switch = group / "cgroup.subtree_control"
    for controller in WANTED:
        with contextlib.suppress(OSError):
            try:
                switch.write_text(f"+{controller}")
            except OSError as error:
                if error.errno != errno.EBUSY:
                    raise
                _step_down(group)
                switch.write_text(f"+{controller}")
    return set(switch.read_text().split()) & set(WANTED)


def _step_down(group: Path) -> None:
    """Moves this process into a leaf: a group with processes cannot delegate controllers."""
    leaf = group / LEAF
    leaf.mkdir(exist_ok=True)
    (leaf / "cgroup.procs").write_text(str(os.getpid()))


def limit_files(memory: int, millicpu: int, processes: int) -> dict[str, str]:
    """The limits of a container as files of its group; zero means none."""
    files = {"pids.max": str(processes)}
    if memory:
        files |= {"memory.max": str(memory), "memory.oom.group": "1", "memory.swap.max": "0"}
    if millicpu:
        files["cpu.max"] = f"{max(1000, millicpu * CPU_PERIOD // 1000)} {CPU_PERIOD}"
    return files
