"""System calls that Python's `os` does not provide."""

import ctypes
import os

CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000
MS_RDONLY = 0x1
MS_REMOUNT = 0x20
MS_BIND = 0x1000
MS_REC = 0x4000
MS_PRIVATE = 1 << 18
MNT_DETACH = 2
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41, "riscv64": 41, "ppc64le": 203, "s390x": 217}

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error), what)


def unshare(flags: int) -> None:
    """Creates new namespaces."""
    _check(_libc.unshare(flags), "unshare")


def mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    """Mounts, binds or changes a mount."""
    arguments = (source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), data.encode() or None)
    _check(_libc.mount(*arguments), target)


def unmount(target: str, flags: int) -> None:
    """Unmounts."""
    _check(_libc.umount2(target.encode(), flags), target)


def pivot_root(new: str, old: str) -> None:
    """Makes a mount the root of this namespace."""
    number = _PIVOT_ROOT.get(os.uname().machine)
    if number is None:
        raise OSError(38, "pivot_root: unsupported machine architecture")
    _check(_libc.syscall(number, new.encode(), old.encode()), new)


def die_with_parent(signal: int) -> None:
    """Sends this process a signal when its parent dies."""
    _check(_libc.prctl(_PR_SET_PDEATHSIG, signal, 0, 0, 0), "prctl")


def adopt_orphans() -> None:
    """Makes this process a subreaper."""
    _check(_libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "prctl")
