"""Reads and edits the kubeconfig files of kubectl, under kubectl's lock.

Foreign entries stay as they are. A file is replaced atomically, and its first version is kept as a backup.
"""

import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import yaml

from kohort.api.errors import ApiError
from kohort.embedded.auth.files import write_private
from kohort.kube.config import default_kubeconfig_paths

KubeconfigDocument = dict[str, Any]

PARTS: Final = (("clusters", "cluster"), ("users", "user"), ("contexts", "context"))
BACKUP: Final = ".before-kohort"
_LOCK_SECONDS: Final = 3.0
_PAUSE_SECONDS: Final = 0.05
_REMEDY: Final = "omit --merge-kubeconfig, or set KUBECONFIG to another file"


def kubectl_files(environment: Mapping[str, str] = os.environ) -> tuple[Path, ...]:
    """The files that kubectl reads, in their order of precedence."""
    return default_kubeconfig_paths(environment)


def default_file(files: tuple[Path, ...]) -> Path:
    """The file that kubectl writes new entries to: the first that exists, else the last of the list."""
    return next((each for each in files if each.exists()), files[-1])


def read_document(path: Path) -> KubeconfigDocument:
    """The content of a kubeconfig file; empty if it does not exist. Raises an ApiError for an invalid one."""
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ApiError(f"cannot read {path}: {error.strerror}: {_REMEDY}") from None
    return _parse(text, path)


def edit(path: Path, change: Callable[[KubeconfigDocument], KubeconfigDocument]) -> None:
    """Replace the content of a file with what `change` returns; raises an ApiError."""
    try:
        with _locked(path):
            _edit(path, change)
    except OSError as error:
        raise ApiError(f"cannot write {path}: {error.strerror}: {_REMEDY}") from None


def _edit(path: Path, change: Callable[[KubeconfigDocument], KubeconfigDocument]) -> None:
    target = path.resolve()
    before = target.read_bytes() if target.exists() else b""
    document = _parse(before, path)
    after = change(document)
    if after == document:
        return
    if before and _is_read_only(target):
        raise ApiError(f"{path}: the file is read-only: {_REMEDY}")
    if not {key for key, value in after.items() if value} - {"apiVersion", "kind"} and not path.is_symlink():
        target.unlink(missing_ok=True)
        return
    backup = target.with_name(target.name + BACKUP)
    if before and not backup.exists():
        write_private(backup, before)
    write_private(target, yaml.safe_dump(after, sort_keys=False).encode())


def _is_read_only(path: Path) -> bool:
    """Whether the file is write-protected; replacing it would not need write permission on the file."""
    return not path.stat().st_mode & stat.S_IWUSR or not os.access(path, os.W_OK)


def _parse(text: bytes, path: Path) -> KubeconfigDocument:
    try:
        found = yaml.load(text, _Loader) or {}  # noqa: S506 - a safe one
    except yaml.YAMLError:
        found = None
    lists = [found.get(plural) or [] for plural, _ in PARTS] if isinstance(found, dict) else [None]
    if not isinstance(found, dict) or not all(_is_list_of_objects(each) for each in lists):
        raise ApiError(f"invalid kubeconfig {path}: correct it, or set KUBECONFIG to another file")
    return found


class _Loader(yaml.SafeLoader):
    """Keeps dates as text, so that foreign entries are written back unchanged."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _is_list_of_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, dict) for each in value)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold kubectl's lock, a file next to the kubeconfig, and that of a symbolic link's target."""
    with ExitStack() as locks:
        for each in dict.fromkeys((path.absolute(), path.resolve())):
            locks.enter_context(_lock_file(each))
        yield


@contextmanager
def _lock_file(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    lock = path.with_name(path.name + ".lock")
    deadline = time.monotonic() + _LOCK_SECONDS
    while True:
        try:
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
            break
        except FileExistsError:
            if time.monotonic() > deadline:
                raise ApiError(f"{path} is locked by another program: remove {lock} if it is stale") from None
            time.sleep(_PAUSE_SECONDS)
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)
