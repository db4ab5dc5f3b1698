"""Builds the reconcile context of a Workload from caches and engine."""

from typing import Final

from kohort.api.kueue.v1beta2 import ClusterQueue, LocalQueue, Workload
from kohort.api.meta import ObjectKey
from kohort.controllers.context import ControllerContext
from kohort.controllers.devices.claims import claims_problem
from kohort.engine.lifecycle.reasons import MISCONFIGURED
from kohort.engine.lifecycle.reconcile_context import (
    ClusterQueueContext,
    ReconcileContext,
    cluster_queue_facts,
    local_queue_facts,
    policies_of,
)

MAX_CACHED_QUEUES: Final = 10_000
"""ClusterQueues whose contexts are cached."""


class ReconcileContextBuilder:
    """Builds what the reconciliation of a Workload depends on."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._gates = context.settings.gates
        self._policies = policies_of(context.settings.configuration, self._gates)
        self._cluster_queues: dict[str, tuple[ClusterQueue, ClusterQueueContext]] = {}

    def build(self, workload: Workload) -> ReconcileContext:
        """The current context of a Workload."""
        local_queue = self.local_queue_of(workload)
        queue = self.cluster_queue_of(workload)
        problem, bypass = self._queue_problems(workload)
        return ReconcileContext(
            local_queue=local_queue_facts(local_queue) if local_queue else None,
            cluster_queue=self._cluster_queue_context(queue) if queue else None,
            namespace_problem=problem,
            claims_problem=claims_problem(workload, self._gates),
            bypass_reason=bypass,
            policies=self._policies,
            gates=self._gates,
            jitter=self._context.client.random.random(),
        )

    def local_queue_of(self, workload: Workload) -> LocalQueue | None:
        """The LocalQueue of a Workload."""
        return self._context.local_queues.cache.get((workload.metadata.namespace, workload.spec.queue_name or ""))

    def cluster_queue_of(self, workload: Workload) -> ClusterQueue | None:
        """The ClusterQueue with its reservation, else that of its LocalQueue."""
        if workload.status.admission is not None:
            return self._context.cluster_queues.cache.get(("", workload.status.admission.cluster_queue))
        local_queue = self.local_queue_of(workload)
        name = local_queue.spec.cluster_queue if local_queue else None
        return self._context.cluster_queues.cache.get(("", name)) if name else None

    def _cluster_queue_context(self, queue: ClusterQueue) -> ClusterQueueContext:
        """The context of a ClusterQueue, cached for all its Workloads."""
        known = self._cluster_queues.get(queue.metadata.name)
        if known is None or known[0] is not queue:
            known = self._cluster_queues[queue.metadata.name] = (queue, cluster_queue_facts(queue))
            if len(self._cluster_queues) > MAX_CACHED_QUEUES:
                del self._cluster_queues[next(iter(self._cluster_queues))]
        return known[1]

    def _queue_problems(self, workload: Workload) -> tuple[str, str]:
        """Why its namespace does not match the ClusterQueue (SCH-124), and why it is skipped for an equivalent one."""
        engine = self._context.engine
        record = engine.read.workloads.get(ObjectKey(workload.metadata.namespace, workload.metadata.name))
        queue = record.queue if record is not None and not record.has_quota else None
        if record is None or queue is None:
            return "", ""
        obstacle = engine.read.obstacle(record, queue)
        problem = obstacle[1] if obstacle is not None and obstacle[0] == MISCONFIGURED else ""
        return problem, engine.read.pending[queue.name].bypass_reason(record)
