"""Admission checks of a Workload: required checks, their states and consequences (SCH-904 to SCH-913).

A Retry evicts at once and delays requeueing (SCH-910), so that no quota is held until the retry.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Literal

from msgspec.structs import replace

from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.v1beta2.queues import AdmissionCheckRule
from kohort.api.kueue.v1beta2.workload import Admission, AdmissionCheckState
from kohort.engine.lifecycle import reasons
from kohort.engine.lifecycle.conditions import is_leaving, is_reserved, whole_second, with_status
from kohort.engine.lifecycle.deactivation import target_deactivation
from kohort.engine.lifecycle.events import WorkloadChange, warning
from kohort.engine.lifecycle.eviction import EvictionCause, evict
from kohort.engine.lifecycle.requeueing import delay_return

CheckAnswer = Literal["Pending", "Ready", "Retry", "Rejected"]


def required_checks(
    rules: Iterable[AdmissionCheckRule], flavors: Iterable[str], admission: Admission | None
) -> frozenset[str]:
    """The checks that a Workload needs: those of its flavors, or of all flavors before it has some (SCH-904)."""
    everywhere = frozenset(flavors)
    covered = {rule.name: frozenset(rule.on_flavors) or everywhere for rule in rules}
    if admission is None:
        return frozenset(name for name, covers in covered.items() if covers >= everywhere)
    assigned = {flavor for part in admission.pod_set_assignments for flavor in part.flavors.values()}
    return frozenset(name for name, covers in covered.items() if covers & assigned)


def sync_checks(workload: Workload, required: frozenset[str], now: datetime) -> Workload:
    """List exactly the required checks, new ones as Pending, by name (SCH-905, API-129)."""
    known = {check.name: check for check in workload.status.admission_checks}
    checks = tuple(known.get(name) or _pending(name, now) for name in sorted(required))
    return with_status(workload, replace(workload.status, admission_checks=checks))


def _pending(name: str, now: datetime) -> AdmissionCheckState:
    return AdmissionCheckState(name=name, state="Pending", message="", last_transition_time=whole_second(now))


def postpone_by_checks(workload: Workload, now: datetime) -> Workload:
    """Delay requeueing of an active Workload until its checks in Retry permit it (SCH-910, API-123, API-126)."""
    if not workload.spec.active:
        return workload
    moments = [
        check.last_transition_time + timedelta(seconds=check.requeue_after_seconds)
        for check in _in_state(workload, "Retry")
        if check.requeue_after_seconds is not None
    ]
    latest = max(moments, default=now)
    return delay_return(workload, latest) if latest > now else workload


def act_on_checks(workload: Workload, now: datetime) -> WorkloadChange:
    """Deactivate a Workload with a rejected check, evict one with a check in Retry (SCH-910, SCH-911)."""
    if not is_reserved(workload) or is_leaving(workload):
        return WorkloadChange(workload)
    if rejected := _in_state(workload, "Rejected"):
        return _give_up(workload, _summary(rejected), now)
    if retried := _in_state(workload, "Retry"):
        message = f"Evicted due to {_summary(retried)}"
        return evict(workload, EvictionCause(reasons.ADMISSION_CHECK, message), now)
    return WorkloadChange(workload)


def _give_up(workload: Workload, summary: str, now: datetime) -> WorkloadChange:
    targeted = target_deactivation(workload, reasons.ADMISSION_CHECK, summary, now)
    return WorkloadChange(targeted, (warning("AdmissionCheckRejected", f"Deactivated due to {summary}"),))


def _in_state(workload: Workload, state: CheckAnswer) -> list[AdmissionCheckState]:
    return [check for check in workload.status.admission_checks if check.state == state]


def _summary(checks: Sequence[AdmissionCheckState]) -> str:
    noun = "AdmissionCheck" if len(checks) == 1 else "AdmissionChecks"
    return f"{noun} in {checks[0].state} state: " + "; ".join(
        f'"{check.name}" ({check.message})' if check.message else f'"{check.name}"'
        for check in sorted(checks, key=lambda check: check.name)
    )
