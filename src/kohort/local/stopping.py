"""Stops a cluster of another process: SIGTERM, a grace period, then SIGKILL."""

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final

from kohort.local.directories import ClusterDirectory
from kohort.local.runs import ClusterRun, PodsAfterStop, has_rebooted_since, is_locked, last_run
from kohort.terminal.counts import counted

GRACE_SECONDS: Final = 40.0
"""Longer than the shutdown timeout of a cluster."""
_LAST_SECONDS: Final = 5.0
_PAUSE_SECONDS: Final = 0.05
_PODS_LEFT: Final = "pods are left running and adopted at the next start"


class StopResult(Enum):
    """How a cluster was stopped."""

    IDLE = "not running"
    STOPPED = "stopped"
    KILLED = "did not stop in time and was killed"
    FOREIGN = "process belongs to another user"
    STUCK = "process could not be killed"


@dataclass(frozen=True, slots=True)
class StopOutcome:
    """The result of stopping a cluster."""

    directory: ClusterDirectory
    how: StopResult
    run: ClusterRun | None = None

    @property
    def is_clean(self) -> bool:
        """Whether it is stopped, and was not killed."""
        return self.how in (StopResult.IDLE, StopResult.STOPPED)


def stop(
    directory: ClusterDirectory, waiting: Callable[[ClusterRun], None], grace: float = GRACE_SECONDS
) -> StopOutcome:
    """Stop the process of a cluster; `waiting` is called after SIGTERM was sent."""
    run = _holder(directory)
    if run is None:
        return StopOutcome(directory, StopResult.IDLE, last_run(directory))
    try:
        os.kill(run.pid, signal.SIGTERM)
        waiting(run)
        if _is_gone(directory, grace):
            return StopOutcome(directory, StopResult.STOPPED, last_run(directory))
        os.kill(run.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # exited meanwhile
    except PermissionError:
        return StopOutcome(directory, StopResult.FOREIGN, run)
    return StopOutcome(directory, StopResult.KILLED if _is_gone(directory, _LAST_SECONDS) else StopResult.STUCK, run)


def _holder(directory: ClusterDirectory) -> ClusterRun | None:
    """The current run; its record is written shortly after the lock is taken."""
    deadline = time.monotonic() + _LAST_SECONDS
    while is_locked(directory) and time.monotonic() < deadline:
        run = last_run(directory)
        if run is not None and run.ended is None and has_open(run.pid, directory.lock):
            return run
        time.sleep(_PAUSE_SECONDS)
    return None


def has_open(pid: int, file: Path) -> bool:
    """Whether a process has a file open, so that no other process is killed; True if that cannot be determined."""
    try:
        descriptors = list(Path(f"/proc/{pid}/fd").iterdir())
    except FileNotFoundError:
        return not Path("/proc/self").exists()
    except PermissionError:
        return True
    return any(_is_same(each, file) for each in descriptors)


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _is_gone(directory: ClusterDirectory, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while is_locked(directory):
        if time.monotonic() > deadline:
            return False
        time.sleep(_PAUSE_SECONDS)
    return True


def pods_text(outcome: StopOutcome) -> str:
    """The state of the pods of a stopped cluster."""
    run = outcome.run
    if run is None or outcome.how in (StopResult.FOREIGN, StopResult.STUCK):
        return ""
    if outcome.how is StopResult.KILLED or run.ended is None:
        return _PODS_LEFT if run.pods is not PodsAfterStop.SIMULATED else ""
    return left_over(run.pods, run.ended.running_pods)


def left_over(pods: PodsAfterStop, running: int) -> str:
    """The state of pods that were running when their cluster stopped."""
    if pods is PodsAfterStop.SIMULATED:
        return "pods are simulated"
    if not running:
        return "no running pods"
    many = counted(running, "pod")
    return f"{many} left running" if pods is PodsAfterStop.LEFT else f"{many} terminated"


def since_then(run: ClusterRun) -> str:
    """The state of the pods of a past run, as far as known without a running cluster."""
    if run.pods is PodsAfterStop.SIMULATED:
        return "pods are simulated"
    if has_rebooted_since(run):
        return "machine rebooted since, so running pods are lost"
    if not run.keeps:
        return "pods are left running and terminated at the next start"
    if run.ended is None:
        return _PODS_LEFT
    return left_over(run.pods, run.ended.running_pods)
