"""The LocalQueue controller: condition Active and status counts (API-112 to API-115)."""

from datetime import datetime

from msgspec.structs import replace

from kohort.api.conditions import find
from kohort.api.kueue.v1beta2 import ClusterQueue, LocalQueue, Workload
from kohort.api.kueue.v1beta2.queues import LocalQueueStatus
from kohort.api.meta import ObjectKey
from kohort.api.times import SECOND
from kohort.controllers.context import ControllerContext
from kohort.controllers.queues import references
from kohort.controllers.queues.gauges.queue_gauges import LocalQueueGauges
from kohort.controllers.queues.gauges.workload_counts import WorkloadCounts
from kohort.controllers.queues.reconciler import QueueReconciler, object_key
from kohort.controllers.queues.status_writer import has_unconfirmed_admission, with_listable_flavors, write_status
from kohort.controllers.queues.throttle import INTERVAL
from kohort.engine.lifecycle.activity import with_local_queue_activity
from kohort.engine.lifecycle.conditions import ACTIVE
from kohort.engine.record_builders import conditions_of, is_admissible
from kohort.engine.state.store import LocalQueueInfo
from kohort.kube.controller import RequeueAfter


class LocalQueueController(QueueReconciler[LocalQueue]):
    """Reconciles the status of LocalQueues."""

    def __init__(self, context: ControllerContext, workload_counts: WorkloadCounts) -> None:
        super().__init__(context, context.local_queues)
        self._gauges = LocalQueueGauges(context, workload_counts)

    def subscribe(self) -> None:
        """API-114."""
        self.informer.index(references.CLUSTER_QUEUE, references.cluster_queues_of)
        self.informer.subscribe(self.enqueue_changed)
        self.context.workloads.subscribe(self._workload_changed)
        self.context.cluster_queues.subscribe(self._cluster_queue_changed)

    def _workload_changed(self, old: Workload | None, new: Workload | None) -> None:
        named = {
            object_key(each.spec.queue_name or "", each.metadata.namespace) for each in (old, new) if each is not None
        }
        self.enqueue_throttled(key for key in named if self.informer.cache.get(key) is not None)

    def _cluster_queue_changed(self, old: ClusterQueue | None, new: ClusterQueue | None) -> None:
        found = new or old
        if found is not None and not (old is not None and new is not None and _is_equivalent(old, new)):
            concerned = self.informer.cache.find(references.CLUSTER_QUEUE, found.metadata.name)
            self.enqueue(object_key(each.metadata.name, each.metadata.namespace) for each in concerned)

    async def write(self, found: LocalQueue, wanted: LocalQueue) -> RequeueAfter | None:
        """Write the status; requeue if it may change without an event."""
        await write_status(self.informer.objects, found, wanted)
        if has_unconfirmed_admission(self._record(found).workloads.values()):
            return RequeueAfter(INTERVAL)
        return self._next_sample(found)

    def desired(self, found: LocalQueue) -> LocalQueue:
        """The LocalQueue with its desired status."""
        now = self.context.now()
        if self.context.leads():
            self._sample(found, now)
        cluster_queue = self.context.cluster_queues.cache.get(object_key(found.spec.cluster_queue or ""))
        active = with_local_queue_activity(found, cluster_queue, now)
        reported = replace(active, status=replace(self._status(found), conditions=active.status.conditions))
        self._gauges.update(reported)
        return reported

    def _record(self, found: LocalQueue) -> LocalQueueInfo:
        return self.context.engine.read.local_queues[_key_of(found)]

    def _status(self, found: LocalQueue) -> LocalQueueStatus:
        """The status counts; pending workloads are counted here if the ClusterQueue does not exist (API-112)."""
        figures = with_listable_flavors(self.context.engine.read.local_queue_status(_key_of(found)))
        if (
            found.spec.stop_policy != "None"
            or (found.spec.cluster_queue or "") in self.context.engine.read.cluster_queues
        ):
            return figures
        objects = [each.object for each in self._record(found).workloads.values() if each.object is not None]
        gates = self.context.settings.gates
        pending = sum(is_admissible(each, conditions_of(each), gates) for each in objects)
        return replace(figures, pending_workloads=pending)

    def _sample(self, found: LocalQueue, now: datetime) -> None:
        """Sample past usage, unless the engine does so because workloads are pending (API-115)."""
        engine, key = self.context.engine, _key_of(found)
        if engine.read.history is not None and self._is_sampled(found) and not self._is_sampled_by_engine(found):
            engine.sample_usage(key, now)

    def _is_sampled(self, found: LocalQueue) -> bool:
        """Whether usage is sampled: while both queues are active, for every admissionScope."""
        queue = self.context.engine.read.cluster_queues.get(found.spec.cluster_queue or "")
        return queue is not None and queue.is_active and found.spec.stop_policy == "None"

    def _is_sampled_by_engine(self, found: LocalQueue) -> bool:
        name, engine = found.spec.cluster_queue or "", self.context.engine
        is_opened = engine.read.history is not None and engine.read.history.due_at(_key_of(found)) is not None
        return (
            is_opened
            and engine.read.cluster_queues[name].orders_by_usage
            and bool(engine.read.pending[name].counts.active)
        )

    def _next_sample(self, found: LocalQueue) -> RequeueAfter | None:
        history = self.context.engine.read.history
        if history is None or not self._is_sampled(found):
            return None
        return RequeueAfter(max(INTERVAL, history.rules.interval / SECOND))

    def forget(self, gone: ObjectKey) -> None:
        """API-144."""
        self._gauges.forget(gone)


def _key_of(found: LocalQueue) -> ObjectKey:
    return ObjectKey(found.metadata.namespace, found.metadata.name)


def _is_equivalent(old: ClusterQueue, new: ClusterQueue) -> bool:
    """Whether a ClusterQueue's change does not affect the status of its LocalQueues."""
    before, after = find(old.status.conditions, ACTIVE), find(new.status.conditions, ACTIVE)
    return old.spec == new.spec and (before and before.status) == (after and after.status)
