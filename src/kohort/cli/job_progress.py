"""The state of a job as one line, from the Job and its Workload. Pure.

`kohort submit --wait` prints a line whenever it changes.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final

from kohort.api.codec import JsonObject
from kohort.api.conditions import find
from kohort.api.kueue.v1beta2 import Workload
from kohort.engine.lifecycle import conditions
from kohort.engine.lifecycle.finishing import DEACTIVATED_BY_KOHORT
from kohort.jobs.frameworks.job import BatchJobFramework
from kohort.jobs.frameworks.job.spec import pod_count
from kohort.terminal.counts import counted
from kohort.terminal.style import Role


class JobPhase(Enum):
    """Phase of a job."""

    UNSEEN = "unseen"
    QUEUED = "queued"
    RESERVED = "reserved"
    ADMITTED = "admitted"
    RUNNING = "running"
    EVICTED = "evicted"
    HELD = "held"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    DEACTIVATED = "deactivated"
    GONE = "gone"


ENDED: Final = frozenset({JobPhase.SUCCEEDED, JobPhase.FAILED, JobPhase.DEACTIVATED, JobPhase.GONE})
ROLES: Final = {
    JobPhase.UNSEEN: Role.DIM,
    JobPhase.ADMITTED: Role.ACCENT,
    JobPhase.RUNNING: Role.ACCENT,
    JobPhase.EVICTED: Role.WARN,
    JobPhase.HELD: Role.WARN,
    JobPhase.SUCCEEDED: Role.GOOD,
    JobPhase.FAILED: Role.BAD,
    JobPhase.DEACTIVATED: Role.BAD,
    JobPhase.GONE: Role.BAD,
}


@dataclass(frozen=True, slots=True)
class JobProgress:
    """Phase of a job, and its description."""

    phase: JobPhase
    text: str

    @property
    def is_end(self) -> bool:
        """Whether the phase is final."""
        return self.phase in ENDED

    @property
    def role(self) -> Role:
        """The style of its line."""
        return ROLES.get(self.phase, Role.PLAIN)


_BATCH: Final = BatchJobFramework()


def progress_of(job: JsonObject | None, workload: Workload | None, position: int | None) -> JobProgress:
    """The progress of a job; `position` in its LocalQueue counts from 0, None if unknown."""
    if job is None:
        return JobProgress(JobPhase.GONE, "deleted before completion")
    finish = _BATCH.finished(job)
    if finish is not None:
        return _finished(job, finish.message, JobPhase.SUCCEEDED if finish.success else JobPhase.FAILED)
    if workload is None:
        return JobProgress(JobPhase.UNSEEN, "not queued yet")
    return _queued(job, workload, position)


def _queued(job: JsonObject, workload: Workload, position: int | None) -> JobProgress:
    if conditions.is_evicted(workload) and conditions.is_reserved(workload):
        return _evicted(workload)
    if workload.spec.active is False:
        return _held(job, workload)
    if conditions.is_admitted(workload):
        return _started(job, workload)
    if conditions.is_reserved(workload):
        return _reserved(workload)
    return _waiting(workload, position)


def _finished(job: JsonObject, message: str, phase: JobPhase) -> JobProgress:
    if phase is JobPhase.SUCCEEDED:
        succeeded = int((job.get("status") or {}).get("succeeded") or 0)
        return JobProgress(phase, f"succeeded: {counted(succeeded, 'pod')}")
    return JobProgress(phase, f"failed: {message}" if message else "failed")


def _evicted(workload: Workload) -> JobProgress:
    condition = find(workload.status.conditions, conditions.EVICTED)
    why = f"{condition.reason}: {condition.message}" if condition else "of an unknown reason"
    return JobProgress(JobPhase.EVICTED, f"evicted because {why}")


def _held(job: JsonObject, workload: Workload) -> JobProgress:
    name = job["metadata"]["name"]
    condition = find(workload.status.conditions, conditions.EVICTED)
    if condition is not None and condition.reason.startswith(DEACTIVATED_BY_KOHORT):
        cause = condition.reason.removeprefix(DEACTIVATED_BY_KOHORT)
        return JobProgress(JobPhase.DEACTIVATED, f"deactivated: {cause} (resume it with `kohort resume {name}`)")
    return JobProgress(JobPhase.HELD, f"held: resume it with `kohort resume {name}`")


def _started(job: JsonObject, workload: Workload) -> JobProgress:
    wanted, status = pod_count(job), job.get("status") or {}
    ready = int(status.get("ready") or 0)
    if ready and ready + int(status.get("succeeded") or 0) >= wanted:
        return JobProgress(JobPhase.RUNNING, f"running: {counted(wanted, 'pod')}")
    if ready:
        return JobProgress(JobPhase.RUNNING, f"running: some of {counted(wanted, 'pod')} ready")
    return JobProgress(JobPhase.ADMITTED, f"admitted by ClusterQueue {_cluster_queue(workload)}{_flavors(workload)}")


def _reserved(workload: Workload) -> JobProgress:
    waiting = [check.name for check in workload.status.admission_checks if check.state != "Ready"]
    for_what = f"; waiting for {', '.join(waiting)}" if waiting else ""
    return JobProgress(JobPhase.RESERVED, f"quota reserved in ClusterQueue {_cluster_queue(workload)}{for_what}")


def _waiting(workload: Workload, position: int | None) -> JobProgress:
    place = "" if position is None else f" at position {position + 1}"
    condition = find(workload.status.conditions, conditions.QUOTA_RESERVED)
    why = f": {condition.message}" if condition is not None and condition.message else ""
    return JobProgress(JobPhase.QUEUED, f"queued in {workload.spec.queue_name}{place}{why}")


def _cluster_queue(workload: Workload) -> str:
    return workload.status.admission.cluster_queue if workload.status.admission else "?"


def _flavors(workload: Workload) -> str:
    admission = workload.status.admission
    if admission is None:
        return ""
    found = {flavor for each in admission.pod_set_assignments for flavor in each.flavors.values()}
    return f" on {', '.join(sorted(found))}" if found else ""
