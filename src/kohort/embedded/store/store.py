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
from kohort.embedded.store.disk import Disk, Nowhere, OneFile
from kohort.embedded.store.entries import Change, Decoded, Entry, Key, Listing, stamped
from kohort.embedded.store.errors import Busy, Changed, Closed, Compacted, Exists, Future, StoreError, WriteFailed
from kohort.embedded.store.history import Feed, History, Retention
from kohort.embedded.store.journal import Sweep
from kohort.embedded.store.pending import Pending, Write
from kohort.embedded.store.replay import State
from kohort.embedded.store.shelves import Place
from kohort.embedded.store.watches import Watch
from kohort.kube.watch_events import WatchEventType

SWEPT_AT_ONCE = 200
"""Superseded revisions deleted in one transaction."""

Refuse = Callable[[Entry | None], StoreError | None]
"""Why a write can't follow on this state of its key, if it can't."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How much a store keeps and holds."""

    retention: Retention = field(default_factory=Retention)
    decoded_bytes: int = 1024 * 1024
    """Objects kept decoded, by the size of their JSON; the decoded form takes about five times that."""
    pending_bytes: int = 64 * 1024 * 1024
    """Writes that wait for the disk; beyond it a write is refused with `Busy`."""


class Store:
    """Objects by key under one global revision; for one event loop only."""

    def __init__(self, state: State, disk: Disk, settings: Settings, clock: Callable[[], float]) -> None:
        self._state = state
        self._disk = disk
        self._settings = settings
        self._clock = clock
        self._pending = Pending()
        self._given_out = state.revision
        self._garbage = deque(state.garbage)
        self._committing = False
        self.closed = False

    @classmethod
    async def open(
        cls, path: Path | None, settings: Settings | None = None, clock: Callable[[], float] = time.time
    ) -> "Store":
        """Open the store in a file, made if absent; without a path it lives in memory only. Raises `OpenError`."""
        chosen, now = settings or Settings(), clock()
        # Beginning at the microsecond, a new store never reaches back to revisions that clients of a former one know.
        first = max(1, int(now * 1_000_000))
        begin = partial(_begin, chosen)
        if path is None:
            return cls(begin(first), Nowhere(), chosen, clock)
        disk, state = await OneFile.open(path, first, begin, now)
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

    def get(self, key: Key) -> Entry | None:
        """The committed object under a key."""
        return self._state.shelves.get(key)

    def list(
        self, resource: str, namespace: str = "", *, at: int | None = None, limit: int = 0, after: Place | None = None
    ) -> Listing:
        """The objects of a resource, in one namespace or in all, in order; a page of them behind `after` if limited."""
        revision = self.revision if at is None else at
        self._check_kept(revision)
        shelf = self._state.shelves.of(resource)
        past = self._state.history.undo(resource, namespace, revision) if revision < self.revision else {}
        entries = shelf.page_before(past, namespace, after, limit) if past else shelf.page(namespace, after, limit)
        if not limit or len(entries) < limit:
            return Listing(entries, revision, 0)
        last = entries[-1].key.namespace, entries[-1].key.name
        return Listing(entries, revision, shelf.count_before(past, namespace, last))

    def watch(self, resource: str, namespace: str = "", *, since: int) -> Watch:
        """The changes of a resource after a revision, in one namespace or in all; close it after use."""
        self._check_kept(since)
        history = self._state.history
        return Watch(self, history.feed(resource, namespace), since, partial(history.leave, resource, namespace))

    def _check_kept(self, revision: int) -> None:
        if revision < self.oldest:
            raise Compacted(revision, self.oldest)
        if revision > self.revision:
            raise Future(revision, self.revision)

    # Writing

    async def create(self, key: Key, obj: Mapping[str, Json]) -> Entry:
        """Store a new object; raises `Exists`."""
        return await self._write(key, lambda current: Exists(current) if current else None, WatchEventType.ADDED, obj)

    async def update(self, key: Key, obj: Mapping[str, Json], expected: int) -> Entry:
        """Store the next state of an object that is at the expected revision; raises `Changed`."""
        return await self._write(key, _unless_at(key, expected), WatchEventType.MODIFIED, obj)

    async def delete(self, key: Key, expected: int) -> Entry:
        """Remove an object that is at the expected revision, and give its last state; raises `Changed`."""
        return await self._write(key, _unless_at(key, expected), WatchEventType.DELETED, None)

    async def _write(self, key: Key, refuse: Refuse, kind: WatchEventType, obj: Mapping[str, Json] | None) -> Entry:
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
        self, key: Key, kind: WatchEventType, obj: Mapping[str, Json] | None, current: Entry | None, ahead: Write | None
    ) -> asyncio.Future[Entry]:
        entry = self._next_entry(key, _object(current) if obj is None else obj)
        self._given_out = entry.revision
        base = ahead.change.revision if ahead else 0
        write = Write(Change(kind, entry, current), base, asyncio.get_running_loop().create_future())
        self._pending.add(write)
        self._schedule()
        return write.settled

    def _next_entry(self, key: Key, obj: Mapping[str, Json]) -> Entry:
        revision = self._given_out + 1
        value = stamped(obj, revision)
        data = _encoded(key, value)
        if self._pending.size + len(data) > self._settings.pending_bytes:
            raise Busy(f"{self._pending.size} bytes wait for the disk already: try again shortly")
        entry = Entry(key, revision, data, self._state.decoded)
        self._state.decoded.admit(entry, value)
        return entry

    def _check_open(self) -> None:
        if self.closed:
            raise Closed("the store is closed")

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

    def _settle(self, batch: Sequence[Write], sweep: Sweep, done: asyncio.Future[None]) -> None:
        error = done.exception()
        if error:
            self._garbage.extendleft(reversed(sweep.revisions))
            self._fail(batch, error)
        else:
            self._publish(batch)
        self._committing = False
        if self._pending.any_waiting:
            self._schedule()

    def _publish(self, batch: Sequence[Write]) -> None:
        """Show a batch to readers, then to watchers, then to those who wrote it."""
        now, history, touched = self._clock(), self._state.history, set[Feed]()
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

    def _fail(self, batch: Sequence[Write], error: BaseException) -> None:
        fallen = self._pending.fallen(batch)
        self._pending.settle(fallen)
        for write in fallen:
            failure = WriteFailed(str(error))
            failure.__cause__ = error
            write.settled.set_exception(failure)

    # Forgetting

    async def compact(self, before: int) -> None:
        """Give up everything before a revision, which stays the oldest that can be asked for."""
        self._check_open()
        if before > self.revision:
            raise Future(before, self.revision)
        await self._disk.commit((), Sweep(before, ()))
        self._garbage += self._state.history.forget(before)
        while self._garbage and not self.closed:
            await self._take_out(self._next_sweep())

    async def _take_out(self, sweep: Sweep) -> None:
        try:
            await asyncio.shield(self._disk.commit((), sweep))
        except WriteFailed:
            self._garbage.extendleft(reversed(sweep.revisions))
            raise

    def _next_sweep(self) -> Sweep:
        """The next superseded revisions to delete: in order, so that an object never outlives its deletion."""
        count = min(SWEPT_AT_ONCE, len(self._garbage))
        return Sweep(self.oldest, [self._garbage.popleft() for _ in range(count)])

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


def _begin(settings: Settings, oldest: int) -> State:
    return State(oldest, History(oldest, settings.retention), Decoded(settings.decoded_bytes))


def _unless_at(key: Key, expected: int) -> Refuse:
    def refuse(current: Entry | None) -> StoreError | None:
        return None if current and current.revision == expected else Changed(key, expected, current)

    return refuse


def _object(current: Entry | None) -> Mapping[str, Json]:
    """What a deletion leaves as the last state."""
    return current.object if current else {}


def _encoded(key: Key, value: Mapping[str, Json]) -> bytes:
    try:
        "".join(key).encode()
        # The encoder leaves its buffer, half as large again, behind its bytes; a copy takes what it needs.
        return bytes(memoryview(encode(value)))
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(f"{'/'.join(key)!r}: can't be stored ({error})") from None
