"""The folder of one demo: its cluster, its temporary files, and the files that release its jobs.

A demo locks its folder before the folder gets its final name. So a folder without a lock belongs to a demo that was
killed, and the next demo terminates its pods and removes it.
"""

import asyncio
import fcntl
import logging
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from kohort.embedded.runtimes.process.leftovers import end_pods

log = logging.getLogger(__name__)

_PREFIX: Final = "kohort-demo-"
_OPEN: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class DemoFolder:
    """The folder of a demo."""

    def __init__(self, top: Path) -> None:
        self.cluster = top / "cluster"
        self._released = top / "released"
        self._released.mkdir()

    def released(self, team: str) -> Path:
        """The file that releases the jobs of a team."""
        return self._released / team

    def release(self, team: str) -> None:
        """Let the jobs of a team finish."""
        self.released(team).touch()


@contextmanager
def demo_folder() -> Iterator[DemoFolder]:
    """A new folder, also for temporary files, until the context exits."""
    unnamed = Path(tempfile.mkdtemp(prefix=f".{_PREFIX}"))
    lock = os.open(unnamed, _OPEN)
    fcntl.flock(lock, fcntl.LOCK_EX)
    top = unnamed.rename(unnamed.with_name(unnamed.name.removeprefix(".")))
    temporary = top / "tmp"
    temporary.mkdir()
    before, tempfile.tempdir = tempfile.tempdir, str(temporary)
    try:
        yield DemoFolder(top)
    finally:
        tempfile.tempdir = before
        shutil.rmtree(top, ignore_errors=True)
        os.close(lock)


async def remove_killed_demos() -> None:
    """Terminate the pods of this user's killed demos, and remove their folders."""
    for top in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        lock = await asyncio.to_thread(_lock_of_killed, top)
        if lock is None:
            continue
        try:
            log.info("removing folder of a killed demo: %s", top)
            await end_pods(top / "cluster" / "runtime")
            await asyncio.to_thread(shutil.rmtree, top, ignore_errors=True)
        finally:
            os.close(lock)


def _lock_of_killed(top: Path) -> int | None:
    """The lock of a folder of this user, if no demo holds it."""
    try:
        lock = os.open(top, _OPEN)
    except OSError:
        return None
    if os.fstat(lock).st_uid == os.geteuid():
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pass
        else:
            return lock
    os.close(lock)
    return None
