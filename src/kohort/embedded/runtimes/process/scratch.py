"""The directories of a pod: one that is ours (book, socket, logs), one that is its own (work, volumes).

They are apart so that a container that runs as another user gets into its own and not into ours.
"""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

TERMINATION_LOG = "termination-log"


@dataclass(frozen=True, slots=True)
class Places:
    """Where everything of a pod is."""

    data: Path
    pod: str

    @property
    def ours(self) -> Path:
        """Book, socket and logs."""
        return self.data / "pods" / self.pod

    @property
    def theirs(self) -> Path:
        """What containers may write to."""
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
        """Make what is ours."""
        for directory in (self.ours, self.theirs, self.theirs / "containers", self.volumes):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)

    def make_container(self, name: str) -> None:
        """Make the scratch of a container, and an empty termination message for its next start."""
        top = self.container(name)
        for directory in (top, top / "work", top / "tmp", top / "root", top / "mounts"):
            directory.mkdir(mode=0o700, exist_ok=True)
        self.message(name).write_bytes(b"")

    def give_to(self, name: str, user: int, group: int) -> None:
        """Let a container of another user use its scratch and reach the pod's volumes, and nothing of other pods."""
        top = self.container(name)
        for path in (top, top / "work", top / "tmp", top / "root", top / "mounts", self.message(name)):
            os.chown(path, user, group)
        for path in (self.theirs, self.theirs / "containers", self.volumes):
            path.chmod(0o711)

    def remove(self) -> None:
        """Remove everything of the pod."""
        for directory in (self.theirs, self.ours):
            shutil.rmtree(directory, ignore_errors=True)


def make_data(data: Path) -> None:
    """Make the directory of all pods: others may pass through to what was given to them, and see nothing."""
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    data.chmod(0o711 if os.geteuid() == 0 else 0o700)
    (data / "pods").mkdir(mode=0o700, exist_ok=True)
    (data / "scratch").mkdir(mode=0o711, exist_ok=True)
