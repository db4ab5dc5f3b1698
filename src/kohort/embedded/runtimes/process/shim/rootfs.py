"""The root file system of a container: the machine's with volumes at their mount paths.

The root is a fresh tmpfs in a mount namespace of the container; every entry of the machine's root is bound into it, and
directories on the path to a volume are rebuilt the same way, so that nothing on the machine changes.
"""

import contextlib
import os
import stat

from kohort.embedded.runtimes.job_files import PATH, create, descend, open_path
from kohort.embedded.runtimes.process.shim import linux

Bind = tuple[str, str, bool]
"""Source without symbolic links, target, and whether it is read-only."""

_LOCKED = os.ST_NOSUID | os.ST_NODEV | os.ST_NOEXEC
_RELATIME = os.ST_RELATIME


class MountPoint:
    """A directory on the path to volumes, or a mount point."""

    def __init__(self) -> None:
        self.below: dict[str, MountPoint] = {}
        self.bind: tuple[str, bool] | None = None


def enter_root(at: str, binds: list[Bind]) -> None:
    """Enters a mount namespace with the binds; `at` is an empty directory."""
    _own_namespace()
    linux.mount("", "/", "", linux.MS_REC | linux.MS_PRIVATE)
    linux.mount("kohort", at, "tmpfs", 0, "mode=0755,size=1m")
    _fill("/", at, plan(binds))
    os.chdir(at)
    linux.pivot_root(".", ".")
    linux.unmount(".", linux.MNT_DETACH)
    os.chdir("/")


def plan(binds: list[Bind]) -> MountPoint:
    """The tree of mount points; symbolic links of the machine are resolved first, since /var/run is /run on most."""
    top = MountPoint()
    for source, target, only_read in binds:
        point = top
        for name in filter(None, os.path.realpath(target).split("/")):
            point = point.below.setdefault(name, MountPoint())
        point.bind = (source, only_read)
    return top


def _own_namespace() -> None:
    if os.geteuid() == 0:
        linux.unshare(linux.CLONE_NEWNS)
    else:
        own_user(linux.CLONE_NEWNS)


def own_user(more: int = 0) -> None:
    """Enters a user namespace that maps only this user; its limits count its own processes only."""
    user, group = os.geteuid(), os.getegid()
    linux.unshare(linux.CLONE_NEWUSER | more)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def _fill(old: str, new: str, point: MountPoint) -> None:
    for entry in os.scandir(old) if os.path.isdir(old) else ():
        if entry.name not in point.below:
            _mirror(entry, f"{new}/{entry.name}")
    for name, below in point.below.items():
        _put(os.path.join(old, name), f"{new}/{name}", below)


def _put(old: str, new: str, point: MountPoint) -> None:
    if point.bind is None:
        os.mkdir(new)
        if os.path.isdir(old):
            os.chmod(new, stat.S_IMODE(os.stat(old).st_mode))
        _fill(old, new, point)
        return
    source, only_read = point.bind
    with open_path(source) as found:
        _mount_point(new, is_directory=_is_directory(found))
        _bind(found, new)
    if only_read:
        _make_read_only(new)
    _put_all_inside(os.open(new, PATH), point)


def _put_all_inside(volume: int, point: MountPoint) -> None:
    """Mounts within a volume, whose descriptor is closed afterwards."""
    try:
        for name, below in point.below.items():
            _put_inside(volume, name, below)
    finally:
        os.close(volume)


def _put_inside(parent: int, name: str, point: MountPoint) -> None:
    """Mounts within a volume: the mount point is created in the volume itself, as container runtimes do.

    A job with write access to the volume may place a symbolic link there, which must not lead out of it.
    """
    if point.bind is None:
        _make_inside(parent, name, is_directory=True)
    else:
        with open_path(point.bind[0]) as found:
            _make_inside(parent, name, is_directory=_is_directory(found))
            target = descend(parent, name)
            try:
                _bind(found, f"/proc/self/fd/{target}")
            finally:
                os.close(target)
    mounted = descend(parent, name)
    if point.bind is not None and point.bind[1]:
        _make_read_only(f"/proc/self/fd/{mounted}")
    _put_all_inside(mounted, point)


def _is_directory(fd: int) -> bool:
    return stat.S_ISDIR(os.fstat(fd).st_mode)


def _make_inside(parent: int, name: str, *, is_directory: bool) -> None:
    with contextlib.suppress(FileExistsError):
        if is_directory:
            os.mkdir(name, 0o755, dir_fd=parent)
        else:
            os.close(create(name, 0o644, dir_fd=parent))


def _bind(source: int, new: str) -> None:
    linux.mount(f"/proc/self/fd/{source}", new, "", linux.MS_BIND | linux.MS_REC)


def _make_read_only(new: str) -> None:
    kept = os.statvfs(new).f_flag & (_LOCKED | _RELATIME)
    flags = (kept & _LOCKED) | (0x200000 if kept & _RELATIME else 0)
    linux.mount("", new, "", linux.MS_BIND | linux.MS_REMOUNT | linux.MS_RDONLY | flags)


def _mirror(entry: "os.DirEntry[str]", new: str) -> None:
    if entry.is_symlink():
        os.symlink(os.readlink(entry.path), new)
        return
    try:
        _mount_point(new, is_directory=entry.is_dir())
        linux.mount(entry.path, new, "", linux.MS_BIND | linux.MS_REC)
    except OSError:
        # Paths that this user cannot access on the machine are not accessible in the container either.
        return


def _mount_point(path: str, *, is_directory: bool) -> None:
    if is_directory:
        os.makedirs(path, exist_ok=True)
    elif not os.path.exists(path):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644))
