"""The store: get, list, writes under optimistic concurrency, and watch.

The event loop assigns revisions, and publishes an event only after its batch is durable.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from kohort.api.codec import Json, encode
from kohort.embedded.storage.backend import Backend, NullBackend, SqliteBackend
from kohort.embedded.storage.errors import (
    CompactedError,
    FutureRevisionError,
    KeyExistsError,
    RevisionConflictError,
    StoreBusyError,
    StoreClosedError,
    StoreError,
    WriteFailedError,
)
from kohort.embedded.storage.index import LocalKey
from kohort.embedded.storage.recovery import RecoveredState
from kohort.embedded.storage.revision_log import Compaction
from kohort.embedded.storage.stored_objects import (
    DecodedCache,
    StorageEvent,
    StorageKey,
    StorageList,
    StoredObject,
    with_revision,
)
from kohort.embedded.storage.uncommitted import UncommittedWrite, UncommittedWrites
from kohort.embedded.storage.watch_cache import ResourceHistory, Retention, WatchCache
from kohort.embedded.storage.watches import StoreWatch
from kohort.kube.watch_events import WatchEventType

MAX_COMPACTED = 200
"""Superseded revisions deleted in one transaction."""

_Precondition = Callable[[StoredObject | None], StoreError | None]
"""The error if a write cannot follow this state of its key, else None."""


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Limits of a store."""

    retention: Retention = field(default_factory=Retention)
    decoded_bytes: int = 1024 * 1024
    """Size of objects kept decoded, in bytes of JSON; the decoded form takes about five times that."""
    pending_bytes: int = 64 * 1024 * 1024
    """Size of pending writes; beyond it a write fails with `StoreBusyError`."""


