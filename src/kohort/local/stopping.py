"""Stopping a cluster of another process: asked first, given time, ended if need be; and what that means is said."""

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final

from kohort.local.directories import ClusterDirectory
from kohort.local.runs import ClusterRun, PodsAfterStop, has_rebooted_since, is_claimed, last_run

GRACE_SECONDS: Final = 40.0
"""A little more than a cluster gives itself to end."""
_LAST_SECONDS: Final = 5.0
_PAUSE_SECONDS: Final = 0.05


class StopResult(Enum):
    """How it came to an end."""

    IDLE = "it did not run"
    STOPPED = "it stopped as it was asked to"
    KILLED = "it did not stop in time and was killed"
    FOREIGN = "it runs as somebody else, who alone can stop it"
    STUCK = "it could not even be killed"


@dataclass(frozen=True, slots=True)
class StopOutcome:
    """What became of a cluster that was to stop."""

    place: ClusterDirectory
    how: StopResult
    run: ClusterRun | None = None

    @property
    def is_well(self) -> bool:
        """Whether it does not run, and nothing had to be forced."""
        return self.how in (StopResult.IDLE, StopResult.STOPPED)


def stop(place: ClusterDirectory, waiting: Callable[[ClusterRun], None], grace: float = GRACE_SECONDS) -> StopOutcome:
    """Stop the process that has a cluster; `waiting` is called once it was asked."""
    run = _holder(place)
    if run is None:
        return StopOutcome(place, StopResult.IDLE, last_run(place))
    try:
        os.kill(run.pid, signal.SIGTERM)
        waiting(run)
        if _is_gone(place, grace):
            return StopOutcome(place, StopResult.STOPPED, last_run(place))
        os.kill(run.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # it ended by itself meanwhile
    except PermissionError:
        return StopOutcome(place, StopResult.FOREIGN, run)
    return StopOutcome(place, StopResult.KILLED if _is_gone(place, _LAST_SECONDS) else StopResult.STUCK, run)


def _holder(place: ClusterDirectory) -> ClusterRun | None:
    """The run that has the cluster; its record is written an instant after its lock is taken."""
    deadline = time.monotonic() + _LAST_SECONDS
    while is_claimed(place) and time.monotonic() < deadline:
        run = last_run(place)
        if run is not None and run.ended is None and has_open(run.pid, place.lock):
            return run
        time.sleep(_PAUSE_SECONDS)
    return None


def has_open(pid: int, file: Path) -> bool:
    """Whether a process has a file open, so that no other one is ended instead; believed where that can't be seen."""
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


def _is_gone(place: ClusterDirectory, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while is_claimed(place):
        if time.monotonic() > deadline:
            return False
        time.sleep(_PAUSE_SECONDS)
    return True


def pods_in_words(outcome: StopOutcome) -> str:
    """What became of the pods of a cluster."""
    run = outcome.run
    if run is None or outcome.how in (StopResult.FOREIGN, StopResult.STUCK):
        return ""
    if outcome.how is StopResult.KILLED or run.ended is None:
        return "pods that ran go on, and the next start finds them" if run.pods is not PodsAfterStop.SIMULATED else ""
    return left_over(run.pods, run.ended.running_pods)


def left_over(pods: PodsAfterStop, running: int) -> str:
    """What became of so many pods that ran when their cluster stopped."""
    if pods is PodsAfterStop.SIMULATED:
        return "its pods were simulated"
    if not running:
        return "no pods were running"
    many = f"{running} running pod" if running == 1 else f"{running} running pods"
    if pods is PodsAfterStop.LEFT:
        return (
            f"{many} {'goes' if running == 1 else 'go'} on, and the next start finds {'it' if running == 1 else 'them'}"
        )
    return f"{many} {'was' if running == 1 else 'were'} ended"


def since_then(run: ClusterRun) -> str:
    """What has become of the pods of a run that is over, as far as that can be known from outside."""
    if run.pods is PodsAfterStop.SIMULATED:
        return "its pods were simulated"
    if has_rebooted_since(run):
        return "the machine was restarted since, so pods that ran are gone: the next start says so"
    if not run.keeps:
        return "pods that ran go on until its next start, which ends them"
    if run.ended is None:
        return "pods that ran go on, and the next start finds them"
    return left_over(run.pods, run.ended.running_pods)
