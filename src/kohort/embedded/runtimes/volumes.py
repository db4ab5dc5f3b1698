"""Volumes as directories of this machine, filled from the API; each is created when the first container needs it.

A volume is a plain directory: size and medium of emptyDir are not enforced, and files do not follow later changes.
"""

import contextlib
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kohort.embedded.runtimes.downward import MachineInfo, field_value, resource_value
from kohort.embedded.runtimes.environment import expand
from kohort.embedded.runtimes.job_files import create, make_below, open_path, remove_tree
from kohort.embedded.runtimes.pods import Mount, RunContainer, RunPod
from kohort.embedded.runtimes.sources import TOKEN_SECONDS, MissingReferenceError, Sources

DEFAULT_MODE = 0o644
_IS_TYPE: dict[str, Callable[[int], bool]] = {"Directory": stat.S_ISDIR, "File": stat.S_ISREG, "Socket": stat.S_ISSOCK}


class UnsupportedError(Exception):
    """A volume that this runtime cannot provide."""


@dataclass(frozen=True, slots=True)
class File:
    """A file of a volume."""

    path: str
    content: bytes
    mode: int


@dataclass(frozen=True, slots=True)
class PodVolumes:
    """The volumes of a pod and their sources."""

    pod: RunPod
    directory: Path
    facts: MachineInfo
    host_paths: tuple[str, ...] = ()
    """Allowed hostPath prefixes; none by default."""

    def unsupported(self) -> str:
        """Why a volume of the pod cannot be provided; empty if all can."""
        for volume in self.pod.spec.volumes:
            try:
                _kind(volume)
                self._host_path(volume)
            except UnsupportedError as error:
                return str(error)
        return ""

    async def make(self, volume: Mapping[str, Any], sources: Sources) -> Path:
        """The directory (or host file) of a volume; raises MissingReferenceError while something is missing."""
        kind = _kind(volume)
        if kind == "hostPath":
            return self._host_path(volume)
        directory = Path(os.path.realpath(self.directory)) / str(volume["name"])
        if directory.exists():
            return directory
        files = await self._files(kind, volume[kind] or {}, sources)
        fresh = directory.with_name(f".{directory.name}.new")
        remove_tree(fresh)
        fresh.mkdir(parents=True)
        fresh.chmod(0o777 if kind == "emptyDir" else 0o755)
        for file in files:
            write_file(fresh, file)
        fresh.rename(directory)
        return directory

    async def _files(self, kind: str, source: Mapping[str, Any], sources: Sources) -> list[File]:
        mode = int(source.get("defaultMode") or DEFAULT_MODE)
        if kind == "emptyDir":
            return []
        if kind == "projected":
            return [
                file for each in source.get("sources") or () for file in await self._disconnect(each, mode, sources)
            ]
        return await self._disconnect({kind: source}, mode, sources)

    async def _disconnect(self, part: Mapping[str, Any], mode: int, sources: Sources) -> list[File]:
        for kind in ("configMap", "secret"):
            if source := part.get(kind):
                return await self._entries(kind, source, mode, sources)
        if source := part.get("downwardAPI"):
            return [self._about(item, mode) for item in source.get("items") or ()]
        if source := part.get("serviceAccountToken"):
            seconds = int(source.get("expirationSeconds") or TOKEN_SECONDS)
            token = await sources.token(self.pod, str(source.get("audience") or ""), seconds)
            return [File(str(source["path"]), token, mode)]
        raise MissingReferenceError(f"projected volume source {', '.join(part)} is not supported by this runtime")

    async def _entries(self, kind: str, source: Mapping[str, Any], mode: int, sources: Sources) -> list[File]:
        name = str(source.get("name") or source.get("secretName") or "")
        title = "ConfigMap" if kind == "configMap" else "Secret"
        try:
            found = await sources.files_of(title, self.pod.metadata.namespace, name)
        except MissingReferenceError:
            if source.get("optional"):
                return []
            raise
        items = source.get("items")
        if not items:
            return [File(key, content, mode) for key, content in found.items()]
        missing = [item["key"] for item in items if item["key"] not in found]
        if missing and not source.get("optional"):
            raise MissingReferenceError(f"references non-existent {kind.lower()} key: {missing[0]}")
        wanted = [item for item in items if item["key"] in found]
        return [File(item["path"], found[item["key"]], int(item.get("mode") or mode)) for item in wanted]

    def _about(self, item: Mapping[str, Any], mode: int) -> File:
        reference = item.get("resourceFieldRef")
        if reference:
            container = self.pod.container(str(reference.get("containerName")))
            text = resource_value(self.pod, container, reference, self.facts)
        else:
            text = field_value(self.pod, str((item.get("fieldRef") or {}).get("fieldPath", "")), self.facts)
        return File(str(item["path"]), text.encode(), int(item.get("mode") or mode))

    def _host_path(self, volume: Mapping[str, Any]) -> Path:
        source = volume.get("hostPath")
        if source is None:
            return Path()
        path = os.path.realpath(str(source["path"]))
        top = next((os.path.realpath(prefix) for prefix in self.host_paths if _is_below(path, prefix)), None)
        if top is None:
            name, requested = volume["name"], source["path"]
            raise UnsupportedError(
                f'volume "{name}": hostPath {requested} is not among the paths that this node allows'
            )
        try:
            _check_type(top, path, str(source.get("type") or ""))
        except OSError as error:
            raise UnsupportedError(f"hostPath type check failed: {path}: {error.strerror}") from None
        return Path(path)


