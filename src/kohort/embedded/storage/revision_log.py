"""The file behind a store: appends the revisions of a batch in one transaction, and takes superseded ones out.

A batch that fails is rolled back whole, so that the file holds what memory shows; the next one tries anew.
"""

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kohort.embedded.storage import files, records
from kohort.embedded.storage.errors import WriteFailedError
from kohort.embedded.storage.lock_file import LockFile
from kohort.embedded.storage.recovery import RecoveredState
from kohort.embedded.storage.stored_objects import StorageEvent

Begin = Callable[[int], RecoveredState]
"""Makes the empty state of a store whose oldest revision is given."""


@dataclass(frozen=True, slots=True)
class Compaction:
    """What to take out of the file: revisions that are superseded by those up to `floor`."""

    floor: int
    revisions: Sequence[int]


class RevisionLog:
    """An open store file; its methods block, and only one runs at a time."""

    __slots__ = ("_db", "_floor", "_guard", "_path")

    def __init__(self, path: Path, guard: LockFile, db: sqlite3.Connection, floor: int) -> None:
        self._path = path
        self._guard = guard
        self._db = db
        self._floor = floor

    @classmethod
    def open(cls, path: Path, first: int, begin: Begin, now: float) -> "tuple[RevisionLog, RecoveredState]":
        """Open a file, or make one whose revisions begin at `first`, and read what is in it."""
        guard = files.lock(path)
        try:
            if not path.exists():
                files.create(path, first)
            files.check_header(path)
            with files.checked(path) as db:
                floor = records.read_floor(db)
                state = begin(floor).replay(records.read_records(db), now)
            files.check_mark(path, guard, state.revision)
            return cls(path, guard, files.connect(path), floor), state
        except BaseException:
            guard.release()
            raise

    def commit(self, changes: Sequence[StorageEvent], sweep: Compaction) -> None:
        """Make a batch durable, and take out what the sweep names; all of it or nothing."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
            records.write_changes(self._db, changes)
            self._sweep(sweep)
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            self._roll_back()
            raise WriteFailedError(
                f"{self._path}: {error}; nothing of the write was kept, make room or repair the disk and try again"
            ) from None
        self._floor = max(self._floor, sweep.floor)
        if changes:
            self._guard.mark(changes[-1].revision)

    def close(self) -> None:
        """Bring everything into the one file, and unlock it."""
        try:
            self._db.close()
        finally:
            self._guard.release()

    def _sweep(self, sweep: Compaction) -> None:
        # The floor goes first and with them: rows may only be missing where nobody is promised them.
        if sweep.floor > self._floor:
            records.write_floor(self._db, sweep.floor)
        records.delete_revisions(self._db, sweep.revisions)

    def _roll_back(self) -> None:
        # What can't be rolled back makes the next BEGIN fail: no write is acknowledged on top of it.
        with suppress(sqlite3.Error):
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
