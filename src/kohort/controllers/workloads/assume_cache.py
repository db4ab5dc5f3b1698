"""The assume cache of Workloads, and the only way to write one.

Writes name the state that they start from, so one that starts from an outdated state is rejected; here already, where a
newer state is known.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

import msgspec

from kohort.api.codec import Json, to_json
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.merge import difference
from kohort.api.meta import ObjectKey
from kohort.controllers.workloads.interning import StructInterner
from kohort.kube.assume_cache import AssumeCache, is_newer
from kohort.kube.errors import MODIFIED, ErrorSubject, StatusError, conflict
from kohort.kube.informer import Informer
from kohort.kube.notifying_store import EventHandler
from kohort.kube.options import DeletionOptions, WriteOptions
from kohort.kube.patches import MergePatch
from kohort.kube.resource_types import ObjectIdentity, identity_of

OWNER = "owner"
OWNER_UID = "owner uid"


def key_of(workload: Workload) -> ObjectKey:
    """The key of a Workload."""
    return ObjectKey(workload.metadata.namespace, workload.metadata.name)


@dataclass(slots=True)
class _WriteLock:
    """Serializes the writes of one Workload; `users` counts those in flight and waiting."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0


class WorkloadAssumeCache(AssumeCache[Workload]):
    """All Workloads, and the only way to write one."""

    def __init__(self, informer: Informer[Workload]) -> None:
        self._objects = informer.objects
        self._write_locks: dict[ObjectKey, _WriteLock] = {}
        self._interner = StructInterner()
        super().__init__(informer, _identity)
        for cache in (informer.cache, self._assumed):
            cache.index(OWNER, _owners)
            cache.index(OWNER_UID, _owner_uids)

    def owned_by(self, namespace: str, api_version: str, kind: str, name: str) -> list[Workload]:
        """Workloads with an owner reference to this name, the oldest first (JOB-28)."""
        return self._find(OWNER, (namespace, api_version, kind, name))

    def owned_by_uid(self, uid: str) -> list[Workload]:
        """Workloads with an owner reference to this UID, the oldest first."""
        return self._find(OWNER_UID, uid)

    def subscribe(self, handler: EventHandler[Workload]) -> None:
        """Call a handler with (old, new) for each watch event, without own writes."""
        self._informer.subscribe(handler)

    def unsubscribe(self, handler: EventHandler[Workload]) -> None:
        """Do not call a handler any more."""
        self._informer.unsubscribe(handler)

    # Writing

    async def create(self, workload: Workload, manager: str = "") -> Workload:
        """Create a Workload; raises a StatusError that `is_already_exists` if the name is taken."""
        created = await self._objects.create(workload, options=WriteOptions(field_manager=manager))
        self.assume(created)
        return created

    async def write_status(self, before: Workload, after: Workload, manager: str) -> Workload:
        """Update the status if it differs; returns the new state, raises a conflict if `before` is outdated.

        An update costs the API server less than a patch: it has nothing to merge.
        """
        if after.status is before.status or after.status == before.status:
            return before
        wanted = msgspec.structs.replace(before, status=after.status)
        return await self._write(before, lambda: self._objects.update(wanted, WriteOptions(manager), "status"))

    async def write_object(self, before: Workload, after: Workload, manager: str) -> Workload:
        """Patch metadata and spec if they differ; returns the new state, raises a conflict if `before` is outdated."""
        changed = difference(_writable(before), _writable(after))
        if not changed:
            return before
        version = {"resourceVersion": before.metadata.resource_version}
        patch = MergePatch({**changed, "metadata": {**changed.get("metadata", {}), **version}})
        return await self._write(before, lambda: self._objects.patch(key_of(before), patch, WriteOptions(manager)))

    async def delete(self, workload: Workload, propagation: str = "Background") -> None:
        """Delete a Workload by its UID; one that is already gone is no error."""
        try:
            await self._objects.delete(key_of(workload), DeletionOptions(propagation, uid=workload.metadata.uid))
        except StatusError as error:
            if not error.is_not_found:
                raise

    async def _write(self, before: Workload, write: Callable[[], Awaitable[Workload]]) -> Workload:
        async with self._write_lock(key_of(before)):
            self._reject_outdated(before)
            written = await write()
            self.assume(written)
        return written

    @asynccontextmanager
    async def _write_lock(self, key: ObjectKey) -> AsyncIterator[None]:
        """One write of a Workload at a time: of two at once the second would only conflict."""
        entry = self._write_locks.setdefault(key, _WriteLock())
        entry.users += 1
        try:
            async with entry.lock:
                yield
        finally:
            entry.users -= 1
            if not entry.users:
                del self._write_locks[key]

    def _reject_outdated(self, before: Workload) -> None:
        known = self.get(key_of(before))
        if known is not None and is_newer(known.metadata.resource_version, before.metadata.resource_version):
            raise conflict(ErrorSubject("workloads", "kueue.x-k8s.io", before.metadata.name), MODIFIED)

    def _observe(self, old: Workload | None, new: Workload | None) -> None:
        if new is not None:
            self._interner.share(new)
        super()._observe(old, new)

    def _find(self, index: str, value: Hashable) -> list[Workload]:
        self._drop_expired()
        candidates = (*self._informer.cache.find(index, value), *self._assumed.find(index, value))
        now = {key: self.get(key) for key in map(key_of, candidates)}
        values = _owners if index == OWNER else _owner_uids
        return sorted((each for each in now.values() if each and value in values(each)), key=_age)


def _identity(workload: Workload) -> ObjectIdentity:
    return identity_of(workload.metadata)


def _owners(workload: Workload) -> Iterable[Hashable]:
    namespace = workload.metadata.namespace
    return {(namespace, each.api_version, each.kind, each.name) for each in workload.metadata.owner_references}


def _owner_uids(workload: Workload) -> Iterable[Hashable]:
    return {each.uid for each in workload.metadata.owner_references}


def _age(workload: Workload) -> tuple[datetime, str]:
    return workload.metadata.creation_timestamp or datetime.max.replace(tzinfo=UTC), workload.metadata.name


def _writable(workload: Workload) -> dict[str, Json]:
    """Everything but the status and server-managed fields."""
    metadata = workload.metadata
    fields = {
        "labels": metadata.labels,
        "annotations": metadata.annotations,
        "ownerReferences": [to_json(each) for each in metadata.owner_references],
        "finalizers": list(metadata.finalizers),
    }
    return {"metadata": {name: value for name, value in fields.items() if value}, "spec": to_json(workload.spec)}