def mounted(mount: Mount, container: RunContainer, volume: Path, values: Mapping[str, str]) -> Path:
    """The source of a mount: the volume, or a subPath that does not lead out of it."""
    part = mount.sub_path or expand(mount.sub_path_expr, values)
    if not part:
        return volume
    problem = f'failed to prepare subPath for volumeMount "{mount.name}" of container "{container.name}"'
    top = os.path.realpath(volume)
    target = os.path.realpath(volume / part)
    if not _is_below(target, top):
        raise MissingReferenceError(problem)
    try:
        make_below(top, os.path.relpath(target, top), 0o777)
    except OSError as error:
        raise MissingReferenceError(f"{problem}: {error.strerror}") from None
    return Path(target)


def _check_type(top: str, path: str, kind: str) -> None:
    """Creates or checks a hostPath according to its type; `path` has no symbolic links."""
    if kind == "DirectoryOrCreate":
        make_below(top, os.path.relpath(path, top), 0o755)
    elif kind == "FileOrCreate":
        parent, name = os.path.split(path)
        with open_path(parent) as directory, contextlib.suppress(FileExistsError):
            os.close(create(name, 0o644, dir_fd=directory))
    elif kind in _IS_TYPE:
        with open_path(path) as found:
            if not _IS_TYPE[kind](os.fstat(found).st_mode):
                raise UnsupportedError(f"hostPath type check failed: {path} is not a {kind.lower()}")


def _is_below(path: str, top: str) -> bool:
    real = os.path.realpath(top)
    return os.path.commonpath([path, real]) == real


def _kind(volume: Mapping[str, Any]) -> str:
    known = ("emptyDir", "configMap", "secret", "downwardAPI", "projected", "hostPath")
    for kind in known:
        if kind in volume:
            return kind
    other: Sequence[str] = [key for key in volume if key != "name"]
    name = volume.get("name")
    raise UnsupportedError(
        f"Unable to attach or mount volumes: unmounted volumes=[{name}], unattached volumes=[], failed to process "
        f"volumes=[{name}]: this runtime has no volumes of kind {', '.join(other) or 'none'}"
    )


def write_file(directory: Path, file: File) -> None:
    """Writes a file of a volume with its mode from the start; raises MissingReferenceError for a path outside."""
    parts = file.path.split("/")
    if file.path.startswith("/") or ".." in parts or not file.path:
        raise MissingReferenceError(f"invalid path {file.path!r} in a volume: it must stay inside")
    path = directory.joinpath(*parts)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    with os.fdopen(create(path, file.mode), "wb") as stream:
        stream.write(file.content)
