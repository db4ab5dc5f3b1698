"""Giving a Workload up: first the intent, then `spec.active`, then the eviction (SCH-1040, SCH-1041).

Intent and spec are different writes to the API, so the intent is a condition of its own: a crash in between loses
nothing.
"""

from datetime import datetime, timedelta

from msgspec.structs import replace

from kohort.api.kueue.v1beta2 import Workload
from kohort.engine.lifecycle import reasons
from kohort.engine.lifecycle.events import Change, warning
from kohort.engine.lifecycle.eviction import Eviction, evict
from kohort.engine.lifecycle.states import (
    ADMITTED,
    DEACTIVATION_TARGET,
    condition,
    holds,
    is_finished,
    is_leaving,
    mark,
    put,
    true,
    without_condition,
)


def target_deactivation(workload: Workload, reason: str, message: str, now: datetime) -> Workload:
    """Ask for the Workload's deactivation; an earlier request stands (SCH-1040)."""
    if not workload.spec.active or holds(workload, DEACTIVATION_TARGET) or is_finished(workload):
        return workload
    return mark(workload, DEACTIVATION_TARGET, true(reason, message), now)


def deactivate(workload: Workload) -> Workload:
    """Turn the Workload off that is to be deactivated (SCH-1040, API-125)."""
    return turned(workload, active=False) if holds(workload, DEACTIVATION_TARGET) else workload


def turned(workload: Workload, *, active: bool) -> Workload:
    """The Workload on or off; the same object where it is so already."""
    if workload.spec.active is active:
        return workload
    # The API server counts each change of a spec (API-4); what follows speaks of the new generation.
    metadata = replace(workload.metadata, generation=workload.metadata.generation + 1)
    return replace(workload, metadata=metadata, spec=replace(workload.spec, active=active))


def evict_inactive(workload: Workload, now: datetime) -> Change:
    """Evict a Workload that was turned off, and drop what asked for it and what it returned by (API-126)."""
    if workload.spec.active:
        return Change(workload)
    change = evict(workload, _deactivation(workload), now)
    cleared = without_condition(change.workload, DEACTIVATION_TARGET)
    return Change(put(cleared, replace(cleared.status, requeue_state=None)), change.events)


def _deactivation(workload: Workload) -> Eviction:
    target = condition(workload, DEACTIVATION_TARGET)
    if target is None:
        return Eviction(reasons.DEACTIVATED, "The workload is deactivated")
    return Eviction(reasons.DEACTIVATED, f"The workload is deactivated due to {target.message}", target.reason)


def execution_deadline(workload: Workload) -> datetime | None:
    """When the Workload will have used its execution time up; None while that clock stands (API-133)."""
    limit = workload.spec.maximum_execution_time_seconds
    admitted = condition(workload, ADMITTED)
    if limit is None or admitted is None or admitted.status != "True":
        return None
    # A job that is being stopped is not charged again: the first decision stands (docs/spec/api.md, section 9.9).
    if not workload.spec.active or is_leaving(workload):
        return None
    used = workload.status.accumulated_past_execution_time_seconds or 0
    return admitted.last_transition_time + timedelta(seconds=limit - used)


def limit_execution(workload: Workload, now: datetime) -> Change:
    """Give a Workload up that has used its execution time up (SCH-1041)."""
    deadline = execution_deadline(workload)
    if deadline is None or now < deadline:
        return Change(workload)
    reason = reasons.MAXIMUM_EXECUTION_TIME_EXCEEDED
    targeted = target_deactivation(workload, reason, "exceeding the maximum execution time", now)
    targeted = put(targeted, replace(targeted.status, accumulated_past_execution_time_seconds=None))
    note = f"The maximum execution time ({workload.spec.maximum_execution_time_seconds}s) exceeded"
    return Change(targeted, (warning(reason, note),))
