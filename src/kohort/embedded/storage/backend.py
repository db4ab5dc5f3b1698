"""Storage backends: a file written by one thread, or none.

The thread commits one batch at a time; writes that arrive meanwhile form the next batch, so that one sync serves many.
"""

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

from kohort.embedded.storage.recovery import RecoveredState
from kohort.embedded.storage.revision_log import Begin, Compaction, RevisionLog
from kohort.embedded.storage.stored_objects import StorageEvent


class Backend(Protocol):
    """Commits batches in order."""

    def commit(self, changes: Sequence[StorageEvent], compaction: Compaction) -> "asyncio.Future[None]":
        """Returns when the batch is durable; raises `WriteFailedError` otherwise."""

    async def close(self) -> None:
        """Releases the file; no commit may be in flight."""


class NullBackend:
    """Backend of a store in memory."""

    def commit(self, changes: Sequence[StorageEvent], compaction: Compaction) -> "asyncio.Future[None]":
        """Returns at once."""
        done = asyncio.get_running_loop().create_future()
        done.set_result(None)
        return done

    async def close(self) -> None:
        """Does nothing."""


class SqliteBackend:
    """A revision log, and the thread that accesses it."""

    def __init__(self, revision_log: RevisionLog, thread: ThreadPoolExecutor) -> None:
        self._revision_log = revision_log
        self._thread = thread

    @classmethod
    async def open(cls, path: Path, first: int, begin: Begin, now: float) -> "tuple[SqliteBackend, RecoveredState]":
        """Opens the revision log in its thread."""
        thread = ThreadPoolExecutor(1, "kohort-store")
        opening = thread.submit(RevisionLog.open, path, first, begin, now)
        try:
            revision_log, state = await asyncio.wrap_future(opening)
        except BaseException:
            opening.add_done_callback(abandon)
            thread.shutdown(wait=False)
            raise
        return cls(revision_log, thread), state

    def commit(self, changes: Sequence[StorageEvent], compaction: Compaction) -> "asyncio.Future[None]":
        """Commits the batch in the thread."""
        return asyncio.get_running_loop().run_in_executor(self._thread, self._revision_log.commit, changes, compaction)

    async def close(self) -> None:
        """Closes the revision log after the last batch."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._revision_log.close)
        self._thread.shutdown(wait=False)


def abandon(opening: "Future[tuple[RevisionLog, RecoveredState]]") -> None:
    """Closes a file whose opening was cancelled."""
    if not opening.cancelled() and not opening.exception():
        opening.result()[0].close()