class Store:
    """Objects by key under one global revision; for one event loop only."""

    def __init__(
        self, state: RecoveredState, backend: Backend, settings: StoreSettings, clock: Callable[[], float]
    ) -> None:
        self._state = state
        self._backend = backend
        self._settings = settings
        self._clock = clock
        self._pending = UncommittedWrites()
        self._last_revision = state.revision
        self._garbage = deque(state.garbage)
        self._committing = False
        self.closed = False

    @classmethod
    async def open(
        cls, path: Path | None, settings: StoreSettings | None = None, clock: Callable[[], float] = time.time
    ) -> "Store":
        """Opens the store in a file, created if absent; without a path it is in memory only. Raises `OpenError`."""
        chosen, now = settings or StoreSettings(), clock()
        # Revisions start at the current microsecond, so that a new store never reuses those of a former one.
        first = max(1, int(now * 1_000_000))
        begin = partial(_begin, chosen)
        if path is None:
            return cls(begin(first), NullBackend(), chosen, clock)
        backend, state = await SqliteBackend.open(path, first, begin, now)
        return cls(state, backend, chosen, clock)

    @property
    def revision(self) -> int:
        """The newest committed revision."""
        return self._state.revision

    @property
    def oldest(self) -> int:
        """The oldest revision that can be listed or watched from."""
        return self._state.watch_cache.oldest

    # Reading

    def get(self, key: StorageKey) -> StoredObject | None:
        """The committed object with a key."""
        return self._state.index.get(key)

    def list(
        self,
        resource: str,
        namespace: str = "",
        *,
        at: int | None = None,
        limit: int = 0,
        after: LocalKey | None = None,
    ) -> StorageList:
        """The objects of a resource, in one namespace or in all, in order; with a limit the page after `after`."""
        revision = self.revision if at is None else at
        self._check_kept(revision)
        resource_index = self._state.index.of(resource)
        past = self._state.watch_cache.undo(resource, namespace, revision) if revision < self.revision else {}
        entries = (
            resource_index.page_before(past, namespace, after, limit)
            if past
            else resource_index.page(namespace, after, limit)
        )
        if not limit or len(entries) < limit:
            return StorageList(entries, revision, 0)
        last = entries[-1].key.namespace, entries[-1].key.name
        return StorageList(entries, revision, resource_index.count_before(past, namespace, last))

    def watch(self, resource: str, namespace: str = "", *, since: int) -> StoreWatch:
        """Watches a resource from a revision on, in one namespace or in all; must be closed."""
        self._check_kept(since)
        watch_cache = self._state.watch_cache
        return StoreWatch(
            self, watch_cache.history(resource, namespace), since, partial(watch_cache.leave, resource, namespace)
        )

    def _check_kept(self, revision: int) -> None:
        if revision < self.oldest:
            raise CompactedError(revision, self.oldest)
        if revision > self.revision:
            raise FutureRevisionError(revision, self.revision)

    # Writing

    async def create(self, key: StorageKey, obj: Mapping[str, Json]) -> StoredObject:
        """Stores a new object; raises `KeyExistsError`."""
        return await self._write(
            key, lambda current: KeyExistsError(current) if current else None, WatchEventType.ADDED, obj
        )

    async def update(self, key: StorageKey, obj: Mapping[str, Json], expected: int) -> StoredObject:
        """Stores a new state of an object at the expected revision; raises `RevisionConflictError`."""
        return await self._write(key, _unless_at(key, expected), WatchEventType.MODIFIED, obj)

    async def delete(self, key: StorageKey, expected: int) -> StoredObject:
        """Deletes an object at the expected revision and returns its last state; raises `RevisionConflictError`."""
        return await self._write(key, _unless_at(key, expected), WatchEventType.DELETED, None)

    async def _write(
        self, key: StorageKey, precondition: _Precondition, kind: WatchEventType, obj: Mapping[str, Json] | None
    ) -> StoredObject:
        while True:
            self._check_open()
            ahead = self._pending.newest(key)
            current = ahead.after if ahead else self.get(key)
            if precondition(current) is None:
                return await asyncio.shield(self._submit(key, kind, obj, current, ahead))
            if refusal := precondition(self.get(key)):
                raise refusal
            if ahead:
                # The conflicting write is pending and may fail: a write is rejected only because of committed state.
                await asyncio.wait([ahead.settled])

    def _submit(
        self,
        key: StorageKey,
        kind: WatchEventType,
        obj: Mapping[str, Json] | None,
        current: StoredObject | None,
        ahead: UncommittedWrite | None,
    ) -> asyncio.Future[StoredObject]:
        entry = self._next_entry(key, _object(current) if obj is None else obj)
        self._last_revision = entry.revision
        base = ahead.change.revision if ahead else 0
        write = UncommittedWrite(StorageEvent(kind, entry, current), base, asyncio.get_running_loop().create_future())
        self._pending.add(write)
        self._schedule()
        return write.settled

    def _next_entry(self, key: StorageKey, obj: Mapping[str, Json]) -> StoredObject:
        revision = self._last_revision + 1
        value = with_revision(obj, revision)
        data = _encoded(key, value)
        if self._pending.size + len(data) > self._settings.pending_bytes:
            raise StoreBusyError(f"{self._pending.size} bytes of writes are pending: retry later")
        entry = StoredObject(key, revision, data, self._state.decoded)
        self._state.decoded.admit(entry, value)
        return entry

    def _check_open(self) -> None:
        if self.closed:
            raise StoreClosedError("the store is closed")

    # Committing

    def _schedule(self) -> None:
        """Commits at the end of this iteration of the event loop, so that its writes share a batch."""
        if not self._committing:
            self._committing = True
            asyncio.get_running_loop().call_soon(self._commit)

    def _commit(self) -> None:
        batch = self._pending.next_batch()
        compaction = self._next_compaction()
        done = self._backend.commit([write.change for write in batch], compaction)
        done.add_done_callback(partial(self._settle, batch, compaction))

    def _settle(self, batch: Sequence[UncommittedWrite], compaction: Compaction, done: asyncio.Future[None]) -> None:
        error = done.exception()
        if error:
            self._garbage.extendleft(reversed(compaction.revisions))
            self._fail(batch, error)
        else:
            self._publish(batch)
        self._committing = False
        if self._pending.has_waiting:
            self._schedule()

    def _publish(self, batch: Sequence[UncommittedWrite]) -> None:
        """Publishes a batch to readers, then to watches, then to its writers."""
        now, watch_cache, touched = self._clock(), self._state.watch_cache, set[ResourceHistory]()
        self._garbage += watch_cache.forget(watch_cache.due(now))
        for write in batch:
            self._state.publish(write.change)
            touched.update(watch_cache.append(write.change, now))
        self._state.revision = batch[-1].change.revision
        self._pending.settle(batch)
        for history in touched:
            history.wake()
        for write in batch:
            write.settled.set_result(write.change.entry)

    def _fail(self, batch: Sequence[UncommittedWrite], error: BaseException) -> None:
        remove_failed = self._pending.remove_failed(batch)
        self._pending.settle(remove_failed)
        for write in remove_failed:
            failure = WriteFailedError(str(error))
            failure.__cause__ = error
            write.settled.set_exception(failure)

    # Compaction

    async def compact(self, before: int) -> None:
        """Compacts everything before a revision, which becomes the oldest available."""
        self._check_open()
        if before > self.revision:
            raise FutureRevisionError(before, self.revision)
        await self._backend.commit((), Compaction(before, ()))
        self._garbage += self._state.watch_cache.forget(before)
        while self._garbage and not self.closed:
            await self._drop_compacted(self._next_compaction())

    async def _drop_compacted(self, compaction: Compaction) -> None:
        try:
            await asyncio.shield(self._backend.commit((), compaction))
        except WriteFailedError:
            self._garbage.extendleft(reversed(compaction.revisions))
            raise

    def _next_compaction(self) -> Compaction:
        """The next superseded revisions to delete, in order, so that an object never outlives its deletion."""
        count = min(MAX_COMPACTED, len(self._garbage))
        return Compaction(self.oldest, [self._garbage.popleft() for _ in range(count)])

    async def close(self) -> None:
        """Commits accepted writes, ends all watches, and releases the file."""
        if self.closed:
            return
        self.closed = True
        while waiting := [write.settled for write in self._pending.all()]:
            await asyncio.wait(waiting)
        for history in self._state.watch_cache.histories():
            history.wake()
        await self._backend.close()


def _begin(settings: StoreSettings, oldest: int) -> RecoveredState:
    return RecoveredState(oldest, WatchCache(oldest, settings.retention), DecodedCache(settings.decoded_bytes))


def _unless_at(key: StorageKey, expected: int) -> _Precondition:
    def precondition(current: StoredObject | None) -> StoreError | None:
        return None if current and current.revision == expected else RevisionConflictError(key, expected, current)

    return precondition


def _object(current: StoredObject | None) -> Mapping[str, Json]:
    """The last state of a deleted object."""
    return current.object if current else {}


def _encoded(key: StorageKey, value: Mapping[str, Json]) -> bytes:
    try:
        "".join(key).encode()
        # The encoder's buffer is half as large again as its content; a copy has the exact size.
        return bytes(memoryview(encode(value)))
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(f"{'/'.join(key)!r}: cannot be stored ({error})") from None
