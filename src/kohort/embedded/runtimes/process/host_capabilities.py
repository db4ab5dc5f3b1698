"""Capabilities of this machine, detected once at start-up."""

import asyncio
import contextlib
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import kohort
from kohort.embedded.runtimes.process.cgroups import ContainerGroups, find_groups
from kohort.embedded.runtimes.process.shim.state import DIRECTORY_VARIABLE
from kohort.embedded.runtimes.settings import ProcessSettings

PROBE_SECONDS = 10.0
_SOURCE = str(Path(kohort.__file__).parent.parent)


@dataclass(frozen=True, slots=True)
class HostCapabilities:
    """What is available for containers."""

    groups: ContainerGroups | None = None
    own_roots: bool = False
    """Whether mount namespaces allow volumes at their mount paths."""
    why_not: str = ""
    is_root: bool = False

    @property
    def counts_processes(self) -> bool:
        """Whether the kernel enforces the process limit of containers of every user."""
        return self.groups is not None and "pids" in self.groups.controllers


def shim_command(module: str, function: str) -> list[str]:
    """The command that runs a shim function: without site packages, so that it starts fast and stays small.

    Process lists are public, so the directory, which names the pod, is passed in the environment.
    """
    code = (
        f"import sys; sys.path.insert(0, {_SOURCE!r}); "
        f"from kohort.embedded.runtimes.process.shim.{module} import {function}; {function}()"
    )
    return [sys.executable, "-I", "-S", "-c", code]


def shim_environment(directory: Path) -> Mapping[str, str]:
    """The environment of a shim: its directory and the search path."""
    return {"PATH": os.environ.get("PATH", os.defpath), DIRECTORY_VARIABLE: str(directory)}


async def detect_capabilities(settings: ProcessSettings) -> HostCapabilities:
    """Detects the capabilities."""
    groups = await asyncio.to_thread(find_groups, settings.cgroup, _group_name(settings.data))
    why_not = await _try_roots(settings.data / "probe") if settings.own_roots else "switched off by the settings"
    return HostCapabilities(groups, not why_not, why_not, os.geteuid() == 0)


def _group_name(data: Path) -> str:
    """The same for every agent with this data directory, so that the next one finds the groups."""
    return f"kohort-{sha256(str(data.resolve()).encode()).hexdigest()[:12]}"


async def _try_roots(directory: Path) -> str:
    directory.mkdir(mode=0o700, exist_ok=True)
    try:
        return await _probe(directory)
    finally:
        with contextlib.suppress(OSError):
            directory.rmdir()


async def _probe(directory: Path) -> str:
    process = await asyncio.create_subprocess_exec(
        *shim_command("main", "probe"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env=shim_environment(directory),
    )
    try:
        _, complaint = await asyncio.wait_for(process.communicate(), PROBE_SECONDS)
    except TimeoutError:
        process.kill()
        await process.wait()
        return "trying it took too long"
    return "" if process.returncode == 0 else (complaint.decode(errors="replace").strip() or "not permitted")
