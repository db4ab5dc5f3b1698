"""How workloads come to wait in ClusterQueues, by way of their LocalQueues, and cease to."""

from datetime import datetime

from kohort.api.meta import ObjectKey
from kohort.engine import record_builders
from kohort.engine.pending import PendingQueue
from kohort.engine.records import ClusterQueueInfo, WorkloadInfo
from kohort.engine.state.base import LocalQueueInfo
from kohort.engine.state.usage_accounting import UsageAccounting


class PendingTracking(UsageAccounting):
    """Puts workloads in line and takes them out."""

    def _join_local_queue(self, workload: WorkloadInfo, key: ObjectKey) -> None:
        self._drop_penalty(workload)
        former = self.local_queues.get(workload.local_queue)
        if former is not None:
            former.workloads.pop(workload.key, None)
        local_queue = self._local_queue(key)
        workload.local_queue = local_queue.key
        local_queue.workloads[workload.key] = workload

    def _local_queue(self, key: ObjectKey) -> LocalQueueInfo:
        """What is known of a LocalQueue, whether it exists or is only named."""
        found = self.local_queues.get(key)
        if found is None:
            found = self.local_queues[key] = LocalQueueInfo(key)
        return found

    def _enqueue_all(self, local_queue: LocalQueueInfo, now: datetime) -> None:
        """Let everybody wait where a LocalQueue leads to now (SCH-204)."""
        for workload in local_queue.workloads.values():
            if self._may_wait(workload) and (pending := self._way(workload)) is not None:
                pending.rejoin(workload, now)

    def _enqueue(self, workload: WorkloadInfo, now: datetime) -> None:
        """Let it wait, if it may."""
        if self._may_wait(workload):
            self._line_up(workload, now)

    def _may_wait(self, workload: WorkloadInfo) -> bool:
        thing = workload.object
        if thing is None or workload.has_quota:
            return False
        return record_builders.is_admissible(thing, record_builders.conditions_of(thing), self.settings.gates)

    def _line_up(self, workload: WorkloadInfo, now: datetime) -> None:
        """Let it wait in the ClusterQueue that its LocalQueue leads to (SCH-202)."""
        if (pending := self._way(workload)) is not None:
            pending.push(workload, now)

    def _way(self, workload: WorkloadInfo) -> PendingQueue | None:
        """Where the workload waits from now on; it leaves where it waited."""
        local_queue = self.local_queues.get(workload.local_queue)
        stopped = local_queue is None or local_queue.is_stopped
        queue = None if local_queue is None or stopped else self.queues.get(local_queue.cluster_queue)
        if workload.queue is not queue:
            self._dequeue(workload)
        if queue is None:
            return None
        workload.queue = queue
        self._stirred.add(queue.name)
        self._note_backoff(workload, queue)
        return self.pending[queue.name]

    def _note_backoff(self, workload: WorkloadInfo, queue: ClusterQueueInfo) -> None:
        """Remember the queue, so that nobody asks all of them whether a backoff has ended."""
        if workload.backoff_until is not None:
            self._sleeping.add(queue.name)

    def _dequeue(self, workload: WorkloadInfo) -> None:
        if workload.queue is not None and not workload.has_quota:
            pending = self.pending.get(workload.queue.name)
            if pending is not None:
                pending.remove(workload)
                self._stirred.add(workload.queue.name)
            workload.queue = workload.progress = None

    def _stir_home_of(self, workload: WorkloadInfo) -> None:
        """Give others another look in the tree to which the workload's LocalQueue leads by now (SCH-261).

        Whoever ends, gives quota back or changes what it holds does so, wherever it holds or waits.
        """
        local_queue = self.local_queues.get(workload.local_queue)
        if local_queue is None or local_queue.is_stopped:
            return
        queue = self.queues.get(local_queue.cluster_queue)
        if queue is not None:
            self._stir_tree_of(queue.node)
