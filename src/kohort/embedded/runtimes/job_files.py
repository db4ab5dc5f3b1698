"""File access where a job can write: never follows symbolic links, never blocks on a FIFO, reads regular files only.

A job may replace any file, directory or link below its directories at any moment, also between check and use. So every
access goes through open descriptors, component by component. Standard library only: shims use it too.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
PATH = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


def open_regular(path: str | Path) -> int:
    """Opens a regular file for reading; raises OSError for anything else."""
    fd = os.open(path, READ)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return fd


def read_regular(path: str | Path, most: int) -> bytes:
    """The first bytes of a regular file; raises OSError for anything else."""
    with os.fdopen(open_regular(path), "rb") as file:
        return file.read(most)


def create(path: str | Path, mode: int, dir_fd: int | None = None) -> int:
    """Creates a file for writing with exactly this mode; raises FileExistsError if it exists."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(path, flags, 0o600, dir_fd=dir_fd)
    os.fchmod(fd, mode)
    return fd


def descend(parent: int, name: str) -> int:
    """An O_PATH descriptor of a directory entry; raises OSError for a symbolic link or `..`."""
    if name == "..":
        raise OSError(errno.EINVAL, "path escapes its directory", name)
    fd = os.open(name, PATH, dir_fd=parent)
    if stat.S_ISLNK(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.ELOOP, "symbolic link not allowed", name)
    return fd


@contextmanager
def open_path(path: str) -> Iterator[int]:
    """An O_PATH descriptor of an absolute path without symbolic links; raises OSError if there is one."""
    fd = os.open("/", PATH)
    try:
        for name in _names(path):
            fd = _replace(fd, descend(fd, name))
        yield fd
    finally:
        os.close(fd)


@contextmanager
def open_below(top: str, part: str, mode: int) -> Iterator[int]:
    """An O_PATH descriptor of a path below a directory; missing directories are created with this mode."""
    with open_path(top) as directory:
        fd = os.dup(directory)
    try:
        for name in _names(part):
            fd = _replace(fd, _descend_or_make(fd, name, mode))
        yield fd
    finally:
        os.close(fd)


def make_below(top: str, part: str, mode: int) -> None:
    """Creates missing directories of a path below another; the last component may be an existing file."""
    with open_below(top, part, mode):
        pass


def _names(path: str) -> list[str]:
    return [name for name in path.split("/") if name not in ("", ".")]


def _replace(old: int, new: int) -> int:
    os.close(old)
    return new


def _descend_or_make(parent: int, name: str, mode: int) -> int:
    try:
        return descend(parent, name)
    except FileNotFoundError:
        os.mkdir(name, 0o700, dir_fd=parent)
    fd = os.open(name, DIRECTORY, dir_fd=parent)
    try:
        os.fchmod(fd, mode)
    finally:
        os.close(fd)
    return descend(parent, name)


def remove_tree(path: Path) -> None:
    """Removes a directory tree or any other entry at the path; raises OSError for what cannot be removed.

    Directories are moved to the top before they are emptied, so that depth costs neither stack nor descriptors.
    """
    try:
        top = os.open(path, DIRECTORY)
    except FileNotFoundError:
        return
    except NotADirectoryError:
        path.unlink()
        return
    try:
        while _remove_entries(top, top):
            pass
    finally:
        os.close(top)
    path.rmdir()


def _remove_entries(directory: int, top: int) -> bool:
    """Whether there was an entry."""
    found = False
    with os.scandir(directory) as entries:
        for entry in entries:
            found = True
            if not entry.is_dir(follow_symlinks=False):
                os.unlink(entry.name, dir_fd=directory)
            elif directory == top:
                _empty(top, entry.name)
                os.rmdir(entry.name, dir_fd=top)
            else:
                _make_passable(directory, entry.name)
                os.rename(entry.name, os.urandom(16).hex(), src_dir_fd=directory, dst_dir_fd=top)
    return found


def _empty(top: int, name: str) -> None:
    _make_passable(top, name)
    fd = os.open(name, DIRECTORY, dir_fd=top)
    try:
        while _remove_entries(fd, top):
            pass
    finally:
        os.close(fd)


def _make_passable(parent: int, name: str) -> None:
    """Grants the owner access to a directory whose mode may deny it; root needs no mode."""
    if os.geteuid() == 0:
        return
    fd = descend(parent, name)
    try:
        with contextlib.suppress(PermissionError):
            os.chmod(f"/proc/self/fd/{fd}", 0o700)
    finally:
        os.close(fd)
