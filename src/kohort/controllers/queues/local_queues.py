"""LocalQueues: the condition Active and the figures of their status (API-112 to API-115)."""

from datetime import datetime

from msgspec.structs import replace

from kohort.api.conditions import find
from kohort.api.kueue.v1beta2 import ClusterQueue, LocalQueue, Workload
from kohort.api.kueue.v1beta2.queues import LocalQueueStatus
from kohort.api.meta import ObjectKey
from kohort.api.times import SECOND
from kohort.controllers.context import ControllerContext
from kohort.controllers.queues import references
from kohort.controllers.queues.gauges import LocalQueueGauges
from kohort.controllers.queues.holders import has_unseen, listable
from kohort.controllers.queues.reconciler import QueueReconciler, key
from kohort.controllers.queues.status_writer import write_status
from kohort.controllers.queues.throttle import INTERVAL
from kohort.controllers.queues.workload_counts import WorkloadCounts
from kohort.engine.lifecycle.activity import with_local_queue_activity
from kohort.engine.lifecycle.conditions import ACTIVE
from kohort.engine.record_builders import conditions_of, is_admissible
from kohort.engine.state.base import LocalQueueInfo as Record
from kohort.kube.controller import RequeueAfter


class LocalQueueController(QueueReconciler[LocalQueue]):
    """Tells of every LocalQueue whether it takes work and what its Workloads hold."""

    def __init__(self, context: ControllerContext, tallies: WorkloadCounts) -> None:
        super().__init__(context, context.local_queues)
        self._gauges = LocalQueueGauges(context, tallies)

    def subscribe(self) -> None:
        """API-114."""
        self.informer.index(references.CLUSTER_QUEUE, references.cluster_queues_of)
        self.informer.subscribe(self.wake_itself)
        self.context.workloads.subscribe(self._workload_changed)
        self.context.cluster_queues.subscribe(self._cluster_queue_changed)

    def _workload_changed(self, old: Workload | None, new: Workload | None) -> None:
        named = {key(each.spec.queue_name or "", each.metadata.namespace) for each in (old, new) if each is not None}
        self.wake_soon(place for place in named if self.informer.cache.get(place) is not None)

    def _cluster_queue_changed(self, old: ClusterQueue | None, new: ClusterQueue | None) -> None:
        found = new or old
        if found is not None and not (old is not None and new is not None and _mean_alike(old, new)):
            concerned = self.informer.cache.find(references.CLUSTER_QUEUE, found.metadata.name)
            self.wake(key(each.metadata.name, each.metadata.namespace) for each in concerned)

    async def keep(self, found: LocalQueue, wanted: LocalQueue) -> RequeueAfter | None:
        """Write the status, and come back where time or a write on its way may change it."""
        await write_status(self.informer.objects, found, wanted)
        if has_unseen(self._record(found).workloads.values()):
            return RequeueAfter(INTERVAL)
        return self._next_sample(found)

    def judge(self, found: LocalQueue) -> LocalQueue:
        """The LocalQueue with its status as it should be."""
        now = self.context.now()
        if self.context.leads():
            self._sample(found, now)
        behind = self.context.cluster_queues.cache.get(key(found.spec.cluster_queue or ""))
        active = with_local_queue_activity(found, behind, now)
        reported = replace(active, status=replace(self._figures(found), conditions=active.status.conditions))
        self._gauges.show(reported)
        return reported

    def _record(self, found: LocalQueue) -> Record:
        return self.context.engine.local_queues[_place(found)]

    def _figures(self, found: LocalQueue) -> LocalQueueStatus:
        """Where there is no ClusterQueue, nobody waits in the engine, but those who would are told (API-112)."""
        figures = listable(self.context.engine.local_queue_status(_place(found)))
        if found.spec.stop_policy != "None" or (found.spec.cluster_queue or "") in self.context.engine.queues:
            return figures
        things = [each.object for each in self._record(found).workloads.values() if each.object is not None]
        gates = self.context.settings.gates
        waiting = sum(is_admissible(thing, conditions_of(thing), gates) for thing in things)
        return replace(figures, pending_workloads=waiting)

    def _sample(self, found: LocalQueue, now: datetime) -> None:
        """Bring past usage up to date, unless the engine does so itself because somebody waits for a turn (API-115)."""
        engine, place = self.context.engine, _place(found)
        if engine.history is not None and self._is_sampled(found) and not self._is_sampled_by_engine(found):
            engine.history.sample(place, engine.admitted_by(place), now)

    def _is_sampled(self, found: LocalQueue) -> bool:
        """Whatever the ClusterQueue's admissionScope is, usage is sampled while both queues are active."""
        queue = self.context.engine.queues.get(found.spec.cluster_queue or "")
        return queue is not None and queue.is_active and found.spec.stop_policy == "None"

    def _is_sampled_by_engine(self, found: LocalQueue) -> bool:
        name, engine = found.spec.cluster_queue or "", self.context.engine
        is_opened = engine.history is not None and engine.history.due_at(_place(found)) is not None
        return is_opened and engine.queues[name].orders_by_usage and bool(engine.pending[name].counts.active)

    def _next_sample(self, found: LocalQueue) -> RequeueAfter | None:
        history = self.context.engine.history
        if history is None or not self._is_sampled(found):
            return None
        return RequeueAfter(max(INTERVAL, history.rules.interval / SECOND))

    def forget(self, gone: ObjectKey) -> None:
        """API-144."""
        self._gauges.forget(gone)


def _place(found: LocalQueue) -> ObjectKey:
    return ObjectKey(found.metadata.namespace, found.metadata.name)


def _mean_alike(old: ClusterQueue, new: ClusterQueue) -> bool:
    """Whether the LocalQueues before a ClusterQueue have nothing else to tell."""
    before, after = find(old.status.conditions, ACTIVE), find(new.status.conditions, ACTIVE)
    return old.spec == new.spec and (before and before.status) == (after and after.status)
