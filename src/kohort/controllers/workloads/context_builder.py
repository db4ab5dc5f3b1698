"""What surrounds a Workload, gathered from the caches and the engine for `lifecycle.reconcile`."""

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

MOST_READ: Final = 10_000
"""ClusterQueues whose facts are kept at hand."""


class ReconcileContextBuilder:
    """Answers what the life of a Workload depends on."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._gates = context.settings.gates
        self._policies = policies_of(context.settings.configuration, self._gates)
        self._read: dict[str, tuple[ClusterQueue, ClusterQueueContext]] = {}

    def facts(self, workload: Workload) -> ReconcileContext:
        """Everything about it as it is now."""
        local_queue = self.local_queue_of(workload)
        queue = self.cluster_queue_of(workload)
        problem, bypass = self._words_of_the_queue(workload)
        return ReconcileContext(
            local_queue=local_queue_facts(local_queue) if local_queue else None,
            cluster_queue=self._facts_of(queue) if queue else None,
            namespace_problem=problem,
            claims_problem=claims_problem(workload, self._gates),
            bypass_reason=bypass,
            policies=self._policies,
            gates=self._gates,
            jitter=self._context.client.random.random(),
        )

    def local_queue_of(self, workload: Workload) -> LocalQueue | None:
        """The LocalQueue that it names."""
        return self._context.local_queues.cache.get((workload.metadata.namespace, workload.spec.queue_name or ""))

    def cluster_queue_of(self, workload: Workload) -> ClusterQueue | None:
        """The ClusterQueue that holds its reservation, else the one behind its LocalQueue."""
        if workload.status.admission is not None:
            return self._context.cluster_queues.cache.get(("", workload.status.admission.cluster_queue))
        local_queue = self.local_queue_of(workload)
        name = local_queue.spec.cluster_queue if local_queue else None
        return self._context.cluster_queues.cache.get(("", name)) if name else None

    def _facts_of(self, queue: ClusterQueue) -> ClusterQueueContext:
        """Read once for all Workloads of a queue."""
        known = self._read.get(queue.metadata.name)
        if known is None or known[0] is not queue:
            known = self._read[queue.metadata.name] = (queue, cluster_queue_facts(queue))
            if len(self._read) > MOST_READ:
                del self._read[next(iter(self._read))]
        return known[1]

    def _words_of_the_queue(self, workload: Workload) -> tuple[str, str]:
        """Why it does not belong into the queue that it waits in (SCH-124), and for which equal one it stands back."""
        engine = self._context.engine
        record = engine.workloads.get(ObjectKey(workload.metadata.namespace, workload.metadata.name))
        queue = record.queue if record is not None and not record.has_quota else None
        if record is None or queue is None:
            return "", ""
        obstacle = engine.obstacle(record, queue)
        problem = obstacle[1] if obstacle is not None and obstacle[0] == MISCONFIGURED else ""
        return problem, engine.pending[queue.name].bypass_reason(record)
