"""Workloads as known now: what the watch has shown, and ahead of it what we wrote ourselves.

A controller that acts right after its own write must see it, or it would do the same again. Writes name the state that
they start from, so whoever looked at an older one is refused, here already where we know better than to ask.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

import msgspec

from kohort.api.codec import Json, to_json
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.merge import difference
from kohort.api.meta import ObjectKey
from kohort.controllers.workloads.interning import StructInterner
from kohort.kube.errors import MODIFIED, ErrorSubject, StatusError, conflict
from kohort.kube.indexer import Indexer
from kohort.kube.informer import Informer
from kohort.kube.notifying_store import Handler
from kohort.kube.options import DeletionOptions, WriteOptions
from kohort.kube.patches import MergePatch

MOST_AHEAD: Final = 10_000
"""Own writes that are remembered; the watch shows nearly all within a second."""
LONGEST_AHEAD: Final = 60.0
"""Seconds after which an own write that no watch has shown counts as gone: created and deleted between two lists."""

OWNER = "owner"
OWNER_UID = "owner uid"


def key_of(workload: Workload) -> ObjectKey:
    """The place of a Workload."""
    return ObjectKey(workload.metadata.namespace, workload.metadata.name)


@dataclass(slots=True)
class _Turn:
    """Whose write of a Workload is on its way, and how many there are with those that wait."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0


Follower = Callable[[ObjectKey, Workload | None], None]
"""Is told of each new state, None where a Workload is gone."""


