"""What an administrator may decide about pods that run as processes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from kohort.embedded.runtimes.downward import MachineInfo

MIB = 1 << 20
ORPHANS_AGAIN = 10.0
LONGEST_ORPHANS_AGAIN = 600.0
"""Seconds until the API is asked again about pods that nobody has claimed; doubling, up to the second."""


class AtStop(Enum):
    """What becomes of pods when the agent is told to go down."""

    LEAVE = "leave"
    """They run on, and the next agent finds them; as with a kubelet that is restarted."""
    END = "end"
    """They are ended, SIGTERM first; the next agent reports how they ended."""


@dataclass(frozen=True, slots=True)
class ProcessSettings:
    """How pods run on this machine."""

    data: Path
    """Directory for scratch, logs and books of pods; only this user may look into it."""
    devices: Mapping[str, int] = field(default_factory=dict)
    """Devices that can be assigned, such as `nvidia.com/gpu`: 2."""
    host_paths: tuple[str, ...] = ()
    """Directories of this machine that pods may mount with hostPath; none by default."""
    inherit: tuple[str, ...] = ("PATH", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH")
    """Variables of the agent that containers get; everything else stays behind, since it may be secret."""
    own_roots: bool = True
    """Whether containers see their volumes at the mount paths, where the machine permits it; then `/` is a copy."""
    processes: int = 4096
    """Most processes and threads of a container."""
    log_size: int = 10 * MIB
    """Bytes of a log file; a container has two."""
    log_rate: int = 32 * MIB
    """Bytes per second that a container may print in the long run before it is slowed down."""
    cgroup: Path | None = None
    """A control group (v2) that is ours to divide; found by itself where there is one."""
    at_stop: AtStop = AtStop.LEAVE
    facts: MachineInfo = field(default_factory=MachineInfo)
