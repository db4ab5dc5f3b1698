"""What keeps a workload from being nominated (SCH-311, SCH-124)."""

from typing import TYPE_CHECKING

from kohort.engine.decisions import RequeueReason
from kohort.engine.namespace_selector import is_selected
from kohort.engine.records import ClusterQueueInfo, WorkloadInfo

if TYPE_CHECKING:
    from kohort.engine.state.store import EngineStore

Obstacle = tuple[str, str, RequeueReason]
"""Reason, message and requeue of a workload that can't be nominated."""


def find_obstacle(store: "EngineStore", workload: WorkloadInfo, queue: ClusterQueueInfo) -> Obstacle | None:
    """What keeps a head from being nominated; all lookups are in memory, so none fails (SCH-312)."""
    found = workload.object
    checks = found.status.admission_checks if found is not None else ()
    if checks and any(check.state in ("Retry", "Rejected") for check in checks):
        return "PendingEvaluation", "The workload has failed admission checks", RequeueReason.GENERIC
    namespace = workload.key.namespace
    if is_selected(store, queue, namespace):
        return ("Misconfigured", workload.problem, RequeueReason.GENERIC) if workload.problem else None
    if namespace in store.namespaces:
        message = "workload namespace doesn't match ClusterQueue selector"
        return "Misconfigured", message, RequeueReason.NAMESPACE_MISMATCH
    message = f'workload namespace "{namespace}" does not exist: namespaces "{namespace}" not found'
    return "Misconfigured", message, RequeueReason.GENERIC
