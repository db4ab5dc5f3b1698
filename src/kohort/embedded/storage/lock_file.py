"""The small file beside a store that says who serves it and how far it has acknowledged.

SQLite takes a damaged or missing write-ahead log for one that ends earlier. The mark tells the two apart.
"""

import fcntl
import os
import re
from contextlib import suppress
from pathlib import Path

from kohort.embedded.storage.errors import OpenError

_FORM = re.compile(rb"serving ([0-9]{20})\nrevision ([0-9]{20})\n")
_REVISION_AT = len(b"serving %020d\nrevision " % 0)


class LockFile:
    """A lock held from `take` to `release`, or to the end of the process however it comes."""

    __slots__ = ("_descriptor", "path", "revision")

    def __init__(self, path: Path, descriptor: int, revision: int) -> None:
        self.path = path
        self._descriptor = descriptor
        self.revision = revision
        """The newest revision that an earlier process acknowledged; 0 when there was none."""

    @classmethod
    def take(cls, store: Path) -> "LockFile":
        """Lock a store, or say who has it."""
        path = store.with_name(store.name + ".lock")
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            process, revision = _read(descriptor)
            _lock(descriptor, store, process)
            os.pwrite(descriptor, b"serving %020d\nrevision %020d\n" % (os.getpid(), revision), 0)
        except BaseException:
            os.close(descriptor)
            raise
        return cls(path, descriptor, revision)

    def mark(self, revision: int) -> None:
        """Note that everything up to this revision is acknowledged."""
        # The commit stands whether or not this succeeds: a stale mark only notices less.
        with suppress(OSError):
            os.pwrite(self._descriptor, b"%020d" % revision, _REVISION_AT)

    def release(self) -> None:
        """Unlock; the file stays, so that two who wait for it never lock different files."""
        os.close(self._descriptor)


def _read(descriptor: int) -> tuple[int, int]:
    found = _FORM.fullmatch(os.pread(descriptor, 100, 0))
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _lock(descriptor: int, store: Path, process: int) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        who = f"process {process}" if process else "another process"
        raise OpenError(store, f"in use by {who}", "stop it, or choose another file") from None
