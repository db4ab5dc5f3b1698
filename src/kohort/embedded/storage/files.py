"""Creates, checks and opens store files; a file that fails a check is left unchanged.

A new file is completed under a temporary name, so that a crash leaves all or nothing. An existing one is read
completely through a read-only connection before it is opened for writing.
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
_CHOOSE_ANOTHER = "choose another file"
_PRIMARY = 0xFF
"""Mask of SQLite's primary result code."""
_IO_ERRORS = (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_NOMEM)


def lock(path: Path) -> LockFile:
    """Locks a store; its folder must exist and be writable."""
    folder = path.parent
    if not folder.is_dir():
        raise OpenError(path, f"the folder {folder} does not exist", "create it, or choose another file")
    try:
        return LockFile.take(path)
    except OSError as error:
        raise OpenError(
            path, f"the folder cannot be written ({error.strerror})", "grant access, or choose another"
        ) from None


def create(path: Path, floor: int) -> None:
    """Creates an empty store whose revisions start after `floor`."""
    log = _log(path)
    if _is_not_empty(log):
        raise OpenError(path, f"absent, while its log {log.name} is there", "restore the file, or move the log away")
    draft = path.with_name(path.name + ".new")
    try:
        draft.unlink(missing_ok=True)
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        _fill(draft, floor)
        draft.rename(path)
        _sync(path.parent)
    except (OSError, sqlite3.Error) as error:
        raise OpenError(
            path, f"cannot be created ({error})", "free disk space or grant access, or choose another file"
        ) from None


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
    """Rejects a file that is not a Kohort store, before SQLite opens it."""
    try:
        with path.open("r+b") as file:
            header = file.read(_HEADER)
    except OSError as error:
        raise OpenError(
            path, f"cannot be read and written ({error.strerror})", f"grant access, or {_CHOOSE_ANOTHER}"
        ) from None
    if len(header) < _HEADER or not header.startswith(_MAGIC):
        raise OpenError(path, "not a Kohort store", f"{_CHOOSE_ANOTHER}, or move this one away")
    version, application = _header_word(header, _VERSION_AT), _header_word(header, _APPLICATION_AT)
    if application != APPLICATION:
        raise OpenError(path, "an SQLite file of another program, not a Kohort store", _CHOOSE_ANOTHER)
    if version != VERSION:
        why = f"written in format {version}, this Kohort reads format {VERSION}"
        raise OpenError(path, why, f"use the Kohort that wrote it, or {_CHOOSE_ANOTHER}")


def _header_word(header: bytes, at: int) -> int:
    number: int = struct.unpack_from(">I", header, at)[0]
    return number


@contextmanager
def checked(path: Path) -> Iterator[sqlite3.Connection]:
    """A read-only connection to a file whose structure is intact; reports damage found while reading."""
    try:
        with closing(sqlite3.connect(_read_only(path), uri=True, isolation_level=None)) as db:
            _check_structure(db)
            yield db
    except (sqlite3.Error, UnicodeError, CorruptRowError) as error:
        if _is_io_failure(error):
            remedy = "free disk space or repair the disk, and retry; no data is lost"
            raise OpenError(path, f"cannot be read now ({_one_line(error)})", remedy) from None
        remedy = f"restore it from a copy, or move {path.name}* away to start empty"
        raise OpenError(path, f"damaged ({_one_line(error)})", remedy) from None


def _is_io_failure(error: Exception) -> bool:
    """Whether the operating system prevented the read, as with a full disk, so that the file need not be damaged.

    SQLite needs free space next to a file with a write-ahead log. A short read is the file's own damage.
    """
    code = getattr(error, "sqlite_errorcode", 0)
    return code & _PRIMARY in _IO_ERRORS and code != sqlite3.SQLITE_IOERR_SHORT_READ


def _read_only(path: Path) -> str:
    """The URI that opens the file read-only; immutable unless there is a log, for which SQLite creates files."""
    mode = "mode=ro" if _is_not_empty(_log(path)) else "immutable=1"
    return f"{path.absolute().as_uri()}?{mode}"


def _log(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def _is_not_empty(file: Path) -> bool:
    return file.exists() and file.stat().st_size > 0


def _check_structure(db: sqlite3.Connection) -> None:
    result = str(db.execute("PRAGMA quick_check(1)").fetchone()[0])
    if result != "ok":
        raise CorruptRowError(result)


def check_mark(path: Path, lock_file: LockFile, revision: int) -> None:
    """Rejects a file without an acknowledged revision: its log was lost or damaged, or it is an old copy."""
    if revision < lock_file.revision:
        why = f"ends at revision {revision}, while {lock_file.revision} had been acknowledged"
        raise OpenError(
            path, why, f"restore {path.name} and {path.name}-wal, or remove {lock_file.path} to accept the loss"
        )


def connect(path: Path) -> sqlite3.Connection:
    """The connection for writing; used by one thread at a time."""
    db = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
    try:
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA journal_size_limit = 67108864")
    except sqlite3.Error as error:
        db.close()
        raise OpenError(
            path, f"cannot be written ({_one_line(error)})", f"grant access, or {_CHOOSE_ANOTHER}"
        ) from None
    return db


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
