"""Deactivation of a Workload: first the intent, then `spec.active`, then the eviction (SCH-1040, SCH-1041).

Intent and spec are different writes to the API, so the intent is a condition of its own: a crash in between loses
nothing.
"""

from datetime import datetime

from msgspec.structs import replace

from kohort.api.kueue.v1beta2 import Workload
from kohort.engine.lifecycle import reasons
from kohort.engine.lifecycle.conditions import (
    DEACTIVATION_TARGET,
    condition,
    condition_true,
    holds,
    is_finished,
    with_condition_set,
    with_status,
    without_condition,
)
from kohort.engine.lifecycle.events import WorkloadChange
from kohort.engine.lifecycle.eviction import EvictionCause, evict


def target_deactivation(workload: Workload, reason: str, message: str, now: datetime) -> Workload:
    """Request the deactivation of the Workload; an earlier request is kept (SCH-1040)."""
    if not workload.spec.active or holds(workload, DEACTIVATION_TARGET) or is_finished(workload):
        return workload
    return with_condition_set(workload, DEACTIVATION_TARGET, condition_true(reason, message), now)


def deactivate(workload: Workload) -> Workload:
    """Set a Workload inactive that is to be deactivated (SCH-1040, API-125)."""
    return with_active(workload, active=False) if holds(workload, DEACTIVATION_TARGET) else workload


def with_active(workload: Workload, *, active: bool) -> Workload:
    """The Workload as active or inactive; the same object if it already is."""
    if workload.spec.active is active:
        return workload
    # The API server counts each change of a spec (API-4); what follows refers to the new generation.
    metadata = replace(workload.metadata, generation=workload.metadata.generation + 1)
    return replace(workload, metadata=metadata, spec=replace(workload.spec, active=active))


def evict_inactive(workload: Workload, now: datetime) -> WorkloadChange:
    """Evict an inactive Workload; remove its deactivation request and requeue state (API-126)."""
    if workload.spec.active:
        return WorkloadChange(workload)
    change = evict(workload, _deactivation(workload), now)
    cleared = without_condition(change.workload, DEACTIVATION_TARGET)
    return WorkloadChange(with_status(cleared, replace(cleared.status, requeue_state=None)), change.events)


def _deactivation(workload: Workload) -> EvictionCause:
    target = condition(workload, DEACTIVATION_TARGET)
    if target is None:
        return EvictionCause(reasons.DEACTIVATED, "The workload is deactivated")
    return EvictionCause(reasons.DEACTIVATED, f"The workload is deactivated due to {target.message}", target.reason)
