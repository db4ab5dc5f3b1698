"""Lock file next to a store, with the owning process and the last acknowledged revision.

SQLite treats a damaged or missing write-ahead log as a shorter one. The acknowledged revision detects that.
"""

import fcntl
import os
import re
from contextlib import suppress
from pathlib import Path

from kohort.embedded.storage.errors import OpenError

_PATTERN = re.compile(rb"serving ([0-9]{20})\nrevision ([0-9]{20})\n")
_REVISION_AT = len(b"serving %020d\nrevision " % 0)


class LockFile:
    """A lock held from `take` to `release` or to the end of the process."""

    __slots__ = ("_descriptor", "path", "revision")

    def __init__(self, path: Path, descriptor: int, revision: int) -> None:
        self.path = path
        self._descriptor = descriptor
        self.revision = revision
        """The last revision that an earlier process acknowledged; 0 without one."""

    @classmethod
    def take(cls, store: Path) -> "LockFile":
        """Locks a store; the error names the process that holds it."""
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

    def record_revision(self, revision: int) -> None:
        """Records that everything up to this revision is acknowledged."""
        # The commit is valid even if this fails: an old mark only detects less.
        with suppress(OSError):
            os.pwrite(self._descriptor, b"%020d" % revision, _REVISION_AT)

    def release(self) -> None:
        """Unlocks; the file is kept, so that two waiting processes never lock different files."""
        os.close(self._descriptor)


def _read(descriptor: int) -> tuple[int, int]:
    found = _PATTERN.fullmatch(os.pread(descriptor, 100, 0))
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _lock(descriptor: int, store: Path, process: int) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        who = f"process {process}" if process else "another process"
        raise OpenError(store, f"in use by {who}", "stop it, or choose another file") from None
