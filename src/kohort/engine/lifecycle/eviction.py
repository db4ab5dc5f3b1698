"""Evicting a Workload, and releasing its quota once the job has stopped (SCH-1001 to SCH-1003, API-94).

They are separate steps: until its pods have stopped, an evicted Workload keeps its quota.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from msgspec.structs import replace

from kohort.api.gates import FeatureGates, Gate
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.v1beta2.workload import AdmissionCheckState, EvictionCount, SchedulingStats, WorkloadStatus
from kohort.engine.lifecycle import reasons
from kohort.engine.lifecycle.admission import drop_reservation
from kohort.engine.lifecycle.conditions import (
    BLOCKED_ON_PREEMPTION_GATES,
    EVICTED,
    REQUEUED,
    ConditionState,
    condition,
    condition_true,
    is_evicted,
    is_finished,
    is_reserved,
    whole_second,
    with_condition_set,
    with_status,
    withdraw,
)
from kohort.engine.lifecycle.events import WorkloadChange, normal
from kohort.engine.lifecycle.preemption_gates import closed

RETURNS_AT_ONCE = frozenset({reasons.PREEMPTED, reasons.NODE_FAILURES, reasons.FLAVOR_MIGRATION})
"""Evictions without backoff: the Workload may be admitted again immediately (SCH-1003)."""


@dataclass(frozen=True, slots=True)
class EvictionCause:
    """Why a Workload is evicted."""

    reason: str
    message: str
    cause: str = ""
    """The underlying cause, if there is one; counted separately (API-94)."""

    @property
    def full_reason(self) -> str:
        """The reason in the condition and in the event; a deactivation names its cause there (SCH-1002)."""
        if self.reason == reasons.DEACTIVATED and self.cause:
            return f"{self.reason}DueTo{self.cause}"
        return self.reason


def without_replacement(nodes: Iterable[str]) -> EvictionCause:
    """The cause for a Workload whose failed nodes can't be replaced (SCH-332)."""
    listed = ",".join(nodes)
    message = f"Workload was evicted as there was no replacement for unhealthy node(s): {listed}"
    return EvictionCause(reasons.NODE_FAILURES, message)


def for_better_flavor(successor: str) -> EvictionCause:
    """The cause for a variant in a worse flavor than the one that the variant with this UID can use (SCH-1113)."""
    why = "due to migration to more favorable resource flavor"
    return EvictionCause(reasons.FLAVOR_MIGRATION, f"Evicted to accommodate a workload (UID: {successor}) {why}")


def evict(workload: Workload, eviction: EvictionCause, now: datetime) -> WorkloadChange:
    """Begin an eviction; an earlier one is unchanged (SCH-1001, API-94, API-105)."""
    if is_finished(workload) or is_evicted(workload):
        return WorkloadChange(workload)
    reason = eviction.full_reason
    evicted = with_condition_set(workload, EVICTED, condition_true(reason, eviction.message), now)
    evicted = withdraw(evicted, BLOCKED_ON_PREEMPTION_GATES, reason, now)
    evicted = with_status(evicted, _cleared(evicted, eviction, now))
    if workload.status.admission is None:
        return WorkloadChange(evicted)
    return WorkloadChange(evicted, (normal(f"EvictedDueTo{reason}", eviction.message),))


def _cleared(workload: Workload, eviction: EvictionCause, now: datetime) -> WorkloadStatus:
    status = workload.status
    return replace(
        status,
        cluster_name=None,
        nominated_cluster_names=(),
        unhealthy_nodes=(),
        admission_checks=tuple(_reset(check, now) for check in status.admission_checks),
        preemption_gates=closed(status.preemption_gates, now),
        scheduling_stats=_counted(status.scheduling_stats, eviction),
    )


def _reset(check: AdmissionCheckState, now: datetime) -> AdmissionCheckState:
    """SCH-912."""
    if check.state == "Pending":
        return check
    return replace(
        check,
        state="Pending",
        message=f"Reset to Pending after eviction. Previously: {check.state}",
        last_transition_time=whole_second(now),
        retry_count=(check.retry_count or 0) + 1 if check.state == "Retry" else None,
        pod_set_updates=(),
    )


def _counted(stats: SchedulingStats | None, eviction: EvictionCause) -> SchedulingStats:
    counts = {(each.reason, each.underlying_cause): each.count for each in stats.evictions} if stats else {}
    key = (eviction.reason, eviction.cause)
    counts[key] = counts.get(key, 0) + 1
    return SchedulingStats(
        evictions=tuple(
            EvictionCount(reason=reason, underlying_cause=cause, count=count)
            for (reason, cause), count in counts.items()
        )
    )


def release(workload: Workload, gates: FeatureGates, now: datetime) -> Workload:
    """Release the quota of an evicted Workload whose job has no active pods (SCH-1003, SCH-914)."""
    evicted = condition(workload, EVICTED)
    if evicted is None or not is_evicted(workload) or not is_reserved(workload) or is_finished(workload):
        return workload
    returns = evicted.reason in RETURNS_AT_ONCE and not is_bound_to_pod(workload, gates)
    requeued = ConditionState("True" if returns else "False", evicted.reason, evicted.message)
    workload = with_condition_set(workload, REQUEUED, requeued, now)
    reason = reasons.controller_reason(reasons.PENDING_EVALUATION, gates)
    return drop_reservation(workload, reason, evicted.message, gates, now)


def is_bound_to_pod(workload: Workload, gates: FeatureGates) -> bool:
    """Whether the Workload belongs to a single Pod: it can't be reassigned, and ends with its Pod (TAS-111)."""
    if not gates.enabled(Gate.SkipReassignmentForPodOwnedWorkloads):
        return False
    return [(owner.api_version, owner.kind) for owner in workload.metadata.owner_references] == [("v1", "Pod")]
