"""The store: every object at its revision, for reading, writing under optimistic concurrency, and watching.

One owner, the event loop, gives out revisions, and shows a change only after the batch it was in is on disk.
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
from kohort.embedded.storage.index import Place
from kohort.embedded.storage.recovery import RecoveredState
from kohort.embedded.storage.revision_log import Compaction
from kohort.embedded.storage.stored_objects import (
    DecodedCache,
    StorageEvent,
    StorageKey,
    StorageList,
    StoredObject,
    stamped,
)
from kohort.embedded.storage.uncommitted import UncommittedWrite, UncommittedWrites
from kohort.embedded.storage.watch_cache import ResourceHistory, Retention, WatchCache
from kohort.embedded.storage.watches import StoreWatch
from kohort.kube.watch_events import WatchEventType

SWEPT_AT_ONCE = 200
"""Superseded revisions deleted in one transaction."""

Refuse = Callable[[StoredObject | None], StoreError | None]
"""Why a write can't follow on this state of its key, if it can't."""


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """How much a store keeps and holds."""

    retention: Retention = field(default_factory=Retention)
    decoded_bytes: int = 1024 * 1024
    """Objects kept decoded, by the size of their JSON; the decoded form takes about five times that."""
    pending_bytes: int = 64 * 1024 * 1024
    """Writes that wait for the disk; beyond it a write is refused with `Busy`."""


class Store:
    """Objects by key under one global revision; for one event loop only."""

    def __init__(
        self, state: RecoveredState, disk: Backend, settings: StoreSettings, clock: Callable[[], float]
    ) -> None:
        self._state = state
        self._disk = disk
        self._settings = settings
        self._clock = clock
        self._pending = UncommittedWrites()
        self._given_out = state.revision
        self._garbage = deque(state.garbage)
        self._committing = False
        self.closed = False

    @classmethod
    async def open(
        cls, path: Path | None, settings: StoreSettings | None = None, clock: Callable[[], float] = time.time
    ) -> "Store":
        """Open the store in a file, made if absent; without a path it lives in memory only. Raises `OpenError`."""
        chosen, now = settings or StoreSettings(), clock()
        # Beginning at the microsecond, a new store never reaches back to revisions that clients of a former one know.
        first = max(1, int(now * 1_000_000))
        begin = partial(_begin, chosen)
        if path is None:
            return cls(begin(first), NullBackend(), chosen, clock)
        disk, state = await SqliteBackend.open(path, first, begin, now)
        return cls(state, disk, chosen, clock)

    @property
    def revision(self) -> int:
        """The newest committed revision."""
        return self._state.revision

    @property
    def oldest(self) -> int:
        """The oldest revision that can be listed or watched from."""
        return self._state.history.oldest

    # Reading

    def get(self, key: StorageKey) -> StoredObject | None:
        """The committed object under a key."""
        return self._state.shelves.get(key)

    def list(
        self, resource: str, namespace: str = "", *, at: int | None = None, limit: int = 0, after: Place | None = None
    ) -> StorageList:
        """The objects of a resource, in one namespace or in all, in order; a page of them behind `after` if limited."""
        revision = self.revision if at is None else at
        self._check_kept(revision)
        shelf = self._state.shelves.of(resource)
        past = self._state.history.undo(resource, namespace, revision) if revision < self.revision else {}
        entries = shelf.page_before(past, namespace, after, limit) if past else shelf.page(namespace, after, limit)
        if not limit or len(entries) < limit:
            return StorageList(entries, revision, 0)
        last = entries[-1].key.namespace, entries[-1].key.name
        return StorageList(entries, revision, shelf.count_before(past, namespace, last))

    def watch(self, resource: str, namespace: str = "", *, since: int) -> StoreWatch:
        """The changes of a resource after a revision, in one namespace or in all; close it after use."""
        self._check_kept(since)
        history = self._state.history
        return StoreWatch(self, history.feed(resource, namespace), since, partial(history.leave, resource, namespace))

    def _check_kept(self, revision: int) -> None:
        if revision < self.oldest:
            raise CompactedError(revision, self.oldest)
        if revision > self.revision:
            raise FutureRevisionError(revision, self.revision)

    # Writing

    async def create(self, key: StorageKey, obj: Mapping[str, Json]) -> StoredObject:
        """Store a new object; raises `Exists`."""
        return await self._write(
            key, lambda current: KeyExistsError(current) if current else None, WatchEventType.ADDED, obj
        )

    async def update(self, key: StorageKey, obj: Mapping[str, Json], expected: int) -> StoredObject:
        """Store the next state of an object that is at the expected revision; raises `Changed`."""
        return await self._write(key, _unless_at(key, expected), WatchEventType.MODIFIED, obj)

    async def delete(self, key: StorageKey, expected: int) -> StoredObject:
        """Remove an object that is at the expected revision, and give its last state; raises `Changed`."""
        return await self._write(key, _unless_at(key, expected), WatchEventType.DELETED, None)

    async def _write(
        self, key: StorageKey, refuse: Refuse, kind: WatchEventType, obj: Mapping[str, Json] | None
    ) -> StoredObject:
        while True:
            self._check_open()
            ahead = self._pending.newest(key)
            current = ahead.after if ahead else self.get(key)
            if refuse(current) is None:
                return await asyncio.shield(self._submit(key, kind, obj, current, ahead))
            if refusal := refuse(self.get(key)):
                raise refusal
            if ahead:
                # It stands in the way and may yet fail: nothing is refused on account of what is not committed.
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
        self._given_out = entry.revision
        base = ahead.change.revision if ahead else 0
        write = UncommittedWrite(StorageEvent(kind, entry, current), base, asyncio.get_running_loop().create_future())
        self._pending.add(write)
        self._schedule()
        return write.settled

    def _next_entry(self, key: StorageKey, obj: Mapping[str, Json]) -> StoredObject:
        revision = self._given_out + 1
        value = stamped(obj, revision)
        data = _encoded(key, value)
        if self._pending.size + len(data) > self._settings.pending_bytes:
            raise StoreBusyError(f"{self._pending.size} bytes wait for the disk already: try again shortly")
        entry = StoredObject(key, revision, data, self._state.decoded)
        self._state.decoded.admit(entry, value)
        return entry

    def _check_open(self) -> None:
        if self.closed:
            raise StoreClosedError("the store is closed")

    # Committing

    def _schedule(self) -> None:
        """Commit at the end of this turn of the loop, so that everybody's writes in it go together."""
        if not self._committing:
            self._committing = True
            asyncio.get_running_loop().call_soon(self._commit)

    def _commit(self) -> None:
        batch = self._pending.next_batch()
        sweep = self._next_sweep()
        done = self._disk.commit([write.change for write in batch], sweep)
        done.add_done_callback(partial(self._settle, batch, sweep))

    def _settle(self, batch: Sequence[UncommittedWrite], sweep: Compaction, done: asyncio.Future[None]) -> None:
        error = done.exception()
        if error:
            self._garbage.extendleft(reversed(sweep.revisions))
            self._fail(batch, error)
        else:
            self._publish(batch)
        self._committing = False
        if self._pending.any_waiting:
            self._schedule()

    def _publish(self, batch: Sequence[UncommittedWrite]) -> None:
        """Show a batch to readers, then to watchers, then to those who wrote it."""
        now, history, touched = self._clock(), self._state.history, set[ResourceHistory]()
        self._garbage += history.forget(history.due(now))
        for write in batch:
            self._state.publish(write.change)
            touched.update(history.append(write.change, now))
        self._state.revision = batch[-1].change.revision
        self._pending.settle(batch)
        for feed in touched:
            feed.wake()
        for write in batch:
            write.settled.set_result(write.change.entry)

    def _fail(self, batch: Sequence[UncommittedWrite], error: BaseException) -> None:
        fallen = self._pending.fallen(batch)
        self._pending.settle(fallen)
        for write in fallen:
            failure = WriteFailedError(str(error))
            failure.__cause__ = error
            write.settled.set_exception(failure)

    # Forgetting

    async def compact(self, before: int) -> None:
        """Give up everything before a revision, which stays the oldest that can be asked for."""
        self._check_open()
        if before > self.revision:
            raise FutureRevisionError(before, self.revision)
        await self._disk.commit((), Compaction(before, ()))
        self._garbage += self._state.history.forget(before)
        while self._garbage and not self.closed:
            await self._take_out(self._next_sweep())

    async def _take_out(self, sweep: Compaction) -> None:
        try:
            await asyncio.shield(self._disk.commit((), sweep))
        except WriteFailedError:
            self._garbage.extendleft(reversed(sweep.revisions))
            raise

    def _next_sweep(self) -> Compaction:
        """The next superseded revisions to delete: in order, so that an object never outlives its deletion."""
        count = min(SWEPT_AT_ONCE, len(self._garbage))
        return Compaction(self.oldest, [self._garbage.popleft() for _ in range(count)])

    async def close(self) -> None:
        """Finish what was accepted, end all watches, and let go of the file."""
        if self.closed:
            return
        self.closed = True
        while waiting := [write.settled for write in self._pending.all()]:
            await asyncio.wait(waiting)
        for feed in self._state.history.feeds():
            feed.wake()
        await self._disk.close()


def _begin(settings: StoreSettings, oldest: int) -> RecoveredState:
    return RecoveredState(oldest, WatchCache(oldest, settings.retention), DecodedCache(settings.decoded_bytes))


def _unless_at(key: StorageKey, expected: int) -> Refuse:
    def refuse(current: StoredObject | None) -> StoreError | None:
        return None if current and current.revision == expected else RevisionConflictError(key, expected, current)

    return refuse


def _object(current: StoredObject | None) -> Mapping[str, Json]:
    """What a deletion leaves as the last state."""
    return current.object if current else {}


def _encoded(key: StorageKey, value: Mapping[str, Json]) -> bytes:
    try:
        "".join(key).encode()
        # The encoder leaves its buffer, half as large again, behind its bytes; a copy takes what it needs.
        return bytes(memoryview(encode(value)))
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(f"{'/'.join(key)!r}: can't be stored ({error})") from None
