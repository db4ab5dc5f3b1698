"""Why a Workload without a reservation is pending, as set between two evaluations (SCH-363, API-130).

The first cause that applies counts; the scheduler's reason stays until another cause applies.
"""

from datetime import datetime
from typing import NamedTuple

from kohort.api.gates import Gate
from kohort.api.kueue.keys import ADMISSION_GATED_BY_ANNOTATION
from kohort.api.kueue.v1beta2 import Workload
from kohort.engine.lifecycle import reasons
from kohort.engine.lifecycle.admission import drop_reservation
from kohort.engine.lifecycle.conditions import QUOTA_RESERVED, condition, is_on_hold, is_reserved
from kohort.engine.lifecycle.events import WorkloadChange, WorkloadEvent, normal
from kohort.engine.lifecycle.reconcile_context import ReconcileContext
from kohort.engine.lifecycle.stopping import cluster_queue_name

GATED = "Admission is gated by: "
PENDING_MESSAGE = "Workload is pending evaluation in the scheduling queue"
BYPASSED_MESSAGE = "Bypassed scheduling evaluation because an equivalent workload recently failed"

BYPASSED_FROM = frozenset({reasons.PENDING_EVALUATION, reasons.SUSPENDED, reasons.DEACTIVATED, reasons.PENDING})
"""Reasons that an equivalent Workload's failure may replace (SCH-253)."""


class PendingReason(NamedTuple):
    """Why a Workload is pending."""

    reason: str
    message: str


def update_pending_reason(workload: Workload, facts: ReconcileContext, now: datetime) -> WorkloadChange:
    """Set why a Workload without a reservation is pending (SCH-363), with events of admission gates (API-128)."""
    cause = None if is_reserved(workload) else pending_cause(workload, facts)
    if cause is None:
        return WorkloadChange(workload)
    explained = drop_reservation(workload, cause.reason, cause.message, facts.gates, now)
    return WorkloadChange(explained, _gate_events(workload, cause))


def pending_cause(workload: Workload, facts: ReconcileContext) -> PendingReason | None:
    """The first pending reason that applies; None if the present one is kept."""
    fine = reasons.has_detailed_reasons(facts.gates)
    if not workload.spec.active:
        return PendingReason(reasons.DEACTIVATED, "The workload is deactivated") if fine else None
    if is_on_hold(workload):
        return None
    cause = _queue_cause(workload, facts) or _claims_cause(facts) or (_namespace_cause(facts) if fine else None)
    if cause is not None:
        return PendingReason(reasons.controller_reason(cause.reason, facts.gates), cause.message)
    if gate := _admission_gate(workload, facts):
        return PendingReason(reasons.ADMISSION_GATED, GATED + gate)
    return _evaluation_cause(workload, facts) if fine else _gate_was_cleared(workload)


def _queue_cause(workload: Workload, facts: ReconcileContext) -> PendingReason | None:
    local, cluster = facts.local_queue, facts.cluster_queue
    local_name, cluster_name = workload.spec.queue_name or "", cluster_queue_name(workload, facts)
    if local is None or local.is_terminating:
        return PendingReason(reasons.MISCONFIGURED, f"LocalQueue {local_name} doesn't exist")
    if local.is_stopped:
        return PendingReason(reasons.SUSPENDED, f"LocalQueue {local_name} is inactive")
    if cluster is None:
        return PendingReason(reasons.MISCONFIGURED, f"ClusterQueue {cluster_name} doesn't exist")
    if not cluster.admits:
        return PendingReason(reasons.SUSPENDED, f"ClusterQueue {cluster_name} is inactive")
    return None


def _claims_cause(facts: ReconcileContext) -> PendingReason | None:
    return PendingReason(reasons.MISCONFIGURED, facts.claims_problem) if facts.claims_problem else None


def _namespace_cause(facts: ReconcileContext) -> PendingReason | None:
    return PendingReason(reasons.MISCONFIGURED, facts.namespace_problem) if facts.namespace_problem else None


def _admission_gate(workload: Workload, facts: ReconcileContext) -> str:
    if not facts.gates.enabled(Gate.AdmissionGatedBy):
        return ""
    return workload.metadata.annotations.get(ADMISSION_GATED_BY_ANNOTATION, "")


def _evaluation_cause(workload: Workload, facts: ReconcileContext) -> PendingReason | None:
    """The reason if only the scheduler keeps the Workload pending."""
    written = condition(workload, QUOTA_RESERVED)
    if written is None and not facts.gates.enabled(Gate.UnadmittedWorkloadsExplicitStatus):
        return None
    if _is_bypassed(facts) and (written is None or written.reason in BYPASSED_FROM):
        return PendingReason(facts.bypass_reason, BYPASSED_MESSAGE)
    if written is not None and written.reason in reasons.SET_BY_SCHEDULER:
        return None
    return PendingReason(reasons.PENDING_EVALUATION, PENDING_MESSAGE)


def _is_bypassed(facts: ReconcileContext) -> bool:
    return bool(facts.bypass_reason) and facts.gates.enabled(Gate.SchedulingEquivalenceHashing)


def _gate_was_cleared(workload: Workload) -> PendingReason | None:
    return PendingReason(reasons.PENDING, PENDING_MESSAGE) if _is_gated(workload) else None


def _is_gated(workload: Workload) -> bool:
    """Whether an admission gate was written; the scheduler uses the same reason for preemption gates."""
    written = condition(workload, QUOTA_RESERVED)
    return written is not None and written.reason == reasons.ADMISSION_GATED and written.message.startswith(GATED)


def _gate_events(before: Workload, cause: PendingReason) -> tuple[WorkloadEvent, ...]:
    """An event when a gate is first observed, and one when it is removed (API-128)."""
    gated = cause.reason == reasons.ADMISSION_GATED
    if gated and not _is_gated(before):
        return (normal(reasons.ADMISSION_GATED, cause.message),)
    if not gated and _is_gated(before) and cause.reason in (reasons.PENDING_EVALUATION, reasons.PENDING):
        return (normal("AdmissionGateCleared", "Admission is no longer gated"),)
    return ()
