"""Tracks which workloads are pending in which ClusterQueue, by their LocalQueues."""

from datetime import datetime

from kohort.api.meta import ObjectKey
from kohort.engine import record_builders
from kohort.engine.pending import PendingQueue
from kohort.engine.records import ClusterQueueInfo, WorkloadInfo
from kohort.engine.state.store import EngineStore, LocalQueueInfo
from kohort.engine.state.unblocking import Unblocking
from kohort.engine.state.usage_accounting import UsageHistoryTracker


class PendingTracker:
    """Adds workloads to the pending queues of ClusterQueues and removes them."""

    def __init__(self, store: EngineStore, unblocking: Unblocking, history: UsageHistoryTracker) -> None:
        self._store = store
        self._unblocking = unblocking
        self._history = history

    def join_local_queue(self, workload: WorkloadInfo, key: ObjectKey) -> None:
        """List the workload under the LocalQueue that it references."""
        self._history.drop_penalty(workload)
        former = self._store.local_queues.get(workload.local_queue)
        if former is not None:
            former.workloads.pop(workload.key, None)
        local_queue = self.local_queue(key)
        workload.local_queue = local_queue.key
        local_queue.workloads[workload.key] = workload

    def local_queue(self, key: ObjectKey) -> LocalQueueInfo:
        """The record of a LocalQueue that exists or is referenced."""
        found = self._store.local_queues.get(key)
        if found is None:
            found = self._store.local_queues[key] = LocalQueueInfo(key)
        return found

    def enqueue_all(self, local_queue: LocalQueueInfo, now: datetime) -> None:
        """Add all workloads of a LocalQueue to the ClusterQueue that it references now (SCH-204)."""
        for workload in local_queue.workloads.values():
            if self._is_admissible(workload) and (pending := self._resolve(workload)) is not None:
                pending.rejoin(workload, now)

    def enqueue(self, workload: WorkloadInfo, now: datetime) -> None:
        """Add the workload to its ClusterQueue if it may be pending."""
        if self._is_admissible(workload):
            self.push(workload, now)

    def _is_admissible(self, workload: WorkloadInfo) -> bool:
        thing = workload.object
        if thing is None or workload.has_quota:
            return False
        return record_builders.is_admissible(thing, record_builders.conditions_of(thing), self._store.settings.gates)

    def push(self, workload: WorkloadInfo, now: datetime) -> None:
        """Add the workload to the ClusterQueue that its LocalQueue references (SCH-202)."""
        if (pending := self._resolve(workload)) is not None:
            pending.push(workload, now)

    def _resolve(self, workload: WorkloadInfo) -> PendingQueue | None:
        """The pending queue of the workload from now on; it is removed from a former one."""
        local_queue = self._store.local_queues.get(workload.local_queue)
        stopped = local_queue is None or local_queue.is_stopped
        queue = None if local_queue is None or stopped else self._store.queues.get(local_queue.cluster_queue)
        if workload.queue is not queue:
            self.dequeue(workload)
        if queue is None:
            return None
        workload.queue = queue
        self._store.dirty.add(queue.name)
        self.note_backoff(workload, queue)
        return self._store.pending[queue.name]

    def note_backoff(self, workload: WorkloadInfo, queue: ClusterQueueInfo) -> None:
        """Record the queue, so that ended backoffs are found without visiting all queues."""
        if workload.backoff_until is not None:
            self._store.backing_off.add(queue.name)

    def dequeue(self, workload: WorkloadInfo) -> None:
        """Remove the workload from its pending queue."""
        if workload.queue is not None and not workload.has_quota:
            pending = self._store.pending.get(workload.queue.name)
            if pending is not None:
                pending.remove(workload)
                self._store.dirty.add(workload.queue.name)
            workload.queue = workload.progress = None

    def unblock_home(self, workload: WorkloadInfo) -> None:
        """Unblock the tree that the workload's LocalQueue references now (SCH-261).

        Called when a workload ends, releases quota or changes its usage. The tree in which it holds quota is unblocked
        along with the change itself.
        """
        local_queue = self._store.local_queues.get(workload.local_queue)
        if local_queue is None or local_queue.is_stopped:
            return
        queue = self._store.queues.get(local_queue.cluster_queue)
        if queue is not None and not (queue is workload.queue and workload.has_quota):
            self._unblocking.unblock_tree(queue.node)
