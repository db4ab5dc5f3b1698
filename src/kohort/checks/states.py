"""Check states in the status of a Workload; pure functions (MK-5, MK-6, MK-14 to MK-16)."""

from collections.abc import Mapping
from datetime import datetime

from msgspec.structs import replace

from kohort.api.conditions import truncate_message
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.v1beta2.workload import AdmissionCheckState
from kohort.checks.contract import CheckResult, CheckState
from kohort.engine.lifecycle.conditions import is_evicted, is_finished, is_reserved, whole_second, with_status
from kohort.engine.lifecycle.events import WorkloadEvent, normal


def may_be_checked(workload: Workload) -> bool:
    """Whether checks may be evaluated and written: with quota, neither evicted nor finished (MK-16)."""
    return is_reserved(workload) and not is_evicted(workload) and not is_finished(workload)


def is_over(workload: Workload) -> bool:
    """Whether the Workload has ended, or lost its admission (MK-29)."""
    return is_finished(workload) or is_evicted(workload)


def with_results(workload: Workload, results: Mapping[str, CheckResult], now: datetime) -> Workload:
    """The Workload with the results of some checks, by name; the same object if nothing changes."""
    entries = tuple(
        _updated(each, results[each.name], now) if each.name in results else each
        for each in workload.status.admission_checks
    )
    return with_status(workload, replace(workload.status, admission_checks=entries))


def _updated(entry: AdmissionCheckState, result: CheckResult, now: datetime) -> AdmissionCheckState:
    """The transition time moves with the state; pod set updates of a check that stays Ready stay too (MK-14, MK-15)."""
    is_same = entry.state == result.state.value
    stays_ready = is_same and result.state is CheckState.READY
    delay = result.requeue_after
    return replace(
        entry,
        state=result.state.value,
        last_transition_time=entry.last_transition_time if is_same else whole_second(now),
        message=truncate_message(result.message),
        requeue_after_seconds=None if delay is None else max(int(delay.total_seconds()), 0),
        pod_set_updates=entry.pod_set_updates if stays_ready else result.pod_set_updates,
    )


def transitions(before: Workload, after: Workload) -> list[WorkloadEvent]:
    """An event for each changed state (MK-30)."""
    old = {each.name: each.state for each in before.status.admission_checks}
    return [
        normal("AdmissionCheckUpdated", _transition(each, old[each.name]))
        for each in after.status.admission_checks
        if old.get(each.name, each.state) != each.state
    ]


def _transition(entry: AdmissionCheckState, before: str) -> str:
    text = f"Admission check {entry.name} updated state from {before} to {entry.state}"
    return f"{text} with message {entry.message}" if entry.message else text
