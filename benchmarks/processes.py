"""What processes cost, by the kernel's own count."""

import os
import re
from collections.abc import Iterable
from pathlib import Path

import benchmarks.servers  # noqa: F401  which puts the tests on the path
from kit.processes import ChildProcess


def resident_mb(children: Iterable[ChildProcess]) -> float:
    """Memory of processes together."""
    pages = sum(int(Path(f"/proc/{each.process.pid}/statm").read_text().split()[1]) for each in children)
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def cpu_seconds(children: Iterable[ChildProcess]) -> float:
    """Time that processes have computed so far."""
    stats = [Path(f"/proc/{each.process.pid}/stat").read_text().rpartition(")")[2].split() for each in children]
    return sum(int(each[11]) + int(each[12]) for each in stats) / os.sysconf("SC_CLK_TCK")


def peak_megabytes(child: ChildProcess) -> float:
    """Memory of a process at its largest."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{child.process.pid}/status").read_text())
    return int(found[1]) / 1000 if found else 0.0
