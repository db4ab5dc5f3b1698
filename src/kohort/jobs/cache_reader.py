"""The reader of passes and frameworks, from the caches of a running manager."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from kohort.api.codec import JsonObject
from kohort.api.config.v1beta2 import Configuration
from kohort.api.core.nodes import PriorityClass
from kohort.api.gates import FeatureGates
from kohort.api.kueue.keys import JOB_UID_LABEL
from kohort.api.kueue.v1beta2 import ClusterQueue, ResourceFlavor, Workload, WorkloadPriorityClass
from kohort.api.meta import ObjectKey
from kohort.api.resource import Resource
from kohort.controllers.context import ControllerContext
from kohort.controllers.served_kinds import KindAvailability
from kohort.jobs.assume_cache import CachedResource, ObjectAssumeCache
from kohort.jobs.contract import ReconciledKind
from kohort.jobs.expectations import UidExpectations
from kohort.kube.errors import StatusError
from kohort.kube.informer import Informer
from kohort.kube.options import ListScope
from kohort.kube.rest_mapper import RestMapper

DEFAULT_CLASS = "default class"


def _default(priority_class: PriorityClass) -> Iterable[bool]:
    return (True,) if priority_class.global_default else ()


class CacheReader:
    """Reads caches, settings and the time."""

    def __init__(self, context: ControllerContext, expectations: UidExpectations) -> None:
        self._context = context
        self._expectations = expectations
        self._mapping = RestMapper(context.client)
        self._pod_classes: Informer[PriorityClass] = context.informers.of(PriorityClass)
        self._pod_classes.index(DEFAULT_CLASS, _default)
        self.caches: dict[Resource, ObjectAssumeCache] = {}
        self._unserved: dict[Resource, KindAvailability] = {}

    def add_kind(self, kind: ReconciledKind) -> None:
        """Create caches of a kind and of the kinds that it watches."""
        own = self._cache_of(kind.resource)
        for name, values in kind.indexes.items():
            own.index(name, values)
        for watch in kind.watches:
            self._cache_of(watch.resource)

    def set_availability(self, resource: Resource, availability: KindAvailability) -> None:
        """Watch a kind while it is served; otherwise its objects count as deleted."""
        informer = self.caches[resource].informer
        if availability is KindAvailability.SERVED:
            self._unserved.pop(resource, None)
            self._context.informers.resume(informer)
        else:
            self._unserved[resource] = availability
            self._context.informers.pause(informer)

    def availability(self, kind: ReconciledKind) -> KindAvailability:
        """Whether a kind can be reconciled: that it and all kinds that it watches are served."""
        if self._unserved.get(kind.resource) is KindAvailability.ABSENT:
            return KindAvailability.ABSENT
        is_served = self._unserved.keys().isdisjoint(kind.resources)
        return KindAvailability.SERVED if is_served else KindAvailability.UNSERVED

    def _cache_of(self, resource: Resource) -> ObjectAssumeCache:
        if resource not in self.caches:
            self.caches[resource] = ObjectAssumeCache(self._context.informers, CachedResource(resource))
        return self.caches[resource]

    def is_synced(self, kind: ReconciledKind) -> bool:
        """Whether all caches that are read for a kind are synced; those of kinds that are not served are empty."""
        served = (resource for resource in kind.resources if resource not in self._unserved)
        caches = (self.caches[resource].informer.synced for resource in served)
        return self._context.feed.is_synced and self._pod_classes.synced and all(caches)

    @property
    def configuration(self) -> Configuration:
        """The manager's Configuration."""
        return self._context.settings.configuration

    @property
    def gates(self) -> FeatureGates:
        """The feature gates."""
        return self._context.settings.gates

    @property
    def now(self) -> datetime:
        """The time."""
        return self._context.now()

    def resource(self, api_version: str, kind: str) -> Resource:
        """The resource of a cached object."""
        return next(each for each in self.caches if (each.api_version, each.kind) == (api_version, kind))

    def assume(self, obj: JsonObject) -> None:
        """Use the response to an own write until the watch shows it."""
        self.caches[self.resource(obj["apiVersion"], obj["kind"])].assume(obj)

    def get(self, resource: Resource, key: ObjectKey) -> JsonObject | None:
        """An object of a framework's kind, or of one that it watches."""
        return self.caches[resource].get(key)

    def find(self, resource: Resource, index: str, value: str) -> Sequence[JsonObject]:
        """Objects under a value of an index, oldest first."""
        return self.caches[resource].find(index, value)

    def workload(self, key: ObjectKey) -> Workload | None:
        """A Workload."""
        return self._context.workload_cache.get(key)

    def owned_workloads(self, namespace: str, api_version: str, kind: str, name: str) -> Sequence[Workload]:
        """Workloads with an owner of that kind and name, oldest first."""
        return self._context.workload_cache.owned_by(namespace, api_version, kind, name)

    def check_controller(self, check: str) -> str:
        """Name of the controller of an AdmissionCheck."""
        found = self._context.checks.cache.get(("", check))
        return found.spec.controller_name if found is not None and found.spec is not None else ""

    def cluster_queue_of(self, namespace: str, local_queue: str) -> ClusterQueue | None:
        """The ClusterQueue of a LocalQueue."""
        local = self._context.local_queues.cache.get((namespace, local_queue))
        if local is None:
            return None
        return self._context.cluster_queues.cache.get(("", local.spec.cluster_queue or ""))

    def is_settled(self, expectation: str) -> bool:
        """Whether all expectations under a key have been observed."""
        return self._expectations.is_settled(expectation)

    def namespace_labels(self, name: str) -> Mapping[str, str] | None:
        """The labels of a namespace."""
        found = self._context.namespaces.cache.get(("", name))
        return found.metadata.labels if found is not None else None

    def flavor(self, name: str) -> ResourceFlavor | None:
        """A ResourceFlavor."""
        return self._context.flavors.cache.get(("", name))

    def workload_priority_class(self, name: str) -> WorkloadPriorityClass | None:
        """A WorkloadPriorityClass."""
        return self._context.priority_classes.cache.get(("", name))

    def priority_class(self, name: str) -> PriorityClass | None:
        """A PriorityClass."""
        return self._pod_classes.cache.get(("", name))

    def default_priority_classes(self) -> Iterable[PriorityClass]:
        """The global default PriorityClasses."""
        return self._pod_classes.cache.find(DEFAULT_CLASS, True)  # noqa: FBT003

    async def resource_of(self, api_version: str, kind: str) -> Resource:
        """The resource of a kind, by discovery if it is not cached."""
        return await self._mapping.resource(api_version, kind)

    async def live_workloads(self, namespace: str, job_uid: str) -> Sequence[Workload]:
        """The Workloads of a job read from the server, for decisions that must not depend on a stale cache."""
        listed = await self._context.client.of(Workload).list(ListScope(namespace, labels=f"{JOB_UID_LABEL}={job_uid}"))
        return listed.items

    async def fetch(self, api_version: str, kind: str, namespace: str, name: str, uid: str) -> JsonObject | None:
        """An owner: from the cache if it has the object with this UID, else from the server (JOB-3)."""
        resource = await self._mapping.resource(api_version, kind)
        cached = self.caches[resource].get(ObjectKey(namespace, name)) if resource in self.caches else None
        if cached is not None and cached["metadata"].get("uid") == uid:
            return cached
        try:
            return await self._context.client.of(resource).get((namespace if resource.namespaced else "", name))
        except StatusError as error:
            if error.is_not_found:
                return None
            raise
