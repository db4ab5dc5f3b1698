"""The store file: appends the revisions of a batch in one transaction, and deletes compacted ones.

A failed batch is rolled back as a whole, so that the file matches memory; the next batch is tried again.
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
"""Creates the empty state of a store with the given oldest revision."""


@dataclass(frozen=True, slots=True)
class Compaction:
    """Rows to delete: revisions superseded by those up to `floor`."""

    floor: int
    revisions: Sequence[int]


class RevisionLog:
    """An open store file; its methods block and must not run concurrently."""

    __slots__ = ("_db", "_floor", "_lock", "_path")

    def __init__(self, path: Path, lock: LockFile, db: sqlite3.Connection, floor: int) -> None:
        self._path = path
        self._lock = lock
        self._db = db
        self._floor = floor

    @classmethod
    def open(cls, path: Path, first: int, begin: Begin, now: float) -> "tuple[RevisionLog, RecoveredState]":
        """Opens a file, or creates one whose revisions start at `first`, and reads its content."""
        lock = files.lock(path)
        try:
            if not path.exists():
                files.create(path, first)
            files.check_header(path)
            with files.checked(path) as db:
                floor = records.read_floor(db)
                state = begin(floor).replay(records.read_records(db), now)
            files.check_mark(path, lock, state.revision)
            return cls(path, lock, files.connect(path), floor), state
        except BaseException:
            lock.release()
            raise

    def commit(self, changes: Sequence[StorageEvent], compaction: Compaction) -> None:
        """Commits a batch and the deletions of a compaction in one transaction."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
            records.write_changes(self._db, changes)
            self._delete_rows(compaction)
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            self._roll_back()
            raise WriteFailedError(
                f"{self._path}: {error}; the write was rolled back; free disk space or repair the disk, and retry"
            ) from None
        self._floor = max(self._floor, compaction.floor)
        if changes:
            self._lock.record_revision(changes[-1].revision)

    def close(self) -> None:
        """Checkpoints everything into the file, and unlocks it."""
        try:
            self._db.close()
        finally:
            self._lock.release()

    def _delete_rows(self, compaction: Compaction) -> None:
        # The floor is written first in the transaction: rows may be missing only below it.
        if compaction.floor > self._floor:
            records.write_floor(self._db, compaction.floor)
        records.delete_revisions(self._db, compaction.revisions)

    def _roll_back(self) -> None:
        # If the rollback fails, the next BEGIN fails: no write is acknowledged on top of it.
        with suppress(sqlite3.Error):
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
