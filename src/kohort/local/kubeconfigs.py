"""Kubeconfigs of a cluster: one of its own, and on demand a context beside those that people have already.

What is somebody else's in a file stays as it is; the file is replaced in one step, and kept once as it was before.
"""

import asyncio
import logging
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from kohort.api.errors import ApiError
from kohort.embedded.auth.files import write_private
from kohort.kube.config import usual_kubeconfigs

log = logging.getLogger(__name__)

PARTS: Final = (("clusters", "cluster"), ("users", "user"), ("contexts", "context"))
BACKUP: Final = ".before-kohort"
_LOOK_EVERY: Final = 3600.0
_LOCK_SECONDS: Final = 3.0
_PAUSE_SECONDS: Final = 0.05


@dataclass(frozen=True, slots=True)
class Published:
    """Where the way to a cluster is written down, and under which name."""

    source: Path
    """As the API server writes and renews it."""
    context: str
    own: Path
    """A file that holds nothing else."""
    shared: Path | None = None
    """A file of many contexts, which is to have this one."""
    perhaps: Path | None = None
    """A file of many contexts, which is kept up to date if it has this one already."""

    def write(self) -> None:
        """Write all of them; raises an ApiError."""
        config = renamed(_read(self.source), self.context)
        write_private(self.own, yaml.safe_dump(config, sort_keys=False).encode())
        if self.shared is not None:
            merge_into(self.shared, config)
        elif self.perhaps is not None and has_cluster(self.perhaps, config):
            try:
                merge_into(self.perhaps, config)
            except ApiError as error:
                log.warning("a kubeconfig that has this cluster could not be kept up to date: %s", error)

    async def follow(self) -> None:
        """Write them again whenever the server has renewed its own, which happens once in a year."""
        seen = self._state()
        while True:
            await asyncio.sleep(_LOOK_EVERY)
            if self._state() != seen:
                seen = self._state()
                try:
                    await asyncio.to_thread(self.write)
                except (ApiError, OSError) as error:
                    log.warning("the kubeconfig could not be renewed: %s", error)

    def _state(self) -> int:
        return self.source.stat().st_mtime_ns


def usual_kubeconfig(environment: Mapping[str, str] = os.environ) -> Path:
    """The file that kubectl writes to."""
    return usual_kubeconfigs(environment)[0]


def renamed(config: dict[str, Any], name: str) -> dict[str, Any]:
    """A kubeconfig of one cluster, with everything in it under this name."""
    parts = {plural: [{"name": name, part: config[plural][0][part]}] for plural, part in PARTS}
    parts["contexts"][0]["context"] = {**parts["contexts"][0]["context"], "cluster": name, "user": name}
    return {**config, **parts, "current-context": name}


def merge_into(path: Path, config: dict[str, Any]) -> None:
    """Add the context to a file of many, or renew it there; raises an ApiError where that can't be."""
    try:
        _merge_into(path.resolve(), config)
    except OSError as error:
        remedy = "leave --merge-kubeconfig out, or name another file in KUBECONFIG"
        raise ApiError(f"{path}: the context can't be added there ({error.strerror}): {remedy}") from None


def _merge_into(target: Path, config: dict[str, Any]) -> None:
    with _locked(target):
        before = target.read_bytes() if target.exists() else b""
        after = yaml.safe_dump(merged(_parse(before, target), config), sort_keys=False).encode()
        if after == before:
            return
        backup = target.with_name(target.name + BACKUP)
        if before and not backup.exists():
            write_private(backup, before)
        write_private(target, after)


def has_cluster(path: Path, config: dict[str, Any]) -> bool:
    """Whether a file has this very cluster: under its name, and vouched for by the same authority."""
    try:
        entries = _read(path).get("clusters") or []
    except (ApiError, OSError):
        return False
    ours = config["clusters"][0]
    authority = ours["cluster"].get("certificate-authority-data")
    theirs = (each.get("cluster") or {} for each in entries if each.get("name") == ours["name"])
    return any(each.get("certificate-authority-data") == authority for each in theirs)


def merged(into: dict[str, Any], config: dict[str, Any]) -> dict[str, Any]:
    """A file of many with this cluster, user and context in it; the current context stays, if there is one."""
    found = {"apiVersion": "v1", "kind": "Config", **into}
    for plural, _ in PARTS:
        ours = config[plural][0]
        found[plural] = _with(found.get(plural) or [], ours)
    found["current-context"] = into.get("current-context") or config["current-context"]
    return found


def _with(entries: list[Any], ours: dict[str, Any]) -> list[Any]:
    names = [each.get("name") for each in entries]
    if ours["name"] not in names:
        return [*entries, ours]
    return [ours if each.get("name") == ours["name"] else each for each in entries]


def _read(path: Path) -> dict[str, Any]:
    return _parse(path.read_bytes(), path)


def _parse(text: bytes, path: Path) -> dict[str, Any]:
    try:
        found = yaml.load(text, _Loader) or {}  # noqa: S506 - a safe one
    except yaml.YAMLError:
        found = None
    lists = [found.get(plural) or [] for plural, _ in PARTS] if isinstance(found, dict) else [None]
    if not isinstance(found, dict) or not all(_is_list_of_objects(each) for each in lists):
        raise ApiError(f"{path}: not a kubeconfig, and left as it is: mend it, or name another file in KUBECONFIG")
    return found


class _Loader(yaml.SafeLoader):
    """Leaves dates as the text they are: what is not ours is written back as it was."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _is_list_of_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, dict) for each in value)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Keep kubectl out, which locks by a file of this name."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    lock = path.with_name(path.name + ".lock")
    deadline = time.monotonic() + _LOCK_SECONDS
    while True:
        try:
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
            break
        except FileExistsError:
            if time.monotonic() > deadline:
                raise ApiError(f"{path} is locked by another program: remove {lock} if there is none") from None
            time.sleep(_PAUSE_SECONDS)
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)
