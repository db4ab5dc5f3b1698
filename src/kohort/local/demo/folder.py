"""The folder of one demonstration: its cluster, its temporary files, and the files for which its jobs wait.

A demo holds a lock on its folder from before the folder has its name. So a folder whose lock is free belongs to a demo
that was killed, and the next one ends the pods in it and removes it.
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
    """Where everything of a demonstration is."""

    def __init__(self, top: Path) -> None:
        self.cluster = top / "cluster"
        self._released = top / "released"
        self._released.mkdir()

    def released(self, team: str) -> Path:
        """The file for which the jobs of a team wait."""
        return self._released / team

    def release(self, team: str) -> None:
        """Let the jobs of a team finish."""
        self.released(team).touch()


@contextmanager
def demo_folder() -> Iterator[DemoFolder]:
    """A new folder, which is removed at the end; temporary files are made in it."""
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
    """End the pods of demos of this user that were killed, and remove their folders."""
    for top in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        lock = await asyncio.to_thread(_lock_of_killed, top)
        if lock is None:
            continue
        try:
            log.info("removing %s of a demo that was killed", top)
            await end_pods(top / "cluster" / "runtime")
            await asyncio.to_thread(shutil.rmtree, top, ignore_errors=True)
        finally:
            os.close(lock)


def _lock_of_killed(top: Path) -> int | None:
    """The lock on a folder of this user that no demo holds."""
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
