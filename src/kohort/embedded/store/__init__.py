"""The store of the embedded API server: objects under one global revision, durable in SQLite or in memory only.

Reads are served from memory; the file is a log of revisions that is written in batches and read at the start.
"""

from kohort.embedded.store.entries import Change, Entry, Key, Listing, Progress
from kohort.embedded.store.errors import (
    Busy,
    Changed,
    Closed,
    Compacted,
    Exists,
    Future,
    Lagging,
    OpenError,
    StoreError,
    WriteFailed,
)
from kohort.embedded.store.history import Retention
from kohort.embedded.store.store import Settings, Store
from kohort.embedded.store.watches import Watch
from kohort.kube.watch_events import WatchEventType

__all__ = [
    "Busy",
    "Change",
    "Changed",
    "Closed",
    "Compacted",
    "Entry",
    "Exists",
    "Future",
    "Key",
    "Lagging",
    "Listing",
    "OpenError",
    "Progress",
    "Retention",
    "Settings",
    "Store",
    "StoreError",
    "Watch",
    "WatchEventType",
    "WriteFailed",
]
