"""The end of a Workload: finished, orphaned, retained, deleted (SCH-1061 to SCH-1063, API-120, API-122)."""

from datetime import datetime, timedelta

from msgspec.structs import replace

from kohort.api.gates import FeatureGates, Gate
from kohort.api.kueue.group import RESOURCE_IN_USE_FINALIZER
from kohort.api.kueue.keys import JOB_UID_LABEL
from kohort.api.kueue.v1beta2 import Workload
from kohort.engine.lifecycle import reasons
from kohort.engine.lifecycle.conditions import (
    EVICTED,
    FINISHED,
    condition,
    condition_true,
    is_finished,
    with_condition_set,
)

DEACTIVATED_BY_KOHORT = f"{reasons.DEACTIVATED}DueTo"


def finish(workload: Workload, reason: str, message: str, now: datetime) -> Workload:
    """Set Finished; an earlier result is kept (API-89, SCH-1063)."""
    if is_finished(workload):
        return workload
    return with_condition_set(workload, FINISHED, condition_true(reason, message), now)


def is_orphan(workload: Workload, gates: FeatureGates) -> bool:
    """Whether the owner no longer exists, or only this finalizer keeps the Workload (SCH-1062, API-120)."""
    if workload.metadata.owner_references:
        return False
    if workload.metadata.deletion_timestamp is not None:
        return True
    return gates.enabled(Gate.FinishOrphanedWorkloads) and bool(workload.metadata.labels.get(JOB_UID_LABEL))


def finish_orphan(workload: Workload, gates: FeatureGates, now: datetime) -> Workload:
    """Finish a Workload whose owner no longer exists, unless it is being deleted (SCH-1062)."""
    if not is_orphan(workload, gates) or workload.metadata.deletion_timestamp is not None:
        return workload
    return finish(workload, reasons.OWNER_NOT_FOUND, "The workload's owner no longer exists", now)


def without_finalizer(workload: Workload) -> Workload:
    """The Workload without the finalizer."""
    if RESOURCE_IN_USE_FINALIZER not in workload.metadata.finalizers:
        return workload
    finalizers = tuple(name for name in workload.metadata.finalizers if name != RESOURCE_IN_USE_FINALIZER)
    return replace(workload, metadata=replace(workload.metadata, finalizers=finalizers))


def expiry(workload: Workload, keep_finished: timedelta | None) -> datetime | None:
    """When a finished Workload is to be deleted; None means never (SCH-1061, API-122)."""
    finished = condition(workload, FINISHED)
    if keep_finished is None or finished is None or finished.status != "True":
        return None
    return finished.last_transition_time + keep_finished


def job_expiry(workload: Workload, keep_deactivated: timedelta | None) -> datetime | None:
    """When the job of a Workload is to be deleted that Kohort deactivated; None means never (SCH-1061, JOB-59)."""
    evicted = condition(workload, EVICTED)
    if keep_deactivated is None or evicted is None or evicted.status != "True" or workload.spec.active:
        return None
    return evicted.last_transition_time + keep_deactivated if evicted.reason.startswith(DEACTIVATED_BY_KOHORT) else None
