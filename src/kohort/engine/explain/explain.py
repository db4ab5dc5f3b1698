"""Explains the state of a workload, submitted or not, without changing decisions of the engine.

Only stale sums of quotas and orders of queues are updated first, which changes no decision.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Final

from msgspec import structs

from kohort.api.kueue import v1beta2
from kohort.api.kueue.v1beta2.workload import PodSet, WorkloadSpec
from kohort.api.meta import ObjectKey
from kohort.engine import record_builders
from kohort.engine.explain.evaluation import evaluate, evaluate_second_pass
from kohort.engine.explain.model import Evaluation, Explanation, HeldQuota, PositionInQueue, WorkloadPhase
from kohort.engine.explain.state import NOT_LOOKED_AT, cause_of, queue_on, resolve_queues, settled_state, waiting_state
from kohort.engine.lifecycle import reasons
from kohort.engine.lifecycle.pending_reason import PendingReason
from kohort.engine.lifecycle.reconcile_context import LocalQueueContext
from kohort.engine.records import NO_END, ClusterQueueInfo, PodSetDevices, WorkloadInfo

if TYPE_CHECKING:
    from kohort.engine.engine import Engine

NAMED_AHEAD: Final = 3
"""How many of the workloads ahead are listed by name."""
EVALUATED: Final = frozenset(
    {WorkloadPhase.QUEUED, WorkloadPhase.INADMISSIBLE, WorkloadPhase.BACKING_OFF, WorkloadPhase.MISCONFIGURED}
)
"""States in which a cycle would evaluate the workload."""


def explain(engine: "Engine", key: ObjectKey, now: datetime) -> Explanation:
    """Explain why the workload is in its state."""
    workload = engine.store.workloads.get(key)
    if workload is None or workload.object is None:
        return Explanation(key, WorkloadPhase.UNKNOWN, ObjectKey(key.namespace, ""))
    settled = settled_state(engine, workload, workload.object)
    if settled is not None:
        return _settled(engine, workload, settled)
    return _waiting(engine, workload, workload.object, resolve_queues(engine, workload.local_queue), now)


def would_fit(
    engine: "Engine",
    asked: v1beta2.Workload | Sequence[PodSet],
    queue: ObjectKey | str,
    now: datetime,
    devices: tuple[PodSetDevices, ...] = (),
) -> Explanation:
    """Explain what would happen if a workload, or pod sets, were submitted to a LocalQueue or ClusterQueue by name.

    `devices` are the device claims of its pods (SCH-132). Without a namespace, namespace selectors
    are ignored.
    """
    thing = _as_submitted(asked, queue, now)
    workload = WorkloadInfo(ObjectKey(thing.metadata.namespace, thing.metadata.name), thing.metadata.uid)
    workload.local_queue = ObjectKey(thing.metadata.namespace, thing.spec.queue_name or "")
    workload.devices = devices
    engine.workload_tracker.describe(workload, thing, record_builders.conditions_of(thing))
    way = LocalQueueContext(queue) if isinstance(queue, str) else resolve_queues(engine, queue)
    return replace(_waiting(engine, workload, thing, way, now), state=WorkloadPhase.NOT_SUBMITTED)


def _as_submitted(
    asked: v1beta2.Workload | Sequence[PodSet], queue: ObjectKey | str, now: datetime
) -> v1beta2.Workload:
    """The workload as the API server would store it, in the given queue."""
    thing = asked if isinstance(asked, v1beta2.Workload) else v1beta2.Workload(spec=WorkloadSpec(pod_sets=tuple(asked)))
    metadata, spec = thing.metadata, thing.spec
    if isinstance(queue, ObjectKey):
        metadata = structs.replace(metadata, namespace=queue.namespace)
        spec = structs.replace(spec, queue_name=queue.name)
    metadata = structs.replace(metadata, creation_timestamp=metadata.creation_timestamp or now)
    return structs.replace(thing, metadata=metadata, spec=spec)


def _settled(engine: "Engine", workload: WorkloadInfo, state: WorkloadPhase) -> Explanation:
    queue = workload.queue
    looks_for_places = workload.second_pass is not None and state is not WorkloadPhase.LEAVING
    return Explanation(
        workload.key,
        state,
        workload.local_queue,
        workload.queue.name if workload.queue is not None else "",
        workload.priority,
        holds=tuple(HeldQuota(fr, amount) for fr, amount in sorted(workload.usage.items())),
        evaluation=evaluate_second_pass(engine, workload, queue) if looks_for_places and queue is not None else None,
    )


def _waiting(
    engine: "Engine", workload: WorkloadInfo, thing: v1beta2.Workload, way: LocalQueueContext | None, now: datetime
) -> Explanation:
    engine.store.hierarchy.refresh()
    state = waiting_state(engine, workload, thing, way, now)
    queue = queue_on(engine, way)
    evaluation = evaluate(engine, workload, queue, now) if queue is not None and state in EVALUATED else None
    cause = cause_of(engine, workload, thing, way) if evaluation is None else _cause(engine, evaluation)
    return Explanation(
        workload.key,
        state,
        workload.local_queue,
        way.cluster_queue if way is not None else "",
        workload.priority,
        cause.reason,
        cause.message,
        until=workload.backoff_until
        if state is WorkloadPhase.BACKING_OFF and workload.backoff_until != NO_END
        else None,
        standing=_standing(engine, workload, queue) if queue is not None and evaluation is not None else None,
        evaluation=evaluation,
    )


def _cause(engine: "Engine", evaluation: Evaluation) -> PendingReason:
    """The reason of the condition after a run; a workload that fits is pending until then."""
    if evaluation.is_admitted:
        return NOT_LOOKED_AT
    return PendingReason(reasons.scheduler_reason(evaluation.reason, engine.settings.gates), evaluation.message)


def _standing(engine: "Engine", workload: WorkloadInfo, queue: ClusterQueueInfo) -> PositionInQueue:
    """Its position, or the one it would have if it were submitted now (SCH-212, SCH-213)."""
    pending = engine.store.pending[queue.name]
    position = pending.position_of(workload)
    first = pending.first(min(position.in_cluster_queue, NAMED_AHEAD))
    return PositionInQueue(
        position.in_cluster_queue,
        position.in_local_queue,
        tuple(each.key for each in first),
        queue.policies.is_strict,
    )
