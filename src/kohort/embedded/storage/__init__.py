"""Object storage of the API server: objects under one global revision, durable in SQLite or in memory only.

Reads are served from memory; the file is a log of revisions, written in batches and replayed at start-up.
"""

from kohort.embedded.storage.errors import (
    CompactedError,
    FutureRevisionError,
    KeyExistsError,
    OpenError,
    RevisionConflictError,
    StoreBusyError,
    StoreClosedError,
    StoreError,
    WatchTooSlowError,
    WriteFailedError,
)
from kohort.embedded.storage.store import Store, StoreSettings
from kohort.embedded.storage.stored_objects import ProgressEvent, StorageEvent, StorageKey, StorageList, StoredObject
from kohort.embedded.storage.watch_cache import Retention
from kohort.embedded.storage.watches import StoreWatch
from kohort.kube.watch_events import WatchEventType

__all__ = [
    "CompactedError",
    "FutureRevisionError",
    "KeyExistsError",
    "OpenError",
    "ProgressEvent",
    "Retention",
    "RevisionConflictError",
    "StorageEvent",
    "StorageKey",
    "StorageList",
    "Store",
    "StoreBusyError",
    "StoreClosedError",
    "StoreError",
    "StoreSettings",
    "StoreWatch",
    "StoredObject",
    "WatchEventType",
    "WatchTooSlowError",
    "WriteFailedError",
]
