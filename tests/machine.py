"""Tests marked `exclusive` have the machine to themselves: no other test runs beside them, in any process or clone.

Every test holds a shared lock on a file of the user, an exclusive one the whole lock. A second lock, the gate, is held
by the process that waits for the whole lock, so that new tests queue behind it instead of keeping it out.
"""

import fcntl
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final

HELD: Final = "KOHORT_TEST_HOLDS_MACHINE"
"""Set while a test holds a lock: tests that it starts in other processes belong to it and take none."""
PATIENCE: Final = 120.0
"""Seconds after which an exclusive test begins anyway, beside others that do not end."""


class Machine:
    """The two locks of one user of a machine."""

    def __init__(self, folder: Path | None = None, patience: float = PATIENCE) -> None:
        place = folder or Path(tempfile.gettempdir())
        self._gate = _open(place / f"kohort-tests-{os.getuid()}.gate")
        self._tests = _open(place / f"kohort-tests-{os.getuid()}.lock")
        self._patience = patience

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Run beside other tests, but not beside an exclusive one."""
        fcntl.flock(self._gate, fcntl.LOCK_SH)
        fcntl.flock(self._tests, fcntl.LOCK_SH)
        fcntl.flock(self._gate, fcntl.LOCK_UN)
        try:
            yield
        finally:
            fcntl.flock(self._tests, fcntl.LOCK_UN)

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Wait until no test runs, let none begin, and run alone."""
        fcntl.flock(self._gate, fcntl.LOCK_EX)
        try:
            self._wait_for_others()
            yield
        finally:
            fcntl.flock(self._tests, fcntl.LOCK_UN)
            fcntl.flock(self._gate, fcntl.LOCK_UN)

    def close(self) -> None:
        """Give the files back."""
        os.close(self._gate)
        os.close(self._tests)

    def _wait_for_others(self) -> None:
        end = time.monotonic() + self._patience
        while not _try_lock(self._tests):
            if time.monotonic() >= end:
                self._patience = 0.0  # the holder hangs: later exclusive tests of this process do not wait again
                return
            time.sleep(0.01)


@contextmanager
def held(take: Callable[[], AbstractContextManager[None]]) -> Iterator[None]:
    """Hold a lock, unless the process was started by a test that holds one."""
    if HELD in os.environ:
        yield
        return
    with take():
        os.environ[HELD] = "1"
        try:
            yield
        finally:
            del os.environ[HELD]


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def _try_lock(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
