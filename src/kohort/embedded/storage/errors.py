"""What the store answers when it does not do what was asked; every text is one line for people.

StoreError
├── OpenError    the file can't be served: absent folder, foreign, damaged, too new, in use; it stays as it is
├── WriteFailed  the disk did not take the write; nobody has seen it
├── Busy         more writes wait for the disk than the store holds
├── Closed       the store was closed
├── Exists       a create found the key taken
├── Changed      the object is not, or no longer, at the expected revision
├── Compacted    the revision asked for is no longer kept
├── Future       the revision asked for is not there yet
└── Lagging      a watch was so slow that what it would read next is no longer kept
"""

from pathlib import Path

from kohort.embedded.storage.stored_objects import StorageKey, StoredObject


class StoreError(Exception):
    """Anything that a store refuses or fails to do."""


class OpenError(StoreError):
    """The file can't be served; says which, why, and what to do. The file was not altered."""

    def __init__(self, path: Path, why: str, remedy: str) -> None:
        self.path = path
        super().__init__(f"{path}: {why}; {remedy}")


class WriteFailedError(StoreError):
    """The write could not be made durable, or builds on one that could not."""


class StoreBusyError(StoreError):
    """Too much waits for the disk already; try again shortly."""


class StoreClosedError(StoreError):
    """The store takes no more writes."""


class KeyExistsError(StoreError):
    """There is an object under this key already."""

    def __init__(self, current: StoredObject) -> None:
        self.current = current
        super().__init__(f"{_named(current.key)} exists at revision {current.revision}")


class RevisionConflictError(StoreError):
    """The object is at another revision than expected, or gone; `current` is what is there."""

    def __init__(self, key: StorageKey, expected: int, current: StoredObject | None) -> None:
        self.current = current
        found = f"is at revision {current.revision}" if current else "does not exist"
        super().__init__(f"{_named(key)} {found}, expected was revision {expected}")


class CompactedError(StoreError):
    """The state or the changes since this revision were given up."""

    def __init__(self, revision: int, oldest: int) -> None:
        self.oldest = oldest
        super().__init__(f"revision {revision} is no longer kept, the oldest is {oldest}: list anew")


class FutureRevisionError(StoreError):
    """Nobody can have got this revision from this store yet."""

    def __init__(self, revision: int, newest: int) -> None:
        self.newest = newest
        super().__init__(f"revision {revision} is not there yet, the newest is {newest}")


class WatchTooSlowError(StoreError):
    """Changes that the watch has not read yet were given up."""

    def __init__(self, oldest: int) -> None:
        self.oldest = oldest
        super().__init__(f"the watch fell behind the oldest revision kept, {oldest}: list anew")


def _named(key: StorageKey) -> str:
    return f"{key.resource} {key.namespace}/{key.name}" if key.namespace else f"{key.resource} {key.name}"
