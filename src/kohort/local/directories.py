"""Where clusters of this machine are kept, by name.

The cluster `kohort` lives in the data directory itself, where it lived before there were names; the others beside it.
Quick to import: every command may ask whether a cluster runs here.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from kohort.api.errors import ApiError

DEFAULT_NAME = "kohort"
LONGEST_NAME = 40
OTHERS = "clusters"
STORE = "store.db"


@dataclass(frozen=True, slots=True)
class ClusterDirectory:
    """What belongs to one cluster."""

    name: str
    folder: Path

    @property
    def context(self) -> str:
        """What kubeconfigs call it."""
        return DEFAULT_NAME if self.name == DEFAULT_NAME else f"{DEFAULT_NAME}-{self.name}"

    @property
    def kubeconfig(self) -> Path:
        """The administrator's, written at each start."""
        return self.folder / "kubeconfig"

    @property
    def record(self) -> Path:
        """Who runs it, or ran it last."""
        return self.folder / "run.json"

    @property
    def lock(self) -> Path:
        """Held by whoever runs it."""
        return self.folder / "run.lock"

    @property
    def log(self) -> Path:
        """What it has to say for itself."""
        return self.folder / "log" / "kohort.log"

    @property
    def passing(self) -> Path:
        """Of one that keeps nothing: what it has while it runs."""
        return self.folder / "ephemeral"

    @property
    def has_store(self) -> bool:
        """Whether objects are kept here."""
        return (self.folder / STORE).exists()

    @property
    def is_used(self) -> bool:
        """Whether a cluster was ever started here."""
        return self.record.exists() or self.has_store


def data_root(environment: Mapping[str, str] = os.environ) -> Path:
    """Where things are kept when nobody says where."""
    if own := environment.get("KOHORT_DATA"):
        return Path(own)
    from kohort.kube.config import home_directory

    shared = environment.get("XDG_DATA_HOME") or home_directory() / ".local" / "share"
    return Path(shared) / "kohort"


def cluster_directory(name: str, folder: Path | None = None) -> ClusterDirectory:
    """The place of a cluster by its name, or in a folder of its own; raises an ApiError for a name that is none."""
    from kohort.api.names import check_label

    problem = check_label(name)
    if problem is None and len(name) > LONGEST_NAME:
        problem = f"has more than {LONGEST_NAME} characters: choose a shorter one"
    if problem is not None:
        raise ApiError(f'cluster name "{name}": {problem}')
    if folder is not None:
        return ClusterDirectory(name, folder)
    root = data_root()
    return ClusterDirectory(name, root if name == DEFAULT_NAME else root / OTHERS / name)


def cluster_directories() -> list[ClusterDirectory]:
    """Every cluster that was ever started under a name, the default one first."""
    return [place for place in _candidates(data_root()) if place.is_used]


def _candidates(root: Path) -> Iterator[ClusterDirectory]:
    yield ClusterDirectory(DEFAULT_NAME, root)
    others = root / OTHERS
    if others.is_dir():
        yield from (ClusterDirectory(each.name, each) for each in sorted(others.iterdir()) if each.is_dir())


def kubeconfig_of_running() -> Path | None:
    """The kubeconfig of the default cluster if it runs, else of the only one that does."""
    from kohort.local.runs import running_kubeconfigs

    running = running_kubeconfigs()
    if DEFAULT_NAME in running:
        return running[DEFAULT_NAME]
    return next(iter(running.values())) if len(running) == 1 else None
