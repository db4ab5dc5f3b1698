"""Where batches go: to a file by a thread of its own, or nowhere.

The thread works one batch at a time; whatever gathers meanwhile becomes the next batch, one sync for many writers.
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
    """Takes batches in order."""

    def commit(self, changes: Sequence[StorageEvent], sweep: Compaction) -> "asyncio.Future[None]":
        """Done when the batch is durable; fails with `WriteFailed` when it is not."""

    async def close(self) -> None:
        """Let go of the file; nothing may be under way."""


class NullBackend:
    """Keeps nothing: the store ends with its process."""

    def commit(self, changes: Sequence[StorageEvent], sweep: Compaction) -> "asyncio.Future[None]":
        """Done at once."""
        done = asyncio.get_running_loop().create_future()
        done.set_result(None)
        return done

    async def close(self) -> None:
        """Nothing to let go of."""


class SqliteBackend:
    """A journal, and the one thread that touches it."""

    def __init__(self, journal: RevisionLog, thread: ThreadPoolExecutor) -> None:
        self._journal = journal
        self._thread = thread

    @classmethod
    async def open(cls, path: Path, first: int, begin: Begin, now: float) -> "tuple[SqliteBackend, RecoveredState]":
        """Open the journal in the thread that will write it."""
        thread = ThreadPoolExecutor(1, "kohort-store")
        opening = thread.submit(RevisionLog.open, path, first, begin, now)
        try:
            journal, state = await asyncio.wrap_future(opening)
        except BaseException:
            opening.add_done_callback(abandon)
            thread.shutdown(wait=False)
            raise
        return cls(journal, thread), state

    def commit(self, changes: Sequence[StorageEvent], sweep: Compaction) -> "asyncio.Future[None]":
        """Hand the batch to the thread."""
        return asyncio.get_running_loop().run_in_executor(self._thread, self._journal.commit, changes, sweep)

    async def close(self) -> None:
        """Close the journal behind the last batch."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._journal.close)
        self._thread.shutdown(wait=False)


def abandon(opening: "Future[tuple[RevisionLog, RecoveredState]]") -> None:
    """Let go of a file that was opened for somebody who no longer waits for it."""
    if not opening.cancelled() and not opening.exception():
        opening.result()[0].close()
