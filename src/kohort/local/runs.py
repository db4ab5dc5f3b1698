"""The lock and the run record of a local cluster.

A cluster runs if its file lock is held: the kernel releases it however the process ends, so that no process id is
mistaken for another one's after a crash or a reboot. The record only describes the run.
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
"""How long another process may hold the lock just to test it."""
_PAUSE_SECONDS: Final = 0.02


class ClusterState(StrEnum):
    """State of a local cluster."""

    STARTING = "Starting"
    RUNNING = "Running"
    STOPPED = "Stopped"
    CRASHED = "Crashed"
    """Its process was killed, or the machine rebooted."""
    UNUSED = "Unused"


class PodsAfterStop(StrEnum):
    """What happens to running pods when the cluster stops."""

    LEFT = "left"
    ENDED = "ended"
    SIMULATED = "simulated"
    """Pods have no processes; their times are computed from the clock."""


class CleanShutdown(msgspec.Struct, frozen=True, rename="camel"):
    """End of a run that was stopped."""

    at: datetime
    running_pods: int = 0
    """Number of pods running at that time."""


class ClusterRun(msgspec.Struct, frozen=True, rename="camel", kw_only=True, omit_defaults=True):
    """One run of a cluster."""

    pid: int
    since: datetime
    context: str = ""
    url: str = ""
    """Empty until the API is served."""
    kubeconfig: str = ""
    nodes: int = 0
    runtime: str = ""
    pods: PodsAfterStop = PodsAfterStop.LEFT
    queues: bool = True
    """Whether the manager runs in it."""
    operators: tuple[str, ...] = ()
    """Operators that have a stand-in."""
    version: str = __version__
    boot: str = ""
    """Boot id of the machine; empty if unknown."""
    keeps: bool = True
    """Whether its objects are kept after it stops."""
    kubectl_files: tuple[str, ...] = ()
    """The kubeconfig files of kubectl that may have its context."""
    ended: CleanShutdown | None = None


@dataclass(frozen=True, slots=True)
class ClusterStatus:
    """State of a cluster, and the record of its last run."""

    state: ClusterState
    run: ClusterRun | None = None

    @property
    def is_alive(self) -> bool:
        """Whether a process runs it."""
        return self.state in (ClusterState.STARTING, ClusterState.RUNNING)


class AlreadyRunningError(ApiError):
    """Another process runs the cluster."""

    exit_code = 1


class ClusterLock:
    """The lock of a cluster, held from `take` to `release` or to the end of the process."""

    def __init__(self, directory: ClusterDirectory, descriptor: int, before: ClusterRun | None = None) -> None:
        self.directory = directory
        self.before = before
        """The previous run."""
        self._descriptor = descriptor

    @classmethod
    def take(cls, directory: ClusterDirectory) -> "ClusterLock":
        """Lock the cluster; raises AlreadyRunningError, or an ApiError if the folder is unusable."""
        try:
            directory.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor = os.open(directory.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _OWNER_ONLY)
        except OSError as error:
            raise unusable(directory.folder, error) from None
        if not _locked(descriptor):
            os.close(descriptor)
            raise AlreadyRunningError(_already_running(directory, last_run(directory)))
        lock = cls(directory, descriptor, last_run(directory))
        try:
            lock.write(ClusterRun(pid=os.getpid(), since=now(), context=directory.context, boot=boot()))
        except OSError as error:
            os.close(descriptor)
            raise unusable(directory.folder, error) from None
        return lock

    def write(self, run: ClusterRun) -> None:
        """Write the record; overwrites the old file in place if the disk is full."""
        text = msgspec.json.format(msgspec.json.encode(run)) + b"\n"
        try:
            write_private(self.directory.record, text)
        except OSError as error:
            if error.errno not in _FULL or not self.directory.record.exists():
                raise
            with self.directory.record.open("r+b") as file:
                file.write(text)
                file.truncate()

    def release(self) -> None:
        """Release the lock; records the end of the run if that was not done before."""
        run = last_run(self.directory)
        if run is not None and run.ended is None:
            self.write(msgspec.structs.replace(run, ended=CleanShutdown(now())))
        # The lock file stays, so that two processes never lock different files.
        os.close(self._descriptor)


def unusable(folder: Path, error: OSError) -> ApiError:
    """The error for a folder that cannot be used."""
    remedy = "free disk space" if error.errno in _FULL else "grant access"
    return ApiError(
        f"cannot use {folder} as cluster directory: {error.strerror}: "
        f"{remedy}, or choose another folder with --data or KOHORT_DATA"
    )


def _locked(descriptor: int) -> bool:
    """Lock the file; False if another process holds the lock for longer than a test takes."""
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


def _already_running(directory: ClusterDirectory, run: ClusterRun | None) -> str:
    remedy = f"stop it with `{stop_command(directory)}`"
    if run is None or run.ended is not None:
        return f"cluster {directory.name} is being started by another process: {remedy}"
    where = f" at {run.url}" if run.url else ", still starting"
    since = run.since.astimezone().isoformat(sep=" ", timespec="seconds")
    return f"cluster {directory.name} is already running{where} (pid {run.pid}, since {since}): {remedy}"


def stop_command(directory: ClusterDirectory) -> str:
    """The command that stops a cluster."""
    return f"kohort down{_which(directory)}"


def start_command(directory: ClusterDirectory) -> str:
    """The command that starts a cluster in the background."""
    return f"kohort up -d{_which(directory)}"


def _which(directory: ClusterDirectory) -> str:
    if directory.folder != cluster_directory(directory.name).folder:
        return f" --data {quote(str(directory.folder))}"
    return "" if directory.name == DEFAULT_NAME else f" --name {directory.name}"


def is_locked(directory: ClusterDirectory) -> bool:
    """Whether a process holds the lock of the cluster."""
    try:
        descriptor = os.open(directory.lock, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def last_run(directory: ClusterDirectory) -> ClusterRun | None:
    """The record of the current or last run; None if absent or unreadable."""
    try:
        return msgspec.json.decode(directory.record.read_bytes(), type=ClusterRun)
    except (OSError, msgspec.DecodeError):
        return None


def cluster_status(directory: ClusterDirectory) -> ClusterStatus:
    """The current status of a cluster."""
    locked, run = is_locked(directory), last_run(directory)
    if locked:
        is_ready = run is not None and run.ended is None and run.url
        return ClusterStatus(ClusterState.RUNNING if is_ready else ClusterState.STARTING, run)
    if run is None:
        return ClusterStatus(ClusterState.STOPPED if directory.is_used else ClusterState.UNUSED)
    if run.ended is not None and not (run.keeps or directory.has_store):
        return ClusterStatus(ClusterState.UNUSED)
    return ClusterStatus(ClusterState.STOPPED if run.ended is not None else ClusterState.CRASHED, run)


def running_kubeconfigs() -> dict[str, Path]:
    """The kubeconfigs of running clusters, by cluster name."""
    found = {directory: cluster_status(directory) for directory in cluster_directories()}
    return {
        directory.name: Path(each.run.kubeconfig or directory.kubeconfig)
        for directory, each in found.items()
        if each.state is ClusterState.RUNNING and each.run is not None
    }


def stopped_cluster_at(url: str) -> ClusterDirectory | None:
    """The stopped cluster whose last run had this URL."""
    for directory in cluster_directories():
        found = cluster_status(directory)
        if found.run is not None and found.run.url == url and not found.is_alive:
            return directory
    return None


def now() -> datetime:
    """The current time in the precision of records."""
    return datetime.now(UTC).replace(microsecond=0)


def boot() -> str:
    """Boot id of the machine; empty if unknown."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def has_rebooted_since(run: ClusterRun) -> bool:
    """Whether the machine rebooted after a run."""
    return bool(run.boot) and run.boot != boot()


def used_directories() -> list[ClusterDirectory]:
    """All clusters except unused ones."""
    return [
        directory for directory in cluster_directories() if cluster_status(directory).state is not ClusterState.UNUSED
    ]
