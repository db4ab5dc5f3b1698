"""Who runs a cluster, or ran it last.

A lock that the kernel takes back, however the process ends, says whether it runs: no process id can be mistaken for
another's after a crash or a reboot. The record beside it only says what is to be said about the run.
"""

import errno
import fcntl
import os
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from shlex import quote
from typing import Final

import msgspec

from kohort import __version__
from kohort.api.errors import ApiError
from kohort.embedded.auth.files import write_private
from kohort.local.directories import DEFAULT_NAME, ClusterDirectory, cluster_directories, cluster_directory

_OWNER_ONLY: Final = 0o600
_FULL: Final = (errno.ENOSPC, errno.EDQUOT)
_GLANCE_SECONDS: Final = 0.5
"""For so long a lock may be held by somebody who only looks whether it is."""
_PAUSE_SECONDS: Final = 0.02


class ClusterState(StrEnum):
    """How a cluster fares."""

    STARTING = "Starting"
    RUNNING = "Running"
    STOPPED = "Stopped"
    CRASHED = "Crashed"
    """Its process is gone without having said goodbye: killed, or the machine went down."""
    UNUSED = "Unused"


class PodsAfterStop(StrEnum):
    """What becomes of running pods when the cluster stops."""

    LEFT = "left"
    ENDED = "ended"
    SIMULATED = "simulated"
    """There is nothing to run on: their time goes by whether anybody looks or not."""


class CleanShutdown(msgspec.Struct, frozen=True, rename="camel"):
    """A run that ended as it was asked to."""

    at: datetime
    running_pods: int = 0
    """How many pods ran then."""


class ClusterRun(msgspec.Struct, frozen=True, rename="camel", kw_only=True, omit_defaults=True):
    """One run of a cluster."""

    pid: int
    since: datetime
    context: str = ""
    url: str = ""
    """Empty until it answers."""
    kubeconfig: str = ""
    nodes: int = 0
    runtime: str = ""
    pods: PodsAfterStop = PodsAfterStop.LEFT
    queues: bool = True
    """Whether the manager runs in it."""
    version: str = __version__
    boot: str = ""
    """Which start of the machine it ran in; empty where that is not known."""
    keeps: bool = True
    """Whether its objects are there after it."""
    kubectl_files: tuple[str, ...] = ()
    """The kubeconfig files of kubectl that may have its context."""
    ended: CleanShutdown | None = None


@dataclass(frozen=True, slots=True)
class ClusterStatus:
    """How a cluster fares, and its last run as far as it is known."""

    state: ClusterState
    run: ClusterRun | None = None

    @property
    def is_alive(self) -> bool:
        """Whether a process has it."""
        return self.state in (ClusterState.STARTING, ClusterState.RUNNING)


class AlreadyRunningError(ApiError):
    """Somebody else has the cluster."""

    exit_code = 1


class ClusterLock:
    """The right to run a cluster, from `take` to `release` or to the end of the process."""

    def __init__(self, place: ClusterDirectory, descriptor: int, before: ClusterRun | None = None) -> None:
        self.place = place
        self.before = before
        """The run before this one."""
        self._descriptor = descriptor

    @classmethod
    def take(cls, place: ClusterDirectory) -> "ClusterLock":
        """Have the cluster for this process; raises RunsAlreadyError with who has it, or a line about the folder."""
        try:
            place.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor = os.open(place.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _OWNER_ONLY)
        except OSError as error:
            raise unusable(place.folder, error) from None
        if not _locked(descriptor):
            os.close(descriptor)
            raise AlreadyRunningError(_who(place, last_run(place)))
        claim = cls(place, descriptor, last_run(place))
        try:
            claim.write(ClusterRun(pid=os.getpid(), since=now(), context=place.context, boot=boot()))
        except OSError as error:
            os.close(descriptor)
            raise unusable(place.folder, error) from None
        return claim

    def write(self, run: ClusterRun) -> None:
        """Say what there is to say about the run; in the old file's own room where a full disk has none for another."""
        text = msgspec.json.format(msgspec.json.encode(run)) + b"\n"
        try:
            write_private(self.place.record, text)
        except OSError as error:
            if error.errno not in _FULL or not self.place.record.exists():
                raise
            with self.place.record.open("r+b") as file:
                file.write(text)
                file.truncate()

    def release(self) -> None:
        """Let somebody else have it; a run that did not come so far as to say how it ended has ended now."""
        run = last_run(self.place)
        if run is not None and run.ended is None:
            self.write(msgspec.structs.replace(run, ended=CleanShutdown(now())))
        # The lock's file stays, so that two never lock different files.
        os.close(self._descriptor)