class WorkloadAssumeCache:
    """All Workloads, and the only way to write one."""

    def __init__(self, informer: Informer[Workload]) -> None:
        self._informer = informer
        self._objects = informer.objects
        self._clock = informer.objects.client.clock
        self._ahead: Indexer[Workload] = Indexer()
        self._since: dict[ObjectKey, float] = {}
        """When each entry of `_ahead` was written, the oldest first."""
        self._gone: dict[str, None] = {}
        """UIDs that the watch showed the end of, the latest: an answer that comes late must not bring one back."""
        self._turns: dict[ObjectKey, _Turn] = {}
        self._followers: list[Follower] = []
        self._sharing = StructInterner()
        for cache in (informer.cache, self._ahead):
            cache.index(OWNER, _owners)
            cache.index(OWNER_UID, _owner_uids)
        informer.subscribe(self._see)

    # Reading

    def get(self, key: tuple[str, str]) -> Workload | None:
        """The newest state that is known of a Workload."""
        self._forget_old()
        return self._ahead.get(key) or self._informer.cache.get(key)

    def __iter__(self) -> Iterator[Workload]:
        """All Workloads; a walk over everything, so not for what happens often."""
        self._forget_old()
        keys = dict.fromkeys((*self._informer.cache.all_keys(), *self._ahead.all_keys()))
        return (found for key in keys if (found := self.get(key)) is not None)

    def owned_by(self, namespace: str, api_version: str, kind: str, name: str) -> list[Workload]:
        """Those with any owner reference of this name, the oldest first (JOB-28)."""
        return self._find(OWNER, (namespace, api_version, kind, name))

    def owned_by_uid(self, uid: str) -> list[Workload]:
        """Those with any owner reference to this life of an object, the oldest first."""
        return self._find(OWNER_UID, uid)

    def subscribe(self, handler: Handler[Workload]) -> None:
        """Have a handler called with (old, new) for what the watch shows; own writes are known to their writer."""
        self._informer.subscribe(handler)

    def follow(self, follower: Follower) -> None:
        """Have a function told of each state when it becomes known, by watch or own write, and never backwards."""
        self._followers.append(follower)
        for workload in self:
            follower(key_of(workload), workload)

    # Writing

    async def create(self, workload: Workload, manager: str = "") -> Workload:
        """Create a Workload; raises a StatusError that `is_already_exists` where the name is taken."""
        created = await self._objects.create(workload, options=WriteOptions(field_manager=manager))
        self._put_ahead(created)
        return created

    async def write_status(self, before: Workload, after: Workload, manager: str) -> Workload:
        """Write the status where it differs, if nobody wrote since; the Workload as it is then.

        A replacement costs the API server less than any patch: it has nothing to apply, only to look at the outcome.
        """
        if after.status is before.status or after.status == before.status:
            return before
        wanted = msgspec.structs.replace(before, status=after.status)
        return await self._write(before, lambda: self._objects.update(wanted, WriteOptions(manager), "status"))

    async def write_object(self, before: Workload, after: Workload, manager: str) -> Workload:
        """Write what differs in metadata and spec, if nobody wrote since; the Workload as it is then."""
        changed = difference(_writable(before), _writable(after))
        if not changed:
            return before
        version = {"resourceVersion": before.metadata.resource_version}
        patch = MergePatch({**changed, "metadata": {**changed.get("metadata", {}), **version}})
        return await self._write(before, lambda: self._objects.patch(key_of(before), patch, WriteOptions(manager)))

    async def delete(self, workload: Workload, propagation: str = "Background") -> None:
        """Delete this life of a Workload; one that is gone already is fine."""
        try:
            await self._objects.delete(key_of(workload), DeletionOptions(propagation, uid=workload.metadata.uid))
        except StatusError as error:
            if not error.is_not_found:
                raise

    async def _write(self, before: Workload, write: Callable[[], Awaitable[Workload]]) -> Workload:
        async with self._turn(key_of(before)):
            self._refuse_outdated(before)
            written = await write()
            self._put_ahead(written)
        return written

    @asynccontextmanager
    async def _turn(self, key: ObjectKey) -> AsyncIterator[None]:
        """One write of a Workload at a time: of two at once the second could only be refused."""
        turn = self._turns.setdefault(key, _Turn())
        turn.users += 1
        try:
            async with turn.lock:
                yield
        finally:
            turn.users -= 1
            if not turn.users:
                del self._turns[key]

    def _refuse_outdated(self, before: Workload) -> None:
        known = self.get(key_of(before))
        if known is not None and is_newer(known, before):
            raise conflict(ErrorSubject("workloads", "kueue.x-k8s.io", before.metadata.name), MODIFIED)

    # What is ahead of the watch

    def _see(self, old: Workload | None, new: Workload | None) -> None:
        shown = new or old
        if shown is None:
            return
        if new is None:
            self._note_end(shown.metadata.uid)
        else:
            self._sharing.share(new)
        key, ahead = key_of(shown), self._ahead.get(key_of(shown))
        if ahead is not None:
            is_gone = new is None and shown.metadata.uid == ahead.metadata.uid
            if not is_gone and is_newer(ahead, shown):
                return
            self._drop(key)
            if new is not None and not is_newer(new, ahead):
                return
        self._tell(key, new)

    def _put_ahead(self, written: Workload) -> None:
        """An answer may come after the watch has shown it, or more; then it says nothing new."""
        key = key_of(written)
        known = self.get(key)
        if written.metadata.uid in self._gone or (known is not None and not is_newer(written, known)):
            return
        self._ahead.put(key, written)
        self._since.pop(key, None)
        self._since[key] = self._clock.now()
        self._tell(key, written)
        if len(self._since) > MOST_AHEAD:
            self._give_up(next(iter(self._since)))

    def _note_end(self, uid: str) -> None:
        self._gone[uid] = None
        if len(self._gone) > MOST_AHEAD:
            del self._gone[next(iter(self._gone))]

    def _forget_old(self) -> None:
        latest = self._clock.now() - LONGEST_AHEAD
        while self._since and self._informer.synced:
            key, since = next(iter(self._since.items()))
            if since > latest:
                return
            self._give_up(key)

    def _give_up(self, key: ObjectKey) -> None:
        """The watch does not show what was written: what it shows counts."""
        self._drop(key)
        self._tell(key, self._informer.cache.get(key))

    def _drop(self, key: ObjectKey) -> None:
        self._ahead.remove(key)
        del self._since[key]

    def _tell(self, key: ObjectKey, workload: Workload | None) -> None:
        for follower in self._followers:
            follower(key, workload)

    def _find(self, index: str, value: Hashable) -> list[Workload]:
        self._forget_old()
        candidates = (*self._informer.cache.find(index, value), *self._ahead.find(index, value))
        now = {key: self.get(key) for key in map(key_of, candidates)}
        values = _owners if index == OWNER else _owner_uids
        return sorted((each for each in now.values() if each and value in values(each)), key=_age)


def is_newer(one: Workload, other: Workload) -> bool:
    """Whether one state of a Workload is later than another; API servers number the states of a kind upwards."""
    first, second = one.metadata.resource_version, other.metadata.resource_version
    if first.isdecimal() and second.isdecimal():
        return int(first) > int(second)
    return first != second


def _owners(workload: Workload) -> Iterable[Hashable]:
    namespace = workload.metadata.namespace
    return {(namespace, each.api_version, each.kind, each.name) for each in workload.metadata.owner_references}


def _owner_uids(workload: Workload) -> Iterable[Hashable]:
    return {each.uid for each in workload.metadata.owner_references}


def _age(workload: Workload) -> tuple[datetime, str]:
    return workload.metadata.creation_timestamp or datetime.max.replace(tzinfo=UTC), workload.metadata.name


def _writable(workload: Workload) -> dict[str, Json]:
    """Everything but the status and what the server decides."""
    metadata = workload.metadata
    said = {
        "labels": metadata.labels,
        "annotations": metadata.annotations,
        "ownerReferences": [to_json(each) for each in metadata.owner_references],
        "finalizers": list(metadata.finalizers),
    }
    return {"metadata": {name: value for name, value in said.items() if value}, "spec": to_json(workload.spec)}
