"""Past usage of LocalQueues, where it decides who comes first (SCH-801 to SCH-809)."""

from datetime import datetime

from kohort.api.kueue import v1beta2
from kohort.api.meta import ObjectKey
from kohort.engine import record_builders
from kohort.engine.records import WorkloadInfo
from kohort.engine.state.base import EngineStateBase


class UsageAccounting(EngineStateBase):
    """Keeps the accounts of LocalQueues; does nothing without admission fair sharing."""

    def _open_account(self, key: ObjectKey, thing: v1beta2.LocalQueue, now: datetime) -> None:
        """SCH-804, SCH-807."""
        if self.history is None:
            return
        if self.history.set_weight(key, record_builders.weight_of(thing.spec.fair_sharing)):
            self._stirred.add(thing.spec.cluster_queue or "")
        sharing = thing.status.fair_sharing
        if sharing is not None and sharing.admission_fair_sharing_status is not None:
            self.history.seed(key, sharing.admission_fair_sharing_status.consumed_resources, now)

    def _settle_penalty(self, workload: WorkloadInfo, now: datetime) -> None:
        """SCH-806."""
        if self.history is not None and workload.queue is not None and workload.queue.orders_by_usage:
            local_queue = workload.local_queue
            if self.history.settle(local_queue, workload.key, self.admitted_by(local_queue), now):
                self._stirred.add(workload.queue.name)

    def _drop_penalty(self, workload: WorkloadInfo) -> None:
        """SCH-806."""
        if self.history is not None:
            self.history.drop(workload.local_queue, workload.key)

    def admitted_by(self, key: ObjectKey) -> dict[str, int]:
        """What admitted workloads of a LocalQueue use, over all flavors; 0 of what only others there use (SCH-803)."""
        local_queue = self.local_queues[key]
        queue = self.queues.get(local_queue.cluster_queue)
        totals = {fr.resource: 0 for fr, cell in queue.node.cells.items() if cell.usage} if queue else {}
        for workload in local_queue.workloads.values():
            if workload.has_quota and workload.is_admitted:
                for fr, amount in workload.usage.items():
                    totals[fr.resource] = totals.get(fr.resource, 0) + amount
        return totals
