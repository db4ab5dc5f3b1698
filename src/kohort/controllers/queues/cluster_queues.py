"""The ClusterQueue controller: finalizer, condition Active and status counts (API-107 to API-111)."""

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
from kohort.controllers.queues.gauges.periodic import PeriodicGauges
from kohort.controllers.queues.gauges.queue_gauges import ClusterQueueGauges
from kohort.controllers.queues.gauges.workload_counts import WorkloadCounts
from kohort.controllers.queues.reconciler import QueueReconciler, object_key
from kohort.controllers.queues.status_writer import (
    has_unconfirmed_admission,
    with_finalizers,
    with_listable_flavors,
    write_finalizers,
    write_status,
)
from kohort.controllers.queues.throttle import INTERVAL
from kohort.engine.lifecycle.activity import QueueReferences, with_cluster_queue_activity
from kohort.engine.records import ClusterQueueInfo
from kohort.kube.controller import RequeueAfter
from kohort.kube.informer import Informer

T = TypeVar("T")


class ClusterQueueController(QueueReconciler[ClusterQueue]):
    """Reconciles the finalizer and the status of ClusterQueues."""

    def __init__(self, context: ControllerContext, workload_counts: WorkloadCounts) -> None:
        super().__init__(context, context.cluster_queues, context.topologies)
        self._gauges = ClusterQueueGauges(context, workload_counts)
        self._periodic_gauges = PeriodicGauges(context, self._gauges.update_pending)

    def start(self) -> None:
        """Start reconciling and the periodic gauges."""
        super().start()
        self._periodic_gauges.start()

    async def stop(self) -> None:
        """Stop after reconciles in flight."""
        await super().stop()
        await self._periodic_gauges.stop()

    def subscribe(self) -> None:
        """API-111."""
        context = self.context
        self.informer.index(references.FLAVOR, references.flavors_of)
        self.informer.index(references.CHECK, references.checks_of)
        context.flavors.index(references.TOPOLOGY, references.topologies_of)
        context.local_queues.index(references.CLUSTER_QUEUE, references.cluster_queues_of)
        self.informer.subscribe(self.enqueue_changed)
        self.informer.subscribe(self._quota_changed)
        context.workloads.subscribe(self._workload_changed)
        context.local_queues.subscribe(self._local_queue_changed)
        context.flavors.subscribe(self._flavor_changed)
        context.checks.subscribe(self._check_changed)
        context.topologies.subscribe(self._topology_changed)
        context.cohorts.subscribe(self._cohort_changed)

    # Events

    def _quota_changed(self, old: ClusterQueue | None, new: ClusterQueue | None) -> None:
        """With fair sharing, a change of quota affects the shares of all queues in the tree (API-110)."""
        if self.context.engine.settings.fair is None or (old is not None and new is not None and old.spec == new.spec):
            return
        for each in (old, new):
            if each is not None:
                self.enqueue_throttled(map(object_key, queues_in_tree(self.context.engine, each.spec.cohort_name)))

    def _workload_changed(self, old: Workload | None, new: Workload | None) -> None:
        self.enqueue_throttled(
            {object_key(name) for each in (old, new) if each is not None for name in self._queues_of(each)}
        )

    def _queues_of(self, workload: Workload) -> Iterator[str]:
        """The queue in which a Workload is pending, and the one in which it has quota."""
        if workload.status.admission is not None:
            yield workload.status.admission.cluster_queue
        local_queue = self.context.local_queues.cache.get((workload.metadata.namespace, workload.spec.queue_name or ""))
        if local_queue is not None and local_queue.spec.cluster_queue:
            yield local_queue.spec.cluster_queue

    def _local_queue_changed(self, old: LocalQueue | None, new: LocalQueue | None) -> None:
        """Creating or resuming a LocalQueue makes its Workloads pending."""
        if old is None or new is None or old.spec != new.spec:
            self.enqueue_throttled(
                object_key(name) for each in (old, new) if each for name in references.cluster_queues_of(each)
            )

    def _flavor_changed(self, old: ResourceFlavor | None, new: ResourceFlavor | None) -> None:
        """A created or deleted flavor, or one with another topology, affects queues that list it."""
        if old is None or new is None or old.spec.topology_name != new.spec.topology_name:
            self._enqueue_referrers(references.FLAVOR, new or old)

    def _check_changed(self, old: AdmissionCheck | None, new: AdmissionCheck | None) -> None:
        self._enqueue_referrers(references.CHECK, new or old)

    def _topology_changed(self, old: Topology | None, new: Topology | None) -> None:
        found = new or old
        if found is not None and (old is None or new is None):
            for flavor in self.context.flavors.cache.find(references.TOPOLOGY, found.metadata.name):
                self._enqueue_referrers(references.FLAVOR, flavor)

    def _enqueue_referrers(self, index: str, found: ResourceFlavor | AdmissionCheck | None) -> None:
        if found is not None:
            self.enqueue(
                object_key(each.metadata.name) for each in self.informer.cache.find(index, found.metadata.name)
            )

    def _cohort_changed(self, old: Cohort | None, new: Cohort | None) -> None:
        """A change of parent or quota can affect every queue; it is rare, so all are enqueued."""
        if old is None or new is None or old.spec != new.spec:
            self.enqueue_throttled(self.informer.cache.all_keys())

    # Reconciling

    async def write(self, found: ClusterQueue, wanted: ClusterQueue) -> RequeueAfter | None:
        """Write finalizers, else the status: after removal of the finalizer there is nothing to report (API-107)."""
        if await write_finalizers(self.informer.objects, found, wanted.metadata.finalizers):
            return None
        await write_status(self.informer.objects, found, wanted)
        return RequeueAfter(INTERVAL) if has_unconfirmed_admission(self._record(found).holders.values()) else None

    def desired(self, found: ClusterQueue) -> ClusterQueue:
        """The ClusterQueue with desired finalizers and status."""
        active = with_cluster_queue_activity(found, self._references(found), self.context.now())
        reported = replace(active, status=replace(self._status(found), conditions=active.status.conditions))
        self._gauges.update(reported)
        holders = self._record(found).holders
        self._periodic_gauges.schedule(
            object_key(found.metadata.name),
            len(holders) + sum(self.context.engine.read.pending[found.metadata.name].counts),
        )
        return with_finalizers(reported, in_use=bool(holders))

    def _record(self, found: ClusterQueue) -> ClusterQueueInfo:
        return self.context.engine.read.cluster_queues[found.metadata.name]

    def _status(self, found: ClusterQueue) -> ClusterQueueStatus:
        return with_listable_flavors(self.context.engine.read.cluster_queue_status(found.metadata.name))

    def _references(self, found: ClusterQueue) -> QueueReferences:
        """The objects that the queue references."""
        context = self.context
        flavors = _present(context.flavors, references.flavors_of(found))
        checks = _present(context.checks, references.checks_of(found))
        topologies = {name for flavor in flavors.values() for name in references.topologies_of(flavor)}
        topologies_found = _present(context.topologies, topologies)
        return QueueReferences(
            flavors, checks, topologies_found.keys(), cohort_cycle(context.engine, found.metadata.name)
        )

    def forget(self, gone: ObjectKey) -> None:
        """API-144."""
        self._periodic_gauges.forget(gone)
        self._gauges.forget(gone.name)


def _present(informer: Informer[T], names: Iterable[str]) -> dict[str, T]:
    """Existing objects among these names."""
    found = ((name, informer.cache.get(object_key(name))) for name in names)
    return {name: each for name, each in found if each is not None}
