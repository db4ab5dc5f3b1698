"""The state of a workload, and the reason of its condition (SCH-363)."""

from datetime import datetime
from typing import TYPE_CHECKING

from kohort.api.conditions import find, is_true
from kohort.api.gates import Gate
from kohort.api.kueue import v1beta2
from kohort.api.kueue.keys import ADMISSION_GATED_BY_ANNOTATION
from kohort.api.meta import ObjectKey
from kohort.engine.decisions import RequeueReason
from kohort.engine.explain.model import WorkloadPhase
from kohort.engine.lifecycle.conditions import QUOTA_RESERVED, is_on_hold
from kohort.engine.lifecycle.pending_reason import PENDING_MESSAGE, PendingReason, pending_cause
from kohort.engine.lifecycle.reasons import MISCONFIGURED, PENDING_EVALUATION
from kohort.engine.lifecycle.reconcile_context import ClusterQueueContext, LocalQueueContext, ReconcileContext
from kohort.engine.obstacles import find_obstacle
from kohort.engine.pending import PendingState
from kohort.engine.records import ClusterQueueInfo, WorkloadInfo
from kohort.engine.requests.problems import resource_problem

if TYPE_CHECKING:
    from kohort.engine.engine import Engine

NOT_LOOKED_AT = PendingReason(PENDING_EVALUATION, PENDING_MESSAGE)


def resolve_queues(engine: "Engine", local_queue: ObjectKey) -> LocalQueueContext | None:
    """The references of a LocalQueue; None if it does not exist."""
    local = engine.store.local_queues.get(local_queue)
    if local is None or not local.cluster_queue:
        return None
    return LocalQueueContext(local.cluster_queue, "Hold" if local.is_stopped else "None")


def queue_on(engine: "Engine", way: LocalQueueContext | None) -> ClusterQueueInfo | None:
    """The referenced ClusterQueue, if it exists."""
    return engine.store.queues.get(way.cluster_queue) if way is not None else None


def settled_state(engine: "Engine", workload: WorkloadInfo, thing: v1beta2.Workload) -> WorkloadPhase | None:
    """The state of a workload that is finished or holds quota; None for a pending one."""
    if is_true(thing.status.conditions, "Finished"):
        return WorkloadPhase.FINISHED
    if not workload.has_quota:
        return None
    if engine.context.is_leaving(workload):
        return WorkloadPhase.LEAVING
    return WorkloadPhase.ADMITTED if workload.is_admitted else WorkloadPhase.RESERVED


def waiting_state(
    engine: "Engine", workload: WorkloadInfo, thing: v1beta2.Workload, way: LocalQueueContext | None, now: datetime
) -> WorkloadPhase:
    """The first state that applies to a workload that is pending, or would be."""
    queue = queue_on(engine, way)
    outside = _state_outside(thing, way, queue)
    if outside is not None or queue is None:
        return outside or WorkloadPhase.NO_QUEUE
    return _state_in_queue(engine, workload, thing, queue, now)


def _state_outside(
    thing: v1beta2.Workload, way: LocalQueueContext | None, queue: ClusterQueueInfo | None
) -> WorkloadPhase | None:
    """What keeps a workload from being admitted independent of its queue's capacity."""
    if not thing.spec.active:
        return WorkloadPhase.DEACTIVATED
    if is_on_hold(thing):
        return WorkloadPhase.ON_HOLD
    if way is None or (queue is None and not way.is_stopped):
        return WorkloadPhase.NO_QUEUE
    return WorkloadPhase.STOPPED if way.is_stopped or queue is None or not queue.is_active else None


def _state_in_queue(
    engine: "Engine", workload: WorkloadInfo, thing: v1beta2.Workload, queue: ClusterQueueInfo, now: datetime
) -> WorkloadPhase:
    if admission_gate(engine, thing):
        return WorkloadPhase.GATED
    if is_true(thing.status.conditions, "WaitingForReplacementPods"):
        return WorkloadPhase.REPLACING_PODS
    if _misconfiguration(engine, workload, queue):
        return WorkloadPhase.MISCONFIGURED
    if workload.backoff_until is not None and workload.backoff_until > now:
        return WorkloadPhase.BACKING_OFF
    parked = engine.store.pending[queue.name].state_of(workload) is PendingState.INADMISSIBLE
    return WorkloadPhase.INADMISSIBLE if parked else WorkloadPhase.QUEUED


def admission_gate(engine: "Engine", thing: v1beta2.Workload) -> str:
    """The admission gates of a workload that are set by annotation (SCH-201)."""
    if not engine.settings.gates.enabled(Gate.AdmissionGatedBy):
        return ""
    return thing.metadata.annotations.get(ADMISSION_GATED_BY_ANNOTATION, "")


def obstacle_of(
    engine: "Engine", workload: WorkloadInfo, queue: ClusterQueueInfo
) -> tuple[str, str, RequeueReason] | None:
    """What keeps the workload from being nominated (SCH-311); without a namespace, only problems of its pods."""
    if workload.key.namespace or workload.object is None or workload.environment is None:
        return find_obstacle(engine.store, workload, queue)
    problem = resource_problem(workload.object, workload.environment)
    return (MISCONFIGURED, problem, RequeueReason.GENERIC) if problem else None


def _misconfiguration(engine: "Engine", workload: WorkloadInfo, queue: ClusterQueueInfo) -> str:
    obstacle = obstacle_of(engine, workload, queue)
    return obstacle[1] if obstacle is not None and obstacle[0] == MISCONFIGURED else ""


def cause_of(
    engine: "Engine", workload: WorkloadInfo, thing: v1beta2.Workload, way: LocalQueueContext | None
) -> PendingReason:
    """Why a workload that no cycle evaluates is pending, as its condition has it or will have it."""
    cause = pending_cause(thing, _facts(engine, workload, way))
    if cause is not None:
        return cause
    written = find(thing.status.conditions, QUOTA_RESERVED)
    if written is None or written.status == "True":
        return NOT_LOOKED_AT
    return PendingReason(written.reason, written.message)


def _facts(engine: "Engine", workload: WorkloadInfo, way: LocalQueueContext | None) -> ReconcileContext:
    queue = queue_on(engine, way)
    if queue is None:
        return ReconcileContext(local_queue=way, gates=engine.settings.gates)
    return ReconcileContext(
        local_queue=way,
        cluster_queue=ClusterQueueContext(is_active=queue.is_active),
        namespace_problem=_misconfiguration(engine, workload, queue),
        bypass_reason=engine.store.pending[queue.name].bypass_reason(workload),
        gates=engine.settings.gates,
    )
