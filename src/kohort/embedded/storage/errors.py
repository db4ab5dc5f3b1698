"""Errors of the store; each message is one line.

StoreError
├── OpenError              the file cannot be opened: missing folder, foreign, damaged, too new, in use; it is unchanged
├── WriteFailedError       the write is not durable, and no reader has seen it
├── StoreBusyError         the limit of pending writes is reached
├── StoreClosedError       the store is closed
├── KeyExistsError         a create found an existing object
├── RevisionConflictError  the object is not at the expected revision
├── CompactedError         the requested revision is compacted
├── FutureRevisionError    the requested revision does not exist yet
└── WatchTooSlowError      the next event of a watch is compacted
"""

from pathlib import Path

from kohort.embedded.storage.stored_objects import StorageKey, StoredObject


class StoreError(Exception):
    """Base class of the store's errors."""


class OpenError(StoreError):
    """The file cannot be opened: names path, cause and remedy. The file is unchanged."""

    def __init__(self, path: Path, why: str, remedy: str) -> None:
        self.path = path
        super().__init__(f"{path}: {why}; {remedy}")


class WriteFailedError(StoreError):
    """The write could not be made durable, or depends on one that could not."""


class StoreBusyError(StoreError):
    """Too many writes are pending; retry later."""


class StoreClosedError(StoreError):
    """The store accepts no more writes."""


class KeyExistsError(StoreError):
    """An object with this key exists."""

    def __init__(self, current: StoredObject) -> None:
        self.current = current
        super().__init__(f"{_named(current.key)} exists at revision {current.revision}")


class RevisionConflictError(StoreError):
    """The object is at another revision, or deleted; `current` is the stored one."""

    def __init__(self, key: StorageKey, expected: int, current: StoredObject | None) -> None:
        self.current = current
        found = f"is at revision {current.revision}" if current else "does not exist"
        super().__init__(f"{_named(key)} {found}, expected revision {expected}")


class CompactedError(StoreError):
    """The requested revision is compacted."""

    def __init__(self, revision: int, oldest: int) -> None:
        self.oldest = oldest
        super().__init__(f"revision {revision} is compacted, the oldest is {oldest}: list again")


class FutureRevisionError(StoreError):
    """The requested revision is newer than the store's."""

    def __init__(self, revision: int, newest: int) -> None:
        self.newest = newest
        super().__init__(f"revision {revision} does not exist yet, the newest is {newest}")


class WatchTooSlowError(StoreError):
    """Events that the watch has not read are compacted."""

    def __init__(self, oldest: int) -> None:
        self.oldest = oldest
        super().__init__(f"the watch fell behind the oldest available revision {oldest}: list again")


def _named(key: StorageKey) -> str:
    return f"{key.resource} {key.namespace}/{key.name}" if key.namespace else f"{key.resource} {key.name}"
