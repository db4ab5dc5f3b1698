"""A watch: a position in a resource history.

Nothing is queued per watch, so a slow reader costs nothing; if its next event is compacted, it ends with
`WatchTooSlowError`.
"""

import asyncio
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Protocol

from kohort.embedded.storage.errors import WatchTooSlowError
from kohort.embedded.storage.stored_objects import ProgressEvent, StorageEvent
from kohort.embedded.storage.watch_cache import ResourceHistory

MAX_EVENTS = 500
"""Maximum of events per `read`, so that a watch far behind does not block the event loop."""


class Committed(Protocol):
    """The committed revisions of the store."""

    @property
    def revision(self) -> int:
        """The newest committed revision."""

    @property
    def oldest(self) -> int:
        """The oldest revision kept."""

    @property
    def closed(self) -> bool:
        """Whether no further events will follow."""


class StoreWatch:
    """The events of a history from a revision on, without gap or duplicate, for one reader; must be closed."""

    __slots__ = ("_closed", "_history", "_leave", "_position", "_progress_requested", "_store", "_wakeup")

    def __init__(self, store: Committed, history: ResourceHistory, since: int, leave: Callable[[], None]) -> None:
        self._store = store
        self._history = history
        self._position = history.position(since)
        self._leave = leave
        self._progress_requested = False
        self._closed = False
        self._wakeup: asyncio.Future[None] | None = None
        history.readers += 1

    async def read(self, limit: int = MAX_EVENTS) -> Sequence[StorageEvent | ProgressEvent]:
        """The next events, waiting for at least one; empty when watch or store was closed."""
        while not self._closed and not self._store.closed:
            found = self._take(limit)
            if found:
                return found
            await self._sleep()
        return ()

    def request_progress(self) -> None:
        """Requests a `ProgressEvent` after all events read so far: at once if none are left."""
        self._progress_requested = True
        self._wake()

    def close(self) -> None:
        """Ends the watch, and a pending read."""
        if not self._closed:
            self._closed = True
            self._leave()
            self._wake()

    async def _sleep(self) -> None:
        self._wakeup = asyncio.get_running_loop().create_future()
        self._history.waiting.add(self._wakeup)
        try:
            await self._wakeup
        finally:
            self._history.waiting.discard(self._wakeup)

    def _wake(self) -> None:
        if self._wakeup and not self._wakeup.done():
            self._wakeup.set_result(None)

    def _take(self, limit: int) -> Sequence[StorageEvent | ProgressEvent]:
        history, position = self._history, self._position
        if position < history.dropped:
            raise WatchTooSlowError(self._store.oldest)
        found = history.read(position, limit)
        self._position = position + len(found)
        if self._progress_requested and len(found) < limit:
            self._progress_requested = False
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
