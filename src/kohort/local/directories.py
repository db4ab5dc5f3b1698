"""Directories of local clusters, by name.

The cluster `kohort` uses the data directory itself, for compatibility with versions without names; the others use a
subdirectory. This module is cheap to import: every command may look for a running cluster.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from kohort.api.errors import ApiError

DEFAULT_NAME = "kohort"
MAX_NAME = 40
OTHERS = "clusters"
STORE = "store.db"


@dataclass(frozen=True, slots=True)
class ClusterDirectory:
    """The directory of one cluster."""

    name: str
    folder: Path

    @property
    def context(self) -> str:
        """Name of its kubeconfig context."""
        return DEFAULT_NAME if self.name == DEFAULT_NAME else f"{DEFAULT_NAME}-{self.name}"

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig, written at each start."""
        return self.folder / "kubeconfig"

    @property
    def record(self) -> Path:
        """Record of the current or last run."""
        return self.folder / "run.json"

    @property
    def lock(self) -> Path:
        """Lock held by the process that runs it."""
        return self.folder / "run.lock"

    @property
    def log(self) -> Path:
        """The log file."""
        return self.folder / "log" / "kohort.log"

    @property
    def ephemeral_folder(self) -> Path:
        """Data of an ephemeral cluster while it runs."""
        return self.folder / "ephemeral"

    @property
    def has_store(self) -> bool:
        """Whether it has stored objects."""
        return (self.folder / STORE).exists()

    @property
    def is_used(self) -> bool:
        """Whether a cluster was ever started in it."""
        return self.record.exists() or self.has_store


def data_root(environment: Mapping[str, str] = os.environ) -> Path:
    """The data directory: $KOHORT_DATA, or below the user's data directory."""
    if own := environment.get("KOHORT_DATA"):
        return Path(own)
    from kohort.kube.config import home_directory

    shared = environment.get("XDG_DATA_HOME") or home_directory() / ".local" / "share"
    return Path(shared) / "kohort"


def cluster_directory(name: str, folder: Path | None = None) -> ClusterDirectory:
    """The directory of a cluster by its name, or a given folder; raises an ApiError for an invalid name."""
    from kohort.api.names import check_label

    problem = check_label(name)
    if problem is None and len(name) > MAX_NAME:
        problem = f"has more than {MAX_NAME} characters: choose a shorter one"
    if problem is not None:
        raise ApiError(f'cluster name "{name}": {problem}')
    if folder is not None:
        return ClusterDirectory(name, folder)
    root = data_root()
    return ClusterDirectory(name, root if name == DEFAULT_NAME else root / OTHERS / name)


def cluster_directories() -> list[ClusterDirectory]:
    """All clusters that were ever started by name, the default one first."""
    return [directory for directory in _candidates(data_root()) if directory.is_used]


def _candidates(root: Path) -> Iterator[ClusterDirectory]:
    yield ClusterDirectory(DEFAULT_NAME, root)
    others = root / OTHERS
    if others.is_dir():
        yield from (ClusterDirectory(each.name, each) for each in sorted(others.iterdir()) if each.is_dir())


def kubeconfig_of_running() -> Path | None:
    """The kubeconfig of the default cluster if it runs, else of the only running one."""
    from kohort.local.runs import running_kubeconfigs

    running = running_kubeconfigs()
    if DEFAULT_NAME in running:
        return running[DEFAULT_NAME]
    return next(iter(running.values())) if len(running) == 1 else None