def unusable(folder: Path, error: OSError) -> ApiError:
    """What to say of a folder that a cluster can't be kept in."""
    remedy = "make room" if error.errno in _FULL else "allow it"
    return ApiError(
        f"{folder}: can't keep a cluster there ({error.strerror}): "
        f"{remedy}, or choose another folder with --data or KOHORT_DATA"
    )


def _locked(descriptor: int) -> bool:
    """Lock it, unless somebody holds it for longer than a glance takes."""
    deadline = time.monotonic() + _GLANCE_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(_PAUSE_SECONDS)
        else:
            return True


def _who(place: ClusterDirectory, run: ClusterRun | None) -> str:
    remedy = f"`{stop_command(place)}` stops it"
    if run is None or run.ended is not None:
        return f"cluster {place.name} is being started by another process: {remedy}"
    where = f" at {run.url}" if run.url else ", still starting"
    since = run.since.astimezone().isoformat(sep=" ", timespec="seconds")
    return f"cluster {place.name} runs already{where}, process {run.pid}, since {since}: {remedy}"


def stop_command(place: ClusterDirectory) -> str:
    """What a person types to stop a cluster."""
    return f"kohort down{_which(place)}"


def start_command(place: ClusterDirectory) -> str:
    """What a person types to start a cluster in the background."""
    return f"kohort up -d{_which(place)}"


def _which(place: ClusterDirectory) -> str:
    if place.folder != cluster_directory(place.name).folder:
        return f" --data {quote(str(place.folder))}"
    return "" if place.name == DEFAULT_NAME else f" --name {place.name}"


def is_claimed(place: ClusterDirectory) -> bool:
    """Whether a process has the cluster now."""
    try:
        descriptor = os.open(place.lock, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def last_run(place: ClusterDirectory) -> ClusterRun | None:
    """What the record says; None where there is none that can be read."""
    try:
        return msgspec.json.decode(place.record.read_bytes(), type=ClusterRun)
    except (OSError, msgspec.DecodeError):
        return None


def cluster_status(place: ClusterDirectory) -> ClusterStatus:
    """How a cluster fares now."""
    claimed, run = is_claimed(place), last_run(place)
    if claimed:
        is_ready = run is not None and run.ended is None and run.url
        return ClusterStatus(ClusterState.RUNNING if is_ready else ClusterState.STARTING, run)
    if run is None:
        return ClusterStatus(ClusterState.STOPPED if place.is_used else ClusterState.UNUSED)
    if run.ended is not None and not (run.keeps or place.has_store):
        return ClusterStatus(ClusterState.UNUSED)
    return ClusterStatus(ClusterState.STOPPED if run.ended is not None else ClusterState.CRASHED, run)


def running_kubeconfigs() -> dict[str, Path]:
    """The kubeconfigs of the clusters that answer now, by the clusters' names."""
    found = {place: cluster_status(place) for place in cluster_directories()}
    return {
        place.name: Path(each.run.kubeconfig or place.kubeconfig)
        for place, each in found.items()
        if each.state is ClusterState.RUNNING and each.run is not None
    }


def place_once_at(url: str) -> ClusterDirectory | None:
    """The cluster that was reached there when it last ran, and does not run now."""
    for place in cluster_directories():
        found = cluster_status(place)
        if found.run is not None and found.run.url == url and not found.is_alive:
            return place
    return None


def now() -> datetime:
    """The time of day, as records have it."""
    return datetime.now(UTC).replace(microsecond=0)


def boot() -> str:
    """Which start of the machine this is; empty where the kernel does not say."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def has_rebooted_since(run: ClusterRun) -> bool:
    """Whether the machine went down after a run, and with it every process of that time."""
    return bool(run.boot) and run.boot != boot()


def used_places() -> list[ClusterDirectory]:
    """Every cluster of which there is something to say."""
    return [place for place in cluster_directories() if cluster_status(place).state is not ClusterState.UNUSED]
