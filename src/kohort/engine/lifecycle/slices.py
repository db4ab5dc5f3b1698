"""Slices of an elastic job: which are kept or finished, and what a replacement takes over (SCH-1101 to SCH-1105).

A job has at most one slice with quota and one pending replacement. Others result from a race or a crash and are
finished.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from msgspec.structs import replace

from kohort.api.kueue.keys import JOB_UID_LABEL, SLICE_REPLACEMENT_ANNOTATION
from kohort.api.kueue.v1beta2 import Workload
from kohort.engine.lifecycle import reasons
from kohort.engine.lifecycle.conditions import is_evicted, is_finished, is_reserved, with_status
from kohort.engine.lifecycle.events import WorkloadChange, normal
from kohort.engine.lifecycle.finishing import finish

REPLACED = "Replaced to accommodate a new workload slice"
OUT_OF_SYNC = "The workload slice is out of sync with its parent job"


@dataclass(frozen=True, slots=True)
class Slices:
    """The slices of a job after obsolete ones were finished."""

    current: Workload | None = None
    """The slice to compare the job with: the pending one, else the running one; None if a new one is needed."""
    running: Workload | None = None
    """The slice that holds the quota."""
    ended: tuple[Workload, ...] = ()
    """Slices that were finished, to be written."""


def name_of(workload: Workload) -> str:
    """The name by which a replacement references the slice that it replaces."""
    return f"{workload.metadata.namespace}/{workload.metadata.name}"


def reconcile_slices(workloads: Iterable[Workload], now: datetime) -> Slices:
    """Keep the slice with quota and its replacement; finish evicted ones and all others (SCH-1102, JOB-81)."""
    slices = sorted((each for each in workloads if not is_finished(each)), key=_age)
    living = [each for each in slices if not is_evicted(each)]
    successors = _successors(living)
    running = _running(living, successors)
    waiting = successors.get(name_of(running)) if running else None
    current = waiting or running or (living[-1] if living else None)
    kept = (current, running)
    ended = tuple(_end(each, successors, now) for each in slices if not any(each is other for other in kept))
    return Slices(current, running, ended)


def _age(workload: Workload) -> tuple[datetime, str]:
    born = workload.metadata.creation_timestamp
    return born or datetime.max.replace(tzinfo=UTC), workload.metadata.uid


def _successors(living: Iterable[Workload]) -> dict[str, Workload]:
    """Replacements by the name of the replaced slice; of several after a race, one with quota, else the oldest."""
    found: dict[str, Workload] = {}
    for each in living:
        replaced = each.metadata.annotations.get(SLICE_REPLACEMENT_ANNOTATION)
        if replaced and (replaced not in found or (is_reserved(each) and not is_reserved(found[replaced]))):
            found[replaced] = each
    return found


def _running(living: list[Workload], successors: dict[str, Workload]) -> Workload | None:
    """The newest slice with quota whose replacement, if there is one, is pending."""
    for each in reversed(living):
        successor = successors.get(name_of(each))
        if is_reserved(each) and not (successor and is_reserved(successor)):
            return each
    return None


def _end(workload: Workload, successors: dict[str, Workload], now: datetime) -> Workload:
    if name_of(workload) in successors:
        return finish(workload, reasons.WORKLOAD_SLICE_REPLACED, REPLACED, now)
    return finish(workload, reasons.OUT_OF_SYNC, OUT_OF_SYNC, now)


def take_over(successor: Workload, replaced: Workload) -> Workload:
    """The successor on the cluster of the slice that it replaces, as its admission is written (SCH-1104)."""
    if replaced.status.cluster_name is None:
        return successor
    return with_status(successor, replace(successor.status, cluster_name=replaced.status.cluster_name))


def end_replaced(replaced: Workload, successor: Workload, now: datetime) -> WorkloadChange:
    """Finish the slice whose quota was taken over, once the admission of its successor is written (SCH-1104)."""
    uid, job_uid = successor.metadata.uid, successor.metadata.labels.get(JOB_UID_LABEL, "")
    message = f"Replaced to accommodate a workload (UID: {uid}, JobUID: {job_uid}) due to workload slice aggregation"
    ended = finish(replaced, reasons.WORKLOAD_SLICE_REPLACED, message, now)
    if ended is replaced:
        return WorkloadChange(replaced)
    return WorkloadChange(ended, (normal(reasons.WORKLOAD_SLICE_REPLACED, message),))
