"""Writes to storage and runs post-commit hooks before the client gets its response.

Authorization, resource catalog and quota must never lag behind a write that was acknowledged.
"""

import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable

from kohort.api.codec import JsonObject
from kohort.embedded.storage import (
    StorageEvent,
    StorageKey,
    Store,
    StoreBusyError,
    StoreClosedError,
    StoredObject,
    WriteFailedError,
)
from kohort.kube.errors import StatusError, too_many_requests
from kohort.kube.watch_events import WatchEventType

_log = logging.getLogger(__name__)
EVERYTHING = "*"
CommitHook = Callable[[StorageEvent], Awaitable[None]]


class StoreWriter:
    """Writes to the store and notifies hooks."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._hooks: dict[str, list[CommitHook]] = defaultdict(list)

    def add_hook(self, resource: str, hook: CommitHook) -> None:
        """Registers a post-commit hook for a resource, or for `EVERYTHING`."""
        self._hooks[resource].append(hook)

    async def create(self, key: StorageKey, found: JsonObject) -> StoredObject:
        """Stores a new object."""
        entry = await self._guarded(self._store.create(key, found))
        await self._run_hooks(StorageEvent(WatchEventType.ADDED, entry, None))
        return entry

    async def update(self, previous: StoredObject, found: JsonObject) -> StoredObject:
        """Stores a new revision of an object."""
        entry = await self._guarded(self._store.update(previous.key, found, previous.revision))
        await self._run_hooks(StorageEvent(WatchEventType.MODIFIED, entry, previous))
        return entry

    async def delete(self, previous: StoredObject) -> StoredObject:
        """Deletes an object."""
        entry = await self._guarded(self._store.delete(previous.key, previous.revision))
        await self._run_hooks(StorageEvent(WatchEventType.DELETED, entry, previous))
        return entry

    async def _guarded(self, write: Awaitable[StoredObject]) -> StoredObject:
        try:
            return await write
        except StoreBusyError as error:
            raise too_many_requests(f"the store is busy: {error}", 1) from None
        except (WriteFailedError, StoreClosedError) as error:
            raise StatusError(503, "ServiceUnavailable", f"the store takes no writes: {error}") from None

    async def _run_hooks(self, change: StorageEvent) -> None:
        """Runs the hooks; the write is committed, so that a failing hook is logged and not returned to the client."""
        key = change.entry.key
        for hook in (*self._hooks.get(EVERYTHING, ()), *self._hooks.get(key.resource, ())):
            try:
                await hook(change)
            except Exception:
                _log.exception("post-commit hook failed", extra={"resource": key.resource, "object": key.name})
