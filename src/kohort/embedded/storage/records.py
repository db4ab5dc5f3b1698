"""Format of the store file: one row per revision, with a checksum over all columns.

A changed format gets a new `VERSION`; files of another version are rejected.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from sys import intern
from typing import NamedTuple
from zlib import crc32

from kohort.embedded.storage.stored_objects import StorageEvent, StorageKey
from kohort.kube.watch_events import WatchEventType

APPLICATION = 0x4B6F6872
"""Application ID in SQLite's header: the file is a Kohort store."""
VERSION = 1

SCHEMA = """
CREATE TABLE log (
  revision  INTEGER PRIMARY KEY,
  resource  TEXT NOT NULL,
  namespace TEXT NOT NULL,
  name      TEXT NOT NULL,
  previous  INTEGER NOT NULL,  -- the revision it supersedes, 0 for a new object
  deleted   INTEGER NOT NULL,
  checksum  INTEGER NOT NULL,
  data      BLOB NOT NULL
);
CREATE TABLE floor (           -- one row: what lies before this revision is compacted
  revision  INTEGER PRIMARY KEY,
  checksum  INTEGER NOT NULL
);
"""
_INSERT = "INSERT INTO log VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_READ = "SELECT revision, resource, namespace, name, previous, deleted, data, checksum FROM log ORDER BY revision"


class CorruptRowError(Exception):
    """A row does not match its checksum or format."""


class RevisionRow(NamedTuple):
    """One revision in the file."""

    revision: int
    resource: str
    namespace: str
    name: str
    previous: int
    deleted: int
    data: bytes

    @property
    def checksum(self) -> int:
        """CRC over every column."""
        return crc32(self.data, crc32("\0".join(map(str, self[:-1])).encode()))

    @property
    def key(self) -> StorageKey:
        """Key of the object; strings are interned because many keys share them."""
        return StorageKey(intern(self.resource), intern(self.namespace), self.name)

    @property
    def kind(self) -> WatchEventType:
        """Event type of the revision."""
        if self.deleted:
            return WatchEventType.DELETED
        return WatchEventType.MODIFIED if self.previous else WatchEventType.ADDED


def record_of(change: StorageEvent) -> RevisionRow:
    """The row of an event."""
    previous = change.previous.revision if change.previous else 0
    return RevisionRow(
        change.revision, *change.entry.key, previous, int(change.kind is WatchEventType.DELETED), change.entry.data
    )


def write_changes(db: sqlite3.Connection, changes: Iterable[StorageEvent]) -> None:
    """Inserts rows in the open transaction."""
    records = map(record_of, changes)
    db.executemany(_INSERT, ((*record[:-1], record.checksum, record.data) for record in records))


def read_records(db: sqlite3.Connection) -> Iterator[RevisionRow]:
    """All rows in the order of revisions, with verified checksums."""
    for row in db.execute(_READ):
        record = RevisionRow._make(row[:-1])
        if not isinstance(record.data, bytes) or record.checksum != row[-1]:
            raise CorruptRowError(f"revision {record.revision} has a wrong checksum")
        yield record


def write_floor(db: sqlite3.Connection, revision: int) -> None:
    """Records the compacted revision in the open transaction."""
    db.execute("DELETE FROM floor")
    db.execute("INSERT INTO floor VALUES (?, ?)", (revision, crc32(b"%d" % revision)))


def read_floor(db: sqlite3.Connection) -> int:
    """The compacted revision."""
    rows = db.execute("SELECT revision, checksum FROM floor").fetchall()
    revision, checksum = rows[0] if len(rows) == 1 else (None, None)
    # A flipped bit may change the type of a column.
    if not isinstance(revision, int) or checksum != crc32(b"%d" % revision):
        raise CorruptRowError("the oldest revision is unreadable")
    return revision


def delete_revisions(db: sqlite3.Connection, revisions: Iterable[int]) -> None:
    """Deletes rows in the open transaction."""
    db.executemany("DELETE FROM log WHERE revision = ?", ((revision,) for revision in revisions))
