"""Control groups (v2) for containers, where this user has one to divide: memory, CPU and process limits that hold.

Controllers that were not handed to us are left out one by one; an empty group is still good to kill its members.
"""

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

WANTED = ("memory", "cpu", "pids")
CPU_PERIOD = 100_000


@dataclass(frozen=True, slots=True)
class Groups:
    """A control group under which each container gets one of its own."""

    top: Path
    controllers: frozenset[str]

    def make(self, name: str, files: Mapping[str, str]) -> Path:
        """A group for a container; limits of controllers that are not there are left out."""
        path = self.top / name
        path.mkdir(parents=True, exist_ok=True)
        for file, value in files.items():
            if file.partition(".")[0] in self.controllers:
                with contextlib.suppress(FileNotFoundError):
                    (path / file).write_text(value)
        return path

    def close(self) -> None:
        """Give the group back, if nobody is in it."""
        with contextlib.suppress(OSError):
            self.top.rmdir()


def find_groups(given: Path | None, name: str) -> Groups | None:
    """The given control group, or this process's own, made ready for containers; None where that is not permitted."""
    own = given or own_group()
    if own is None:
        return None
    try:
        top = own / name
        top.mkdir(exist_ok=True)
        enabled = _enable(own)
        if enabled:
            _enable(top)
        if not os.access(top / "cgroup.procs", os.W_OK):
            return None
    except OSError:
        return None
    return Groups(top, frozenset(enabled))


def own_group() -> Path | None:
    """The control group of this process in the unified hierarchy."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
        mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    except OSError:
        return None
    path = next((line[3:] for line in lines if line.startswith("0::")), None)
    mount = next((fields[1] for fields in mounts if fields[2] == "cgroup2"), None)
    return None if path is None or mount is None else Path(mount) / path.lstrip("/")


def _enable(group: Path) -> set[str]:
    """Pass on the controllers that we use; those that can't be had are not."""
    for controller in WANTED:
        with contextlib.suppress(OSError):
            (group / "cgroup.subtree_control").write_text(f"+{controller}")
    return set((group / "cgroup.subtree_control").read_text().split()) & set(WANTED)


def limit_files(memory: int, millicpu: int, processes: int) -> dict[str, str]:
    """The limits of a container as files of its group; zero means none."""
    files = {"pids.max": str(processes)}
    if memory:
        files |= {"memory.max": str(memory), "memory.oom.group": "1", "memory.swap.max": "0"}
    if millicpu:
        files["cpu.max"] = f"{max(1000, millicpu * CPU_PERIOD // 1000)} {CPU_PERIOD}"
    return files
