"""The directories of a pod: one of the agent (state, socket, logs), one for its containers (work, volumes).

In the second, only `work`, `tmp`, the termination message and the volumes belong to a container's user. Their parents
belong to the agent, so that no job can replace them, and are inaccessible to other pods.
"""

import logging
import os
from dataclasses import dataclass
from pathlib import Path

from kohort.embedded.runtimes.job_files import DIRECTORY, create, remove_tree
from kohort.embedded.runtimes.process.pod_groups import admit_group

log = logging.getLogger(__name__)

TERMINATION_LOG = "termination-log"
_NO_CHANGE = (-1, -1)


@dataclass(frozen=True, slots=True)
class PodDirectories:
    """The paths of a pod."""

    data: Path
    pod: str

    @property
    def ours(self) -> Path:
        """State, socket and logs."""
        return self.data / "pods" / self.pod

    @property
    def theirs(self) -> Path:
        """Directories used by containers."""
        return self.data / "scratch" / self.pod

    @property
    def volumes(self) -> Path:
        """The volumes of the pod."""
        return self.theirs / "volumes"

    def logs(self, container: str) -> Path:
        """The logs of a container, one file per start."""
        return self.ours / "logs" / container

    def container(self, name: str) -> Path:
        """The scratch directory of a container."""
        return self.theirs / "containers" / name

    def message(self, container: str) -> Path:
        """The termination message file of a container."""
        return self.container(container) / TERMINATION_LOG

    def make(self) -> None:
        """Creates the directories of the pod."""
        for directory in (self.ours, self.theirs):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        for directory in (self.theirs / "containers", self.volumes):
            _make(directory, 0o711)

    def make_container(self, name: str, owner: tuple[int, int] = _NO_CHANGE) -> None:
        """Creates the scratch directory of a container for its user, and an empty termination message for the start."""
        top = self.container(name)
        if os.path.lexists(top) and os.lstat(top).st_uid != os.geteuid():
            # Its user may have put anything into it; a restarted container does not keep its old files.
            remove_tree(top)
        _make(top, 0o711)
        _make(top / "root", 0o700)
        _make(top / "mounts", 0o755)
        for directory in (top / "work", top / "tmp"):
            _make(directory, 0o700, owner)
        self._make_message(name, owner)

    def _make_message(self, name: str, owner: tuple[int, int]) -> None:
        remove_tree(self.message(name))
        fd = create(self.message(name), 0o666)
        try:
            os.fchown(fd, *owner)
        finally:
            os.close(fd)

    def admit_group(self) -> int:
        """The group that grants processes of other users access to the directories of this pod only."""
        return admit_group(self.theirs)

    def remove(self) -> None:
        """Removes all directories of the pod."""
        for directory in (self.theirs, self.ours):
            try:
                remove_tree(directory)
            except OSError as error:
                log.warning("removing %s failed: %s", directory, error)


def _make(directory: Path, mode: int, owner: tuple[int, int] = _NO_CHANGE) -> None:
    """Creates a directory with this mode and owner; an existing one is not modified."""
    if os.path.lexists(directory):
        return
    fresh = directory.with_name(f".{directory.name}.new")
    remove_tree(fresh)
    fresh.mkdir(mode=0o700)
    fd = os.open(fresh, DIRECTORY)
    try:
        os.fchmod(fd, mode)
        os.fchown(fd, *owner)
    finally:
        os.close(fd)
    fresh.rename(directory)


def make_data(data: Path) -> None:
    """Creates the directory of all pods: others may traverse it but not list it."""
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    data.chmod(0o711 if os.geteuid() == 0 else 0o700)
    (data / "pods").mkdir(mode=0o700, exist_ok=True)
    (data / "scratch").mkdir(mode=0o711, exist_ok=True)
