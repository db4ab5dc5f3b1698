"""Reserving quota, becoming admitted, and losing the reservation (SCH-901 to SCH-906, API-84 to API-88).

Admitted becomes True when reservation and checks allow it. It becomes False only with the reservation: a check that is
added to a queue later, or reset by an eviction, does not stop a running job (MK-7).
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from msgspec.structs import replace

from kohort.api.gates import FeatureGates, Gate
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.v1beta2.workload import Admission, PodSetAssignment, PodSetRequest
from kohort.engine.lifecycle import reasons
from kohort.engine.lifecycle.conditions import (
    ADMITTED,
    BLOCKED_ON_PREEMPTION_GATES,
    EVICTED,
    PREEMPTED,
    QUOTA_RESERVED,
    REQUEUED,
    ConditionState,
    condition,
    condition_false,
    condition_true,
    is_admitted,
    is_finished,
    is_reserved,
    with_condition_set,
    with_status,
    withdraw,
)
from kohort.engine.lifecycle.events import WorkloadChange, WorkloadEvent, normal, warning


@dataclass(frozen=True, slots=True)
class Reservation:
    """What the scheduler decided for a Workload that fits."""

    admission: Admission
    required_checks: frozenset[str]
    """Admission checks that the assigned flavors require (SCH-904)."""
    flavors_considered: str = ""
    """Flavors that were tried and not used as they are, as text (SCH-354)."""


@dataclass(frozen=True, slots=True)
class NotAdmitted:
    """What the scheduler decided for a Workload that stays pending."""

    reason: str
    message: str
    requests: tuple[PodSetRequest, ...] = ()
    """Requests per pod set."""


def reserve(workload: Workload, reservation: Reservation, gates: FeatureGates, now: datetime) -> WorkloadChange:
    """Reserve quota, and admit the Workload if nothing else is required (SCH-351, API-85, API-86)."""
    if is_finished(workload):
        return WorkloadChange(workload)
    reserved = _with_reservation(workload, reservation.admission, now)
    listed = {check.name for check in workload.status.admission_checks}
    if reservation.required_checks <= listed and not is_admitted(workload):
        reserved = sync_admitted(reserved, gates, now)
    events = (*_reservation_events(workload, reservation, now), *_admission_events(workload, reserved, now))
    return WorkloadChange(reserved, events)


def _with_reservation(workload: Workload, admission: Admission, now: datetime) -> Workload:
    """SCH-901; a second pass that replaced failed nodes removes them (TAS-110)."""
    message = f"Quota reserved in ClusterQueue {admission.cluster_queue}"
    for type_ in (EVICTED, PREEMPTED, BLOCKED_ON_PREEMPTION_GATES):
        workload = withdraw(workload, type_, reasons.QUOTA_RESERVED, now)
    workload = with_condition_set(workload, QUOTA_RESERVED, condition_true(reasons.QUOTA_RESERVED, message), now)
    return with_status(
        workload, replace(workload.status, admission=admission, resource_requests=(), unhealthy_nodes=())
    )


def _reservation_events(before: Workload, reservation: Reservation, now: datetime) -> tuple[WorkloadEvent, ...]:
    if is_reserved(before):
        return ()
    waited = _seconds(now - queued_since(before, now))
    tail = f"; Flavors considered: {reservation.flavors_considered}" if reservation.flavors_considered else ""
    queue = reservation.admission.cluster_queue
    return (
        normal("QuotaReserved", f"Quota reserved in ClusterQueue {queue}, wait time since queued was {waited}{tail}"),
    )


def _admission_events(before: Workload, after: Workload, now: datetime) -> tuple[WorkloadEvent, ...]:
    reserved = condition(after, QUOTA_RESERVED)
    if is_admitted(before) or not is_admitted(after) or reserved is None:
        return ()
    queue = after.status.admission.cluster_queue if after.status.admission else ""
    # A reservation of this moment is stored in whole seconds and must not count as a wait.
    waited = now - reserved.last_transition_time if is_reserved(before) else timedelta()
    return (
        normal("Admitted", f"Admitted by ClusterQueue {queue}, wait time since reservation was {_seconds(waited)}"),
    )


def queued_since(workload: Workload, now: datetime) -> datetime:
    """Since when the Workload is queued: its last requeue, else its creation (SCH-353)."""
    requeued = condition(workload, REQUEUED)
    if requeued is not None:
        return requeued.last_transition_time
    return workload.metadata.creation_timestamp or now


def _seconds(span: timedelta) -> str:
    return f"{max(span.total_seconds(), 0):.0f}s"


def admit(workload: Workload, gates: FeatureGates, now: datetime) -> WorkloadChange:
    """Set Admitted on a Workload whose reservation and checks allow it, with its events (SCH-902, SCH-906)."""
    if is_admitted(workload):
        return WorkloadChange(workload)
    synced = sync_admitted(workload, gates, now)
    return WorkloadChange(synced, _admission_events(workload, synced, now))


def sync_admitted(workload: Workload, gates: FeatureGates, now: datetime) -> Workload:
    """Set Admitted from the reservation, the checks and the delayed topology requests (SCH-902, SCH-903, API-84)."""
    missing = _what_is_missing(workload, gates)
    if missing is None:
        if is_admitted(workload):
            return workload
        return with_condition_set(workload, ADMITTED, condition_true(reasons.ADMITTED, "The workload is admitted"), now)
    if not _has_pending_reason(workload, gates):
        return workload
    return with_condition_set(_with_execution_time(workload, now), ADMITTED, missing, now)


def _what_is_missing(workload: Workload, gates: FeatureGates) -> ConditionState | None:
    checks_are_ready = all(check.state == "Ready" for check in workload.status.admission_checks)
    fine = reasons.has_detailed_reasons(gates)
    if not is_reserved(workload):
        all_is_missing = not fine and not checks_are_ready
        reason = reasons.LEGACY_NO_RESERVATION_UNSATISFIED_CHECKS if all_is_missing else reasons.NO_RESERVATION
        return condition_false(reason, "The workload has no reservation")
    if not checks_are_ready:
        reason = reasons.UNSATISFIED_ADMISSION_CHECKS if fine else reasons.LEGACY_UNSATISFIED_CHECKS
        return condition_false(reason, "The workload has not all checks ready")
    if workload.status.admission and any(map(_waits_for_topology, workload.status.admission.pod_set_assignments)):
        return condition_false(reasons.PENDING_DELAYED_TOPOLOGY_REQUESTS, "There are pending delayed topology requests")
    return None


def _waits_for_topology(assignment: PodSetAssignment) -> bool:
    return assignment.delayed_topology_request == "Pending" and assignment.topology_assignment is None


def _has_pending_reason(workload: Workload, gates: FeatureGates) -> bool:
    """A new Workload has no conditions unless the gates require them (API-88)."""
    if not reasons.has_detailed_reasons(gates):
        return is_admitted(workload)
    known = condition(workload, QUOTA_RESERVED) or condition(workload, ADMITTED)
    return known is not None or gates.enabled(Gate.UnadmittedWorkloadsExplicitStatus)


def _with_execution_time(workload: Workload, now: datetime) -> Workload:
    """Add the duration of the ending admission to that of earlier ones (SCH-903)."""
    admitted = condition(workload, ADMITTED)
    if admitted is None or admitted.status != "True":
        return workload
    ran = max(int((now - admitted.last_transition_time).total_seconds()), 0)
    total = (workload.status.accumulated_past_execution_time_seconds or 0) + ran
    return with_status(workload, replace(workload.status, accumulated_past_execution_time_seconds=total))


def drop_reservation(workload: Workload, reason: str, message: str, gates: FeatureGates, now: datetime) -> Workload:
    """Remove the reservation, or set why there is none, and adjust Admitted (API-87)."""
    workload = with_condition_set(workload, QUOTA_RESERVED, condition_false(reason, message), now)
    workload = with_status(workload, replace(workload.status, admission=None))
    return sync_admitted(workload, gates, now)


def refuse(workload: Workload, refusal: NotAdmitted, gates: FeatureGates, now: datetime) -> WorkloadChange:
    """Set the reason why the Workload was not admitted; an unchanged reason is not written again (SCH-360)."""
    if is_finished(workload):
        return WorkloadChange(workload)
    reason = reasons.scheduler_reason(refusal.reason, gates)
    refused = drop_reservation(workload, reason, refusal.message, gates, now)
    refused = with_status(refused, replace(refused.status, resource_requests=refusal.requests))
    if refused is workload:
        return WorkloadChange(workload)
    return WorkloadChange(refused, (warning(reason, refusal.message),))
