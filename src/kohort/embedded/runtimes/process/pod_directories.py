"""The directories of a pod: one that is ours (book, socket, logs), one for its containers (work, volumes).

Of the second, only `work`, `tmp`, the termination message and the volumes belong to a container's user. The directories
that hold them stay the agent's, so that no job can put something else in their place, and are closed to other pods.
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
    """Where everything of a pod is."""

    data: Path
    pod: str

    @property
    def ours(self) -> Path:
        """Book, socket and logs."""
        return self.data / "pods" / self.pod

    @property
    def theirs(self) -> Path:
        """What containers use."""
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
        """The file for the termination message of a container."""
        return self.container(container) / TERMINATION_LOG

    def make(self) -> None:
        """Make the directories of the pod."""
        for directory in (self.ours, self.theirs):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        for directory in (self.theirs / "containers", self.volumes):
            _make(directory, 0o711)

    def make_container(self, name: str, owner: tuple[int, int] = _NO_CHANGE) -> None:
        """Make the scratch of a container that runs as a user, and an empty termination message for its next start."""
        top = self.container(name)
        if os.path.lexists(top) and os.lstat(top).st_uid != os.geteuid():
            # Its user could have put anything into it; a restarted container has no claim to its old files.
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
        """The group by which processes of other users get into the directories of this pod, and of no other."""
        return admit_group(self.theirs)

    def remove(self) -> None:
        """Remove everything of the pod."""
        for directory in (self.theirs, self.ours):
            try:
                remove_tree(directory)
            except OSError as error:
                log.warning("%s can't be removed: %s", directory, error)


def _make(directory: Path, mode: int, owner: tuple[int, int] = _NO_CHANGE) -> None:
    """Make a directory with this mode and owner, unless it is there: what is there is not touched."""
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
    """Make the directory of all pods: others may pass through to what was given to them, and see nothing."""
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    data.chmod(0o711 if os.geteuid() == 0 else 0o700)
    (data / "pods").mkdir(mode=0o700, exist_ok=True)
    (data / "scratch").mkdir(mode=0o711, exist_ok=True)
