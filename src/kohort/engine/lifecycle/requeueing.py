"""Requeueing after an eviction: backoff and conditions (SCH-1005, API-125, API-127).

Every reason that starts with Deactivated counts as a deactivation, independent of its cause: otherwise a Workload
that Kohort deactivated could never return.
"""

from datetime import datetime

from msgspec.structs import replace

from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.v1beta2.workload import RequeueState
from kohort.engine.lifecycle import reasons
from kohort.engine.lifecycle.conditions import (
    REQUEUED,
    ConditionState,
    condition,
    condition_false,
    condition_true,
    is_reserved,
    whole_second,
    with_condition_set,
    with_status,
)
from kohort.engine.lifecycle.reconcile_context import ReconcileContext

BACKOFF_REASONS = frozenset({reasons.PODS_READY_TIMEOUT, reasons.ADMISSION_CHECK})


def return_moment(workload: Workload) -> datetime | None:
    """The end of the Workload's backoff, if it has one."""
    state = workload.status.requeue_state
    return state.requeue_at if state else None


def delay_return(workload: Workload, until: datetime) -> Workload:
    """Set the end of the backoff; a later one is kept (SCH-910, SCH-1033)."""
    state = workload.status.requeue_state or RequeueState()
    until = whole_second(until)
    if state.requeue_at is not None and state.requeue_at >= until:
        return workload
    return with_status(workload, replace(workload.status, requeue_state=replace(state, requeue_at=until)))


def end_backoff(workload: Workload, now: datetime) -> Workload:
    """Clear an elapsed `requeueAt` of Workloads that are pending or evicted (API-125)."""
    state = workload.status.requeue_state
    if state is None or state.requeue_at is None or state.requeue_at > now:
        return workload
    if is_reserved(workload) and not _is_kept_out_by_backoff(workload):
        return workload
    rest = RequeueState(count=state.count) if state.count is not None else None
    return with_status(workload, replace(workload.status, requeue_state=rest))


def _is_kept_out_by_backoff(workload: Workload) -> bool:
    requeued = condition(workload, REQUEUED)
    return requeued is not None and requeued.status == "False" and requeued.reason in BACKOFF_REASONS


def requeue_when_allowed(workload: Workload, facts: ReconcileContext, now: datetime) -> Workload:
    """Requeue a Workload when the cause of its eviction no longer applies (SCH-1005)."""
    kept_out = condition(workload, REQUEUED)
    if kept_out is None or kept_out.status != "False" or not workload.spec.active:
        return workload
    state = _ending(workload, kept_out.reason, facts)
    return with_condition_set(workload, REQUEUED, state, now) if state else workload


def _ending(workload: Workload, reason: str, facts: ReconcileContext) -> ConditionState | None:
    if reason.startswith(reasons.DEACTIVATED):
        return condition_true(reasons.REACTIVATED, "The workload was reactivated")
    if reason in BACKOFF_REASONS and return_moment(workload) is None:
        return condition_true(reasons.BACKOFF_FINISHED, "The workload backoff was finished")
    if reason == reasons.INADMISSIBLE and not facts.claims_problem:
        return condition_true(reasons.BACKOFF_FINISHED, "The workload's resource claims were resolved")
    if reason == reasons.LOCAL_QUEUE_STOPPED and facts.local_queue and not facts.local_queue.is_stopped:
        return condition_true(reasons.LOCAL_QUEUE_RESTARTED, "The LocalQueue was restarted after being stopped")
    if reason == reasons.CLUSTER_QUEUE_STOPPED and facts.cluster_queue and not facts.cluster_queue.is_stopped:
        return condition_true(reasons.CLUSTER_QUEUE_RESTARTED, "The ClusterQueue was restarted after being stopped")
    return None


def block_uncountable_claims(workload: Workload, facts: ReconcileContext, now: datetime) -> Workload:
    """Keep a pending Workload out of the queue while its resource claims can't be counted (API-124)."""
    if not facts.claims_problem or is_reserved(workload) or not workload.spec.active:
        return workload
    return with_condition_set(workload, REQUEUED, condition_false(reasons.INADMISSIBLE, facts.claims_problem), now)
