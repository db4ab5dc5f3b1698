"""The one door to the store: what is written passes here, and those who must know at once are told before the client.

Authorization, the catalogue of kinds and the like must never lag behind what a client has seen acknowledged.
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
Listener = Callable[[StorageEvent], Awaitable[None]]


class StoreWriter:
    """Writes to the store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._listeners: dict[str, list[Listener]] = defaultdict(list)

    def listen(self, resource: str, listener: Listener) -> None:
        """Be told of every change to a resource (or to `EVERYTHING`), before its writer is."""
        self._listeners[resource].append(listener)

    async def create(self, key: StorageKey, found: JsonObject) -> StoredObject:
        """Store a new object."""
        entry = await self._guarded(self._store.create(key, found))
        await self._tell(StorageEvent(WatchEventType.ADDED, entry, None))
        return entry

    async def update(self, previous: StoredObject, found: JsonObject) -> StoredObject:
        """Store the next state of an object."""
        entry = await self._guarded(self._store.update(previous.key, found, previous.revision))
        await self._tell(StorageEvent(WatchEventType.MODIFIED, entry, previous))
        return entry

    async def delete(self, previous: StoredObject) -> StoredObject:
        """Remove an object."""
        entry = await self._guarded(self._store.delete(previous.key, previous.revision))
        await self._tell(StorageEvent(WatchEventType.DELETED, entry, previous))
        return entry

    async def _guarded(self, write: Awaitable[StoredObject]) -> StoredObject:
        try:
            return await write
        except StoreBusyError as error:
            raise too_many_requests(f"the store is busy: {error}", 1) from None
        except (WriteFailedError, StoreClosedError) as error:
            raise StatusError(503, "ServiceUnavailable", f"the store takes no writes: {error}") from None

    async def _tell(self, change: StorageEvent) -> None:
        """Tell everybody; the write is done, so whoever fails to follow is a matter for the log, not for the client."""
        key = change.entry.key
        for listener in (*self._listeners.get(EVERYTHING, ()), *self._listeners.get(key.resource, ())):
            try:
                await listener(change)
            except Exception:
                _log.exception("a change was not followed up", extra={"resource": key.resource, "object": key.name})
