"""Settings of pods that run as processes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from kohort.embedded.runtimes.downward import MachineInfo

MIB = 1 << 20
ORPHANS_AGAIN = 10.0
MAX_ORPHANS_AGAIN = 600.0
"""Initial and maximum seconds between checks of unclaimed pods against the API; doubling."""


class AtStop(Enum):
    """What happens to pods when the agent stops."""

    LEAVE = "leave"
    """They continue, and the next agent adopts them, as with a restarted kubelet."""
    END = "end"
    """They are stopped with SIGTERM first; the next agent reports how they terminated."""


@dataclass(frozen=True, slots=True)
class ProcessSettings:
    """How pods run on this machine."""

    data: Path
    """Directory for scratch data, logs and state of pods; accessible to this user only."""
    devices: Mapping[str, int] = field(default_factory=dict)
    """Devices that can be assigned, such as `nvidia.com/gpu`: 2."""
    host_paths: tuple[str, ...] = ()
    """Directories of this machine that pods may mount with hostPath; none by default."""
    inherit: tuple[str, ...] = ("PATH", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH")
    """Variables of the agent that containers inherit; others are not passed on, since they may be secret."""
    own_roots: bool = True
    """Whether containers see volumes at their mount paths, if the machine permits it; then `/` is a copy."""
    processes: int = 4096
    """Maximum number of processes and threads of a container."""
    log_size: int = 10 * MIB
    """Size of a log file in bytes; a container has two."""
    log_rate: int = 32 * MIB
    """Bytes per second that a container may print in the long run before it is throttled."""
    cgroup: Path | None = None
    """A delegated control group (v2); detected by default."""
    at_stop: AtStop = AtStop.LEAVE
    facts: MachineInfo = field(default_factory=MachineInfo)
