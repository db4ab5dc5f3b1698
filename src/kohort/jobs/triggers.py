"""Events that trigger reconciles of a job (JOB-26): of itself, its Workloads, its owner's Workloads, watched kinds."""

from collections.abc import Callable, Iterable

from kohort.api.codec import JsonObject
from kohort.api.kueue.v1beta2 import Workload
from kohort.jobs.assume_cache import CachedObject, ObjectAssumeCache
from kohort.jobs.cache_reader import CacheReader
from kohort.jobs.contract import JobKey, ReconciledKind, WatchedKind
from kohort.jobs.expectations import UidExpectations
from kohort.jobs.keys import GROUP_WORKLOAD_ANNOTATION
from kohort.jobs.objects import controller_owner, is_terminating, uid
from kohort.jobs.registry import group_kind

OWNER_UID = "controller uid"

Enqueue = Callable[[JobKey, float], None]
"""Enqueues a job after a delay in seconds."""


def owner_uids(obj: JsonObject) -> Iterable[str]:
    """The UID of an object's controller."""
    owner = controller_owner(obj)
    return (owner["uid"],) if owner and owner.get("uid") else ()


class JobEventMapper:
    """Maps events to keys of one framework's jobs."""

    def __init__(
        self, framework: ReconciledKind, reads: CacheReader, expectations: UidExpectations, enqueue: Enqueue
    ) -> None:
        self._framework = framework
        self._reads = reads
        self._expectations = expectations
        self._wake = enqueue
        self._known: ObjectAssumeCache = reads.caches[framework.resource]
        if framework.follows_owner:
            self._known.index(OWNER_UID, owner_uids)
        for watch in framework.watches:
            self._watch(watch)

    def object_changed(self, old: CachedObject | None, new: CachedObject | None) -> None:
        """Handle an event of a job or of one of its members."""
        for obj in [state.json() for state in (old, new) if state is not None]:
            key = self._framework.key(obj)
            if key is None:
                continue
            if new is None or is_terminating(obj):
                self._expectations.observe(str(key), uid(obj))  # an expected deletion (JOB-27)
            self._wake(key, 0.0)

    def workload_changed(self, old: Workload | None, new: Workload | None) -> None:
        """Handle an event of a Workload: enqueue its jobs, and those that its job controls (JOB-7)."""
        keys = {key for state in (old, new) if state is not None for key in self._keys_of(state)}
        if new is None and old is not None and self._framework.groups is not None:
            # Another job's Workload may have had the group's name (JOB-159).
            keys.add(JobKey(old.metadata.namespace, old.metadata.name, is_group=True))
        for key in keys:
            self._wake(key, 0.0)

    def _keys_of(self, workload: Workload) -> Iterable[JobKey]:
        namespace, resource = workload.metadata.namespace, self._framework.resource
        for owner in workload.metadata.owner_references:
            if owner.controller and group_kind(owner.api_version, owner.kind) == (resource.group, resource.kind):
                yield JobKey(namespace, owner.name)
            if self._framework.follows_owner:
                yield from (JobKey(*key) for key in self._known.keys(OWNER_UID, owner.uid))
        is_group = workload.metadata.annotations.get(GROUP_WORKLOAD_ANNOTATION) == "true"
        if is_group and self._framework.groups is not None:
            yield JobKey(namespace, workload.metadata.name, is_group=True)

    def _watch(self, watch: WatchedKind) -> None:
        def changed(old: CachedObject | None, new: CachedObject | None) -> None:
            for state in (old, new):
                for key in watch.jobs(state.json(), self._reads) if state is not None else ():
                    self._wake(key, watch.delay)

        self._reads.caches[watch.resource].informer.subscribe(changed)
