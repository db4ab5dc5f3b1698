"""Pods that must be ready in time: condition, deadline and requeueing (SCH-1031 to SCH-1034)."""

from datetime import datetime, timedelta
from typing import NamedTuple

from msgspec.structs import replace

from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.v1beta2.workload import RequeueState
from kohort.api.meta import Condition
from kohort.engine.lifecycle import reasons
from kohort.engine.lifecycle.backoff import pause_seconds
from kohort.engine.lifecycle.conditions import (
    ADMITTED,
    PODS_READY,
    ConditionState,
    condition,
    condition_false,
    condition_true,
    holds,
    is_admitted,
    is_finished,
    is_leaving,
    with_condition_set,
    with_status,
)
from kohort.engine.lifecycle.deactivation import target_deactivation
from kohort.engine.lifecycle.events import WorkloadChange
from kohort.engine.lifecycle.eviction import EvictionCause, evict
from kohort.engine.lifecycle.reconcile_context import ReadinessPolicy
from kohort.engine.lifecycle.requeueing import delay_return

_NOT_STARTED = condition_false(reasons.WAIT_FOR_START, "Not all pods are ready or succeeded")
_LOST_PODS = condition_false(reasons.WAIT_FOR_RECOVERY, "At least one pod has failed, waiting for recovery")
_READY_MESSAGE = "All pods reached readiness and the workload is running"


class Deadline(NamedTuple):
    """Until when the pods must be ready, and for which cause."""

    moment: datetime
    cause: str


def report_readiness(workload: Workload, *, ready: bool, now: datetime) -> Workload:
    """Write whether all pods are ready, if status or reason change by it (SCH-1031, JOB-56)."""
    if is_finished(workload):
        return workload
    former = condition(workload, PODS_READY)
    state = _readiness(former, ready=ready) if is_admitted(workload) else _NOT_STARTED
    if former is not None and (former.status, former.reason) == (state.status, state.reason):
        return workload
    return with_condition_set(workload, PODS_READY, state, now)


def _readiness(former: Condition | None, *, ready: bool) -> ConditionState:
    reason = former.reason if former else ""
    if ready:
        recovered = reason in (reasons.WAIT_FOR_RECOVERY, reasons.RECOVERED)
        return condition_true(reasons.RECOVERED if recovered else reasons.STARTED, _READY_MESSAGE)
    was_ready = former is not None and former.status == "True"
    return _LOST_PODS if was_ready or reason == reasons.WAIT_FOR_RECOVERY else _NOT_STARTED


def readiness_deadline(workload: Workload, policy: ReadinessPolicy | None) -> Deadline | None:
    """Until when the pods must be ready; None if there is no timeout (SCH-1032, API-132)."""
    admitted = condition(workload, ADMITTED)
    if policy is None or admitted is None or admitted.status != "True" or not _is_watched(workload):
        return None
    ready = condition(workload, PODS_READY)
    if ready is None or ready.reason != reasons.WAIT_FOR_RECOVERY:
        return Deadline(admitted.last_transition_time + policy.timeout, reasons.WAIT_FOR_START)
    if not policy.recovery_timeout:
        return None
    # A failure that was written before this admission belongs to an earlier one.
    lost = max(ready.last_transition_time, admitted.last_transition_time)
    return Deadline(lost + policy.recovery_timeout, reasons.WAIT_FOR_RECOVERY)


def _is_watched(workload: Workload) -> bool:
    settled = holds(workload, PODS_READY) or is_leaving(workload) or not workload.spec.active
    return not settled and not is_variant(workload)


def is_variant(workload: Workload) -> bool:
    """Whether the Workload is a variant of a parent Workload (SCH-1110)."""
    return any(
        owner.kind == "Workload" and owner.api_version.startswith("kueue.x-k8s.io/")
        for owner in workload.metadata.owner_references
    )


def evict_on_timeout(
    workload: Workload, policy: ReadinessPolicy | None, jitter: float, now: datetime
) -> WorkloadChange:
    """Evict a Workload whose pods are not ready in time, or deactivate it after too many requeues (SCH-1033)."""
    deadline = readiness_deadline(workload, policy)
    if policy is None or deadline is None or now < deadline.moment:
        return WorkloadChange(workload)
    state = workload.status.requeue_state or RequeueState()
    count = (state.count or 0) + 1
    if policy.backoff_limit_count is not None and count > policy.backoff_limit_count:
        message = "exceeding the maximum number of re-queuing retries"
        return WorkloadChange(target_deactivation(workload, reasons.REQUEUING_LIMIT_EXCEEDED, message, now))
    counted = with_status(workload, replace(workload.status, requeue_state=replace(state, count=count)))
    delayed = delay_return(counted, now + backoff(count, policy, jitter))
    message = f"Exceeded the PodsReady timeout {workload.metadata.namespace}/{workload.metadata.name}"
    return evict(delayed, EvictionCause(reasons.PODS_READY_TIMEOUT, message, deadline.cause), now)


def backoff(count: int, policy: ReadinessPolicy, jitter: float) -> timedelta:
    """The delay before the n-th requeue (SCH-1034)."""
    base, longest = policy.backoff_base_seconds, policy.backoff_max_seconds
    return timedelta(seconds=pause_seconds(count, base, longest, jitter))
