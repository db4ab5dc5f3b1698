"""The maximum execution time of a Workload, summed over its admissions: a Workload that exceeds it is deactivated."""

from datetime import datetime, timedelta

from msgspec.structs import replace

from kohort.api.kueue.v1beta2 import Workload
from kohort.engine.lifecycle import reasons
from kohort.engine.lifecycle.conditions import ADMITTED, condition, is_leaving, with_status
from kohort.engine.lifecycle.deactivation import target_deactivation
from kohort.engine.lifecycle.events import WorkloadChange, warning


def execution_deadline(workload: Workload) -> datetime | None:
    """When the Workload exceeds its maximum execution time; None without a limit or if it does not run (API-133)."""
    limit = workload.spec.maximum_execution_time_seconds
    admitted = condition(workload, ADMITTED)
    if limit is None or admitted is None or admitted.status != "True":
        return None
    # Not applied again while the job is stopped: the first decision is final (docs/spec/api.md, section 9.9).
    if not workload.spec.active or is_leaving(workload):
        return None
    used = workload.status.accumulated_past_execution_time_seconds or 0
    return admitted.last_transition_time + timedelta(seconds=limit - used)


def limit_execution(workload: Workload, now: datetime) -> WorkloadChange:
    """Deactivate a Workload that exceeded its maximum execution time (SCH-1041)."""
    deadline = execution_deadline(workload)
    if deadline is None or now < deadline:
        return WorkloadChange(workload)
    reason = reasons.MAXIMUM_EXECUTION_TIME_EXCEEDED
    targeted = target_deactivation(workload, reason, "exceeding the maximum execution time", now)
    targeted = with_status(targeted, replace(targeted.status, accumulated_past_execution_time_seconds=None))
    note = f"The maximum execution time ({workload.spec.maximum_execution_time_seconds}s) exceeded"
    return WorkloadChange(targeted, (warning(reason, note),))
