"""What a stopped, terminating or missing queue does to Workloads that hold quota in it (SCH-1050, API-131).

The LocalQueue takes precedence over the ClusterQueue. A Workload that is already being evicted is not changed.
"""

from datetime import datetime

from kohort.api.kueue.v1beta2 import Workload
from kohort.engine.lifecycle import reasons
from kohort.engine.lifecycle.admission import drop_reservation
from kohort.engine.lifecycle.conditions import is_admitted, is_leaving, is_reserved
from kohort.engine.lifecycle.events import WorkloadChange
from kohort.engine.lifecycle.eviction import EvictionCause, evict
from kohort.engine.lifecycle.reconcile_context import ClusterQueueContext, LocalQueueContext, ReconcileContext

StopPolicies = LocalQueueContext | ClusterQueueContext


def cluster_queue_name(workload: Workload, facts: ReconcileContext) -> str:
    """The ClusterQueue that holds the reservation, else that of the LocalQueue."""
    if workload.status.admission is not None:
        return workload.status.admission.cluster_queue
    return facts.local_queue.cluster_queue if facts.local_queue else ""


def apply_stop_policies(workload: Workload, facts: ReconcileContext, now: datetime) -> WorkloadChange:
    """Evict admitted Workloads of a draining queue; release the reservations of others in a stopped one (SCH-1050)."""
    if not is_reserved(workload) or is_leaving(workload):
        return WorkloadChange(workload)
    if is_admitted(workload):
        return _drain(workload, facts, now)
    return WorkloadChange(_hold_back(workload, facts, now))


def _drain(workload: Workload, facts: ReconcileContext, now: datetime) -> WorkloadChange:
    if _is_draining(facts.local_queue):
        return evict(workload, EvictionCause(reasons.LOCAL_QUEUE_STOPPED, "The LocalQueue is stopped"), now)
    if _is_draining(facts.cluster_queue):
        return evict(workload, EvictionCause(reasons.CLUSTER_QUEUE_STOPPED, "The ClusterQueue is stopped"), now)
    return WorkloadChange(workload)


def _is_draining(queue: StopPolicies | None) -> bool:
    return queue is not None and queue.stop_policy == "HoldAndDrain"


def _hold_back(workload: Workload, facts: ReconcileContext, now: datetime) -> Workload:
    queues = (
        (f"LocalQueue {workload.spec.queue_name or ''}", facts.local_queue),
        (f"ClusterQueue {cluster_queue_name(workload, facts)}", facts.cluster_queue),
    )
    for name, queue in queues:
        if queue is not None and queue.is_stopped:
            reason = reasons.controller_reason(reasons.SUSPENDED, facts.gates)
            return drop_reservation(workload, reason, f"{name} is stopped", facts.gates, now)
        if queue is None or queue.is_terminating:
            reason = reasons.controller_reason(reasons.MISCONFIGURED, facts.gates)
            return drop_reservation(workload, reason, f"{name} is terminating or missing", facts.gates, now)
    return workload
