"""Tracks past usage of LocalQueues for admission fair sharing (SCH-801 to SCH-809)."""

from collections.abc import Iterator
from datetime import datetime

from kohort.api.kueue import v1beta2
from kohort.api.meta import ObjectKey
from kohort.engine import record_builders
from kohort.engine.records import ClusterQueueInfo, WorkloadInfo
from kohort.engine.state.store import EngineStore


class UsageHistoryTracker:
    """Past usage of LocalQueues; does nothing without admission fair sharing."""

    def __init__(self, store: EngineStore) -> None:
        self._store = store

    def open_record(self, key: ObjectKey, thing: v1beta2.LocalQueue, now: datetime) -> None:
        """SCH-804, SCH-807."""
        if self._store.history is None:
            return
        if self._store.history.set_weight(key, record_builders.weight_of(thing.spec.fair_sharing)):
            self._store.dirty.add(thing.spec.cluster_queue or "")
        sharing = thing.status.fair_sharing
        if sharing is not None and sharing.admission_fair_sharing_status is not None:
            self._store.history.seed(key, sharing.admission_fair_sharing_status.consumed_resources, now)

    def settle_penalty(self, workload: WorkloadInfo, now: datetime) -> None:
        """SCH-806."""
        if self._store.history is not None and workload.queue is not None and workload.queue.orders_by_usage:
            local_queue = workload.local_queue
            if self._store.history.settle(local_queue, workload.key, self.admitted_usage(local_queue), now):
                self._store.dirty.add(workload.queue.name)

    def drop_penalty(self, workload: WorkloadInfo) -> None:
        """SCH-806."""
        if self._store.history is not None:
            self._store.history.drop(workload.local_queue, workload.key)

    def admitted_usage(self, key: ObjectKey) -> dict[str, int]:
        """Usage of admitted workloads of a LocalQueue over all flavors; 0 for what only others use (SCH-803)."""
        local_queue = self._store.local_queues[key]
        queue = self._store.queues.get(local_queue.cluster_queue)
        totals = {fr.resource: 0 for fr, cell in queue.node.cells.items() if cell.usage} if queue else {}
        for workload in local_queue.workloads.values():
            if workload.has_quota and workload.is_admitted:
                for fr, amount in workload.usage.items():
                    totals[fr.resource] = totals.get(fr.resource, 0) + amount
        return totals

    def sample(self, key: ObjectKey, now: datetime) -> bool:
        """Sample the usage of a LocalQueue if it is due; whether it was (SCH-803)."""
        history = self._store.history
        return history is not None and history.sample(key, self.admitted_usage(key), now)

    def sample_all(self, now: datetime) -> None:
        """Sample the usage of all LocalQueues that are due; their queues may have another head (SCH-803)."""
        for key, queue in self._sampled():
            if self.sample(key, now):
                self._store.dirty.add(queue.name)

    def due_at(self) -> datetime | None:
        """Time of the next sample for a ClusterQueue with active workloads (SCH-803)."""
        history = self._store.history
        if history is None:
            return None
        keys = [key for key, queue in self._sampled() if self._store.pending[queue.name].counts.active]
        return min((due for key in keys if (due := history.due_at(key)) is not None), default=None)

    def _sampled(self) -> Iterator[tuple[ObjectKey, ClusterQueueInfo]]:
        """LocalQueues whose past usage counts and changes, each with its ClusterQueue."""
        if self._store.history is None:
            return
        for key, local_queue in self._store.local_queues.items():
            queue = self._store.queues.get(local_queue.cluster_queue)
            if queue is not None and queue.orders_by_usage and queue.is_active and not local_queue.is_stopped:
                yield key, queue
