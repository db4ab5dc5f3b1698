"""ClusterQueues: their finalizer, the condition Active and the figures of their status (API-107 to API-111)."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

from msgspec.structs import replace

from kohort.api.kueue.v1beta2 import (
    AdmissionCheck,
    ClusterQueue,
    Cohort,
    LocalQueue,
    ResourceFlavor,
    Topology,
    Workload,
)
from kohort.api.kueue.v1beta2.queues import ClusterQueueStatus
from kohort.api.meta import ObjectKey
from kohort.controllers.context import ControllerContext
from kohort.controllers.queues import references
from kohort.controllers.queues.cohort_trees import cohort_cycle, queues_in_tree
from kohort.controllers.queues.finalizers import with_finalizers
from kohort.controllers.queues.gauges import ClusterQueueGauges
from kohort.controllers.queues.holders import has_unseen, listable
from kohort.controllers.queues.periodic_gauges import PeriodicGauges
from kohort.controllers.queues.reconciler import QueueReconciler, key
from kohort.controllers.queues.status_writer import write_finalizers, write_status
from kohort.controllers.queues.throttle import INTERVAL
from kohort.controllers.queues.workload_counts import WorkloadCounts
from kohort.engine.lifecycle.activity import QueueReferences, with_cluster_queue_activity
from kohort.engine.records import ClusterQueueInfo
from kohort.kube.controller import RequeueAfter
from kohort.kube.informer import Informer

T = TypeVar("T")


class ClusterQueueController(QueueReconciler[ClusterQueue]):
    """Tells of every ClusterQueue whether it admits and what it holds."""

    def __init__(self, context: ControllerContext, tallies: WorkloadCounts) -> None:
        super().__init__(context, context.cluster_queues, context.topologies)
        self._gauges = ClusterQueueGauges(context, tallies)
        self._surveys = PeriodicGauges(context, self._gauges.survey)

    def start(self) -> None:
        """Begin to look, and to walk over queues now and then."""
        super().start()
        self._surveys.start()

    async def stop(self) -> None:
        """Bring to an end what has begun."""
        await super().stop()
        await self._surveys.stop()

    def subscribe(self) -> None:
        """API-111."""
        context = self.context
        self.informer.index(references.FLAVOR, references.flavors_of)
        self.informer.index(references.CHECK, references.checks_of)
        context.flavors.index(references.TOPOLOGY, references.topologies_of)
        context.local_queues.index(references.CLUSTER_QUEUE, references.cluster_queues_of)
        self.informer.subscribe(self.wake_itself)
        self.informer.subscribe(self._quota_changed)
        context.workloads.subscribe(self._workload_changed)
        context.local_queues.subscribe(self._local_queue_changed)
        context.flavors.subscribe(self._flavor_changed)
        context.checks.subscribe(self._check_changed)
        context.topologies.subscribe(self._topology_changed)
        context.cohorts.subscribe(self._cohort_changed)

    # What wakes them

    def _quota_changed(self, old: ClusterQueue | None, new: ClusterQueue | None) -> None:
        """With fair sharing, quota that comes or goes changes the shares of all in the tree (API-110)."""
        if self.context.engine.settings.fair is None or (old is not None and new is not None and old.spec == new.spec):
            return
        for each in (old, new):
            if each is not None:
                self.wake_soon(map(key, queues_in_tree(self.context.engine, each.spec.cohort_name)))

    def _workload_changed(self, old: Workload | None, new: Workload | None) -> None:
        self.wake_soon({key(name) for each in (old, new) if each is not None for name in self._queues_of(each)})

    def _queues_of(self, workload: Workload) -> Iterator[str]:
        """The queue that a Workload waits in, and the one whose quota it holds."""
        if workload.status.admission is not None:
            yield workload.status.admission.cluster_queue
        local_queue = self.context.local_queues.cache.get((workload.metadata.namespace, workload.spec.queue_name or ""))
        if local_queue is not None and local_queue.spec.cluster_queue:
            yield local_queue.spec.cluster_queue

    def _local_queue_changed(self, old: LocalQueue | None, new: LocalQueue | None) -> None:
        """Workloads come to wait when their LocalQueue is created or set free."""
        if old is None or new is None or old.spec != new.spec:
            self.wake_soon(key(name) for each in (old, new) if each for name in references.cluster_queues_of(each))

    def _flavor_changed(self, old: ResourceFlavor | None, new: ResourceFlavor | None) -> None:
        """A flavor that came, went, or got a topology."""
        if old is None or new is None or old.spec.topology_name != new.spec.topology_name:
            self._wake_named(references.FLAVOR, new or old)

    def _check_changed(self, old: AdmissionCheck | None, new: AdmissionCheck | None) -> None:
        self._wake_named(references.CHECK, new or old)

    def _topology_changed(self, old: Topology | None, new: Topology | None) -> None:
        found = new or old
        if found is not None and (old is None or new is None):
            for flavor in self.context.flavors.cache.find(references.TOPOLOGY, found.metadata.name):
                self._wake_named(references.FLAVOR, flavor)

    def _wake_named(self, index: str, found: ResourceFlavor | AdmissionCheck | None) -> None:
        if found is not None:
            self.wake(key(each.metadata.name) for each in self.informer.cache.find(index, found.metadata.name))

    def _cohort_changed(self, old: Cohort | None, new: Cohort | None) -> None:
        """Another parent opens or closes circles, other quota changes shares: rare, so all are looked at."""
        if old is None or new is None or old.spec != new.spec:
            self.wake_soon(self.informer.cache.all_keys())

    # What is done

    async def keep(self, found: ClusterQueue, wanted: ClusterQueue) -> RequeueAfter | None:
        """The finalizer first: letting go of the queue leaves nothing to report (API-107)."""
        if await write_finalizers(self.informer.objects, found, wanted.metadata.finalizers):
            return None
        await write_status(self.informer.objects, found, wanted)
        return RequeueAfter(INTERVAL) if has_unseen(self._record(found).holders.values()) else None

    def judge(self, found: ClusterQueue) -> ClusterQueue:
        """The ClusterQueue with finalizers and status as they should be."""
        active = with_cluster_queue_activity(found, self._surroundings(found), self.context.now())
        reported = replace(active, status=replace(self._figures(found), conditions=active.status.conditions))
        self._gauges.show(reported)
        holders = self._record(found).holders
        self._surveys.book(
            key(found.metadata.name), len(holders) + sum(self.context.engine.pending[found.metadata.name].counts)
        )
        return with_finalizers(reported, in_use=bool(holders))

    def _record(self, found: ClusterQueue) -> ClusterQueueInfo:
        return self.context.engine.queues[found.metadata.name]

    def _figures(self, found: ClusterQueue) -> ClusterQueueStatus:
        self.context.engine.forest.refresh()
        return listable(self.context.engine.queue_status(found.metadata.name))

    def _surroundings(self, found: ClusterQueue) -> QueueReferences:
        """As much of the world as the queue names."""
        context = self.context
        flavors = _present(context.flavors, references.flavors_of(found))
        checks = _present(context.checks, references.checks_of(found))
        topologies = {name for flavor in flavors.values() for name in references.topologies_of(flavor)}
        there = _present(context.topologies, topologies)
        return QueueReferences(flavors, checks, there.keys(), cohort_cycle(context.engine, found.metadata.name))

    def forget(self, gone: ObjectKey) -> None:
        """API-144."""
        self._surveys.forget(gone)
        self._gauges.forget(gone.name)


def _present(informer: Informer[T], names: Iterable[str]) -> dict[str, T]:
    """Those that exist, by name."""
    found = ((name, informer.cache.get(key(name))) for name in names)
    return {name: each for name, each in found if each is not None}
