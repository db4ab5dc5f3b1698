"""Plans the next steps of a Job: a pure function of the Job, its pods and the time.

Steps are executed in the order of the fields; after creating or deleting pods the caller plans again before writing the
status, which reports the actual state.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec

from kohort.api.conditions import is_true
from kohort.api.core.objects import StatusCondition
from kohort.embedded.controllers.jobs.accounting import settle
from kohort.embedded.controllers.jobs.completion import (
    COMPLETED,
    JobEnd,
    condition,
    deadline_in,
    find_ending,
    is_complete,
)
from kohort.embedded.controllers.jobs.failures import NO_FAILURES, FailureRecord
from kohort.embedded.controllers.jobs.pod_changes import AS_IT_IS, NewPod, PodChanges, plan_pod_changes
from kohort.embedded.controllers.jobs.pod_summary import JobPodSummary, summarize_pods
from kohort.embedded.controllers.jobs.views import COMPLETE, SUSPENDED, JobStatusView, JobView
from kohort.embedded.controllers.views import ControllerPod
from kohort.kube.events import EventToRecord


@dataclass(frozen=True, slots=True)
class JobPlan:
    """The next steps for a Job."""

    removals: tuple[ControllerPod, ...]
    """Surplus pods: their finalizer is removed, then they are deleted."""
    deletes: tuple[ControllerPod, ...]
    """Pods to delete because the Job finishes; they keep their finalizer until they are counted."""
    creates: tuple[NewPod, ...]
    status: JobStatusView
    """Written if it differs from the Job's."""
    release: tuple[ControllerPod, ...]
    """Pods whose finalizer is removed once the status is written."""
    notes: tuple[EventToRecord, ...]
    """Events recorded once the status is written."""
    record: FailureRecord
    """Failure record to store once the status is written."""
    again: float | None
    """Seconds after which to reconcile again."""
    ending: JobEnd | None
    """The result of the Job; final regardless of the pods stopped because of it."""

    @property
    def touches_pods(self) -> bool:
        """Whether pods are to be created or deleted."""
        return bool(self.removals or self.deletes or self.creates)


def plan(
    job: JobView,
    pods: Sequence[ControllerPod],
    now: datetime,
    record: FailureRecord = NO_FAILURES,
    decided: JobEnd | None = None,
) -> JobPlan:
    """Plans the next steps for an unfinished Job; `pods` are all that belong to it.

    A result `decided` by an earlier plan, and not written yet, is not evaluated again.
    """
    stamp = now.replace(microsecond=0)
    summary = summarize_pods(job, pods)
    record = record.after(summary.new_succeeded, summary.new_failed)
    ending = decided or find_ending(job, summary, pods, now)
    pod_changes = AS_IT_IS if ending or job.is_terminating else plan_pod_changes(job, summary, record, now)
    if ending is None and is_complete(job, summary):
        ending = COMPLETED
    # Running pods may still finish differently than they would be counted now.
    ending_now = None if summary.active else ending
    status = _counted(job, summary, stamp)
    account = settle(job, summary, status, ending_now)
    status, notes = _concluded(job, summary, account.status, ending_now, stamp)
    if ending is None and not job.is_terminating:
        status, notes = _suspended(job, status, stamp)
    return JobPlan(
        removals=pod_changes.removals,
        deletes=summary.active if ending else (),
        creates=pod_changes.creates,
        status=status,
        release=account.release,
        notes=notes,
        record=record,
        again=_again(job, status, pod_changes, ending, now),
        ending=ending,
    )


def _counted(job: JobView, summary: JobPodSummary, now: datetime) -> JobStatusView:
    """The status with current counts; startTime is set when the Job is first not suspended."""
    start = job.status.start_time
    return msgspec.structs.replace(
        job.status,
        start_time=now if start is None and not job.spec.suspend else start,
        active=len(summary.active),
        ready=summary.ready,
        terminating=len(summary.terminating),
    )


def _concluded(
    job: JobView, summary: JobPodSummary, status: JobStatusView, ending: JobEnd | None, now: datetime
) -> tuple[JobStatusView, tuple[EventToRecord, ...]]:
    """The status with the pending result or, when every pod has terminated and is counted, the terminal condition."""
    if ending is None:
        return status, ()
    if not is_true(job.status.conditions, ending.announcement):
        return _with(status, condition(ending.announcement, "True", ending.reason, ending.message, now)), ()
    if summary.tracked or summary.terminating:
        return status, ()
    status = _with(status, condition(ending.final, "True", ending.reason, ending.message, now))
    if ending.final != COMPLETE:
        return status, (EventToRecord("Warning", ending.reason, ending.message),)
    status = msgspec.structs.replace(status, completion_time=now)
    return status, (*_too_many(job, status), EventToRecord("Normal", "Completed", "Job completed"))


def _too_many(job: JobView, status: JobStatusView) -> tuple[EventToRecord, ...]:
    if job.spec.completions is None or status.succeeded <= job.spec.completions:
        return ()
    message = "Too many succeeded pods running after completion count reached"
    return (EventToRecord("Warning", "TooManySucceededPods", message),)


def _suspended(job: JobView, status: JobStatusView, now: datetime) -> tuple[JobStatusView, tuple[EventToRecord, ...]]:
    """The status with the Suspended condition; resuming resets startTime."""
    if job.spec.suspend == is_true(status.conditions, SUSPENDED):
        return status, ()
    if job.spec.suspend:
        status = _with(status, condition(SUSPENDED, "True", "JobSuspended", "Job suspended", now))
        events = (EventToRecord("Normal", "Suspended", "Job suspended"),)
        return msgspec.structs.replace(status, start_time=None), events
    status = _with(status, condition(SUSPENDED, "False", "JobResumed", "Job resumed", now))
    return msgspec.structs.replace(status, start_time=now), (EventToRecord("Normal", "Resumed", "Job resumed"),)


def _with(status: JobStatusView, new: StatusCondition) -> JobStatusView:
    """Sets a condition."""
    others = [each for each in status.conditions if each.type != new.type]
    if len(others) == len(status.conditions):
        conditions = (*status.conditions, new)
    else:
        conditions = tuple(new if each.type == new.type else each for each in status.conditions)
    return msgspec.structs.replace(status, conditions=conditions)


def _again(
    job: JobView, status: JobStatusView, pod_changes: PodChanges, ending: JobEnd | None, now: datetime
) -> float | None:
    if ending is not None:
        return None
    waits = (pod_changes.wait, deadline_in(job, status.start_time, now))
    return min((wait for wait in waits if wait is not None), default=None)
