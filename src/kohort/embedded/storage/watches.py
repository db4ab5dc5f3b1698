"""A watch: a position in a feed that moves on as its reader takes the changes.

It is never queued for, so a slow reader costs nothing; when what it has not read is given up, it ends with `Lagging`.
"""

import asyncio
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Protocol

from kohort.embedded.storage.errors import WatchTooSlowError
from kohort.embedded.storage.stored_objects import ProgressEvent, StorageEvent
from kohort.embedded.storage.watch_cache import ResourceHistory

MOST_AT_ONCE = 500
"""How many changes one `read` gives, so that a reader far behind does not keep the loop to itself."""


class Committed(Protocol):
    """Where a watch asks how far the store is."""

    @property
    def revision(self) -> int:
        """The newest committed revision."""

    @property
    def oldest(self) -> int:
        """The oldest revision kept."""

    @property
    def closed(self) -> bool:
        """Whether there will be no more changes."""


class StoreWatch:
    """The changes of a feed from a revision on, without gap or duplicate, for one reader; close it after use."""

    __slots__ = ("_closed", "_feed", "_leave", "_marked", "_position", "_store", "_woken")

    def __init__(self, store: Committed, feed: ResourceHistory, since: int, leave: Callable[[], None]) -> None:
        self._store = store
        self._feed = feed
        self._position = feed.position(since)
        self._leave = leave
        self._marked = False
        self._closed = False
        self._woken: asyncio.Future[None] | None = None
        feed.readers += 1

    async def read(self, limit: int = MOST_AT_ONCE) -> Sequence[StorageEvent | ProgressEvent]:
        """What there is to tell, as soon as there is something; empty when watch or store was closed."""
        while not self._closed and not self._store.closed:
            found = self._take(limit)
            if found:
                return found
            await self._sleep()
        return ()

    def mark(self) -> None:
        """Ask for a `Progress` behind everything told so far: at once when nothing is left to tell."""
        self._marked = True
        self._wake()

    def close(self) -> None:
        """End the watch, also for a reader that waits."""
        if not self._closed:
            self._closed = True
            self._leave()
            self._wake()

    async def _sleep(self) -> None:
        self._woken = asyncio.get_running_loop().create_future()
        self._feed.waiting.add(self._woken)
        try:
            await self._woken
        finally:
            self._feed.waiting.discard(self._woken)

    def _wake(self) -> None:
        if self._woken and not self._woken.done():
            self._woken.set_result(None)

    def _take(self, limit: int) -> Sequence[StorageEvent | ProgressEvent]:
        feed, position = self._feed, self._position
        if position < feed.dropped:
            raise WatchTooSlowError(self._store.oldest)
        found = feed.read(position, limit)
        self._position = position + len(found)
        if self._marked and len(found) < limit:
            self._marked = False
            found.append(ProgressEvent(self._store.revision))
        return found

    def __aiter__(self) -> "StoreWatch":
        return self

    async def __anext__(self) -> StorageEvent | ProgressEvent:
        found = await self.read(1)
        if not found:
            raise StopAsyncIteration
        return found[0]

    def __enter__(self) -> "StoreWatch":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
