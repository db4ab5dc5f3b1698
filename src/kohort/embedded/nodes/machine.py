"""This machine as a node: the CPUs and memory available to this process, and its GPUs.

Nothing here may fail or hang: unknown values are left out, and nvidia-smi has a timeout.
"""

import asyncio
import contextlib
import os
import platform
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kohort.embedded.nodes.declared import PODS, DeclaredNode

GPU = "nvidia.com/gpu"
_STOP_TIMEOUT = 5.0
_CGROUP = Path("/sys/fs/cgroup")
_PROC = Path("/proc")
_UNLIMITED = 2**60
"""Value that cgroup v1 reports instead of no limit."""
_NOT_IN_LABELS = re.compile(r"[^A-Za-z0-9_.-]+")
_QUERY = ("--query-gpu=name,memory.total", "--format=csv,noheader,nounits")


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU."""

    model: str
    mebibytes: int = 0


async def this_machine(name: str = "") -> DeclaredNode:
    """This machine as a node, by default named after the host."""
    gpus = await find_gpus()
    capacity = {
        "cpu": str(cpus()),
        "memory": f"{memory() // 1024}Ki",
        "ephemeral-storage": f"{shutil.disk_usage('/').total // 1024}Ki",
        "pods": PODS,
    }
    if gpus:
        capacity[GPU] = str(len(gpus))
    return DeclaredNode(name or node_name(platform.node()), capacity, labels=gpu_labels(gpus))


def node_name(host: str) -> str:
    """Converts a host name to a valid node name."""
    name = re.sub(r"[^a-z0-9.-]+", "-", host.lower()).strip("-.")
    return name[:253].strip("-.") or "localhost"


def cpus(cgroup: Path = _CGROUP) -> int:
    """Number of CPUs available by affinity and cgroup quota."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota, period = _cpu_quota(cgroup)
    return max(1, min(allowed, quota // period)) if quota > 0 < period else allowed


def _cpu_quota(cgroup: Path) -> tuple[int, int]:
    words = _text(cgroup / "cpu.max").split()
    if len(words) == 2:
        return _number(words[0]), _number(words[1])
    old = cgroup / "cpu"
    return _number(_text(old / "cpu.cfs_quota_us")), _number(_text(old / "cpu.cfs_period_us"))


def memory(cgroup: Path = _CGROUP, proc: Path = _PROC) -> int:
    """Bytes of memory available: the machine's or its cgroup's limit."""
    total = re.search(r"^MemTotal:\s+(\d+) kB", _text(proc / "meminfo"), re.MULTILINE)
    known = [int(total[1]) * 1024] if total else []
    limits = (_number(_text(cgroup / name)) for name in ("memory.max", "memory/memory.limit_in_bytes"))
    known += [limit for limit in limits if 0 < limit < _UNLIMITED]
    return min(known, default=2**30)


async def find_gpus(program: str = "nvidia-smi", patience: float = _STOP_TIMEOUT) -> tuple[Gpu, ...]:
    """The GPUs that nvidia-smi lists; none if it is missing, fails or times out."""
    found = shutil.which(program)
    if found is None:
        return ()
    process = await asyncio.create_subprocess_exec(
        found,
        *_QUERY,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(patience):
            out, _ = await process.communicate()
    except TimeoutError:
        await _kill(process)
        return ()
    return read_gpus(out.decode(errors="replace")) if process.returncode == 0 else ()


async def _kill(process: asyncio.subprocess.Process) -> None:
    """Kills a hanging program; one that does not exit even then, as with a broken driver, is left to the system."""
    process.kill()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(1.0):
            await process.communicate()


def read_gpus(text: str) -> tuple[Gpu, ...]:
    """Parses one GPU per line: model and MiB of memory."""
    lines = (line.rpartition(",") for line in text.splitlines() if line.strip())
    return tuple(Gpu(model.strip() or size.strip(), _number(size.strip())) for model, _, size in lines)


def gpu_labels(gpus: Sequence[Gpu]) -> Mapping[str, str]:
    """Labels as set by GPU feature discovery; the first GPU represents all."""
    if not gpus:
        return {}
    model = _NOT_IN_LABELS.sub("-", gpus[0].model).strip("-_.")[:63].strip("-_.")
    labels = {f"{GPU}.product": model, f"{GPU}.count": str(len(gpus)), f"{GPU}.present": "true"}
    return labels | ({f"{GPU}.memory": str(gpus[0].mebibytes)} if gpus[0].mebibytes else {})


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _number(text: str) -> int:
    text = text.strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 0
