"""Making, checking and opening a store file; whatever is wrong with one, it stays as it is.

A new file is finished under another name first, so that a crash leaves all of it or nothing. An existing one is read
whole through a read-only connection before anything may write to it.
"""

import os
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from kohort.embedded.storage.errors import OpenError
from kohort.embedded.storage.lock_file import LockFile
from kohort.embedded.storage.records import APPLICATION, SCHEMA, VERSION, CorruptRowError, write_floor

_MAGIC = b"SQLite format 3\0"
_HEADER = 100
_VERSION_AT, _APPLICATION_AT = 60, 68
_ELSEWHERE = "choose another file"
_PRIMARY = 0xFF
"""The part of SQLite's error codes that tells the kind."""
_HINDRANCES = (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_NOMEM)


def lock(path: Path) -> LockFile:
    """Take the lock of a store, in a folder that must be there and writable."""
    folder = path.parent
    if not folder.is_dir():
        raise OpenError(path, f"the folder {folder} does not exist", "create it, or choose another file")
    try:
        return LockFile.take(path)
    except OSError as error:
        raise OpenError(
            path, f"the folder can't be written ({error.strerror})", "allow it, or choose another"
        ) from None


def create(path: Path, floor: int) -> None:
    """Make an empty store whose revisions go on from `floor`."""
    log = _log(path)
    if _holds_something(log):
        raise OpenError(path, f"absent, while its log {log.name} is there", "restore the file, or move the log away")
    draft = path.with_name(path.name + ".new")
    try:
        draft.unlink(missing_ok=True)
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        _fill(draft, floor)
        draft.rename(path)
        _sync(path.parent)
    except (OSError, sqlite3.Error) as error:
        raise OpenError(path, f"can't be created ({error})", "make room or allow it, or choose another file") from None


def _fill(draft: Path, floor: int) -> None:
    with closing(sqlite3.connect(draft, isolation_level=None)) as db:
        db.execute("PRAGMA synchronous = FULL")
        db.execute(f"PRAGMA application_id = {APPLICATION}")
        db.execute(f"PRAGMA user_version = {VERSION}")
        db.executescript(SCHEMA)
        write_floor(db, floor)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def check_header(path: Path) -> None:
    """Refuse what is not a store of ours, before SQLite gets to see it."""
    try:
        with path.open("r+b") as file:
            header = file.read(_HEADER)
    except OSError as error:
        raise OpenError(path, f"can't be read and written ({error.strerror})", f"allow it, or {_ELSEWHERE}") from None
    if len(header) < _HEADER or not header.startswith(_MAGIC):
        raise OpenError(path, "not a Kohort store", f"{_ELSEWHERE}, or move this one away")
    version, application = _word(header, _VERSION_AT), _word(header, _APPLICATION_AT)
    if application != APPLICATION:
        raise OpenError(path, "an SQLite file of another program, not a Kohort store", _ELSEWHERE)
    if version != VERSION:
        why = f"written in format {version}, this Kohort reads format {VERSION}"
        raise OpenError(path, why, f"use the Kohort that wrote it, or {_ELSEWHERE}")


def _word(header: bytes, at: int) -> int:
    number: int = struct.unpack_from(">I", header, at)[0]
    return number


@contextmanager
def checked(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that only reads, to a file whose structure is sound; damage met while reading is told as such."""
    try:
        with closing(sqlite3.connect(_read_only(path), uri=True, isolation_level=None)) as db:
            _check_structure(db)
            yield db
    except (sqlite3.Error, UnicodeError, CorruptRowError) as error:
        if _is_hindered(error):
            remedy = "make room or repair the disk, and try again: nothing is lost by that"
            raise OpenError(path, f"can't be read at present ({_one_line(error)})", remedy) from None
        remedy = f"restore it from a copy, or move {path.name}* away to begin anew"
        raise OpenError(path, f"damaged ({_one_line(error)})", remedy) from None


def _is_hindered(error: Exception) -> bool:
    """Whether the system kept SQLite from reading, as a full disk does, which says nothing about the file.

    SQLite needs room beside a file that has a log. A read that ends too early is the file's own fault.
    """
    code = getattr(error, "sqlite_errorcode", 0)
    return code & _PRIMARY in _HINDRANCES and code != sqlite3.SQLITE_IOERR_SHORT_READ


def _read_only(path: Path) -> str:
    """How SQLite opens the file without making another one beside it, which it must where there is a log to read."""
    way = "mode=ro" if _holds_something(_log(path)) else "immutable=1"
    return f"{path.absolute().as_uri()}?{way}"


def _log(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def _holds_something(file: Path) -> bool:
    return file.exists() and file.stat().st_size > 0


def _check_structure(db: sqlite3.Connection) -> None:
    verdict = str(db.execute("PRAGMA quick_check(1)").fetchone()[0])
    if verdict != "ok":
        raise CorruptRowError(verdict)


def check_mark(path: Path, guard: LockFile, revision: int) -> None:
    """Refuse a file that lacks what was acknowledged: its log was lost or damaged, or it is an old copy."""
    if revision < guard.revision:
        why = f"ends at revision {revision}, while {guard.revision} had been acknowledged"
        raise OpenError(
            path, why, f"restore {path.name} and {path.name}-wal, or remove {guard.path} to accept the loss"
        )


def connect(path: Path) -> sqlite3.Connection:
    """The connection that writes; it is passed between threads, one at a time."""
    db = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
    try:
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA journal_size_limit = 67108864")
    except sqlite3.Error as error:
        db.close()
        raise OpenError(path, f"can't be written ({_one_line(error)})", f"allow it, or {_ELSEWHERE}") from None
    return db


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
