"""What is to be done about a Job: a pure function of the Job, its pods and the time.

A plan holds for the moment. Its steps are carried out in the order of its fields; whoever made or removed pods plans
again before writing the status, which tells what is, not what is intended.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec

from kohort.api.conditions import find, is_true
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
from kohort.embedded.controllers.jobs.views import COMPLETE, SUSPENDED, SeenJob, SeenJobStatus
from kohort.embedded.controllers.views import ControllerPod
from kohort.kube.events import EventToRecord


@dataclass(frozen=True, slots=True)
class JobPlan:
    """The next steps for a Job."""

    dismissals: tuple[ControllerPod, ...]
    """Pods to let go: their finalizer first, then they themselves."""
    deletes: tuple[ControllerPod, ...]
    """Pods to stop because the Job is at its end; they keep their finalizer until they are counted."""
    creates: tuple[NewPod, ...]
    status: SeenJobStatus
    """To be written where it differs from the Job's."""
    release: tuple[ControllerPod, ...]
    """Pods that lose their finalizer, once that status is written."""
    notes: tuple[EventToRecord, ...]
    """Events to tell, once that status is written."""
    record: FailureRecord
    """To be remembered, once that status is written."""
    again: float | None
    """Seconds after which time alone changes the plan."""
    ending: JobEnd | None
    """The end that the Job has come to; it stays so, whatever becomes of the pods that are stopped for it."""

    @property
    def touches_pods(self) -> bool:
        """Whether pods are to be made or removed."""
        return bool(self.dismissals or self.deletes or self.creates)


def plan(
    job: SeenJob,
    pods: Sequence[ControllerPod],
    now: datetime,
    record: FailureRecord = NO_FAILURES,
    decided: JobEnd | None = None,
) -> JobPlan:
    """The next steps for a Job that is not finished; `pods` are all that belong to it.

    An end that was `decided` on an earlier look, and not announced yet, is not looked for again.
    """
    stamp = now.replace(microsecond=0)
    census = summarize_pods(job, pods)
    record = record.after(census.new_succeeded, census.new_failed)
    ending = decided or find_ending(job, census, pods, now)
    staffing = AS_IT_IS if ending or job.is_leaving else plan_pod_changes(job, census, record, now)
    if ending is None and is_complete(job, census):
        ending = COMPLETED
    # Pods that still run may end in another way than they would be counted now.
    ending_now = None if census.active else ending
    status = _counted(job, census, stamp)
    account = settle(job, census, status, ending_now)
    status, notes = _concluded(job, census, account.status, ending_now, stamp)
    if ending is None and not job.is_leaving:
        status, notes = _suspended(job, status, stamp)
    return JobPlan(
        dismissals=staffing.dismissals,
        deletes=census.active if ending else (),
        creates=staffing.creates,
        status=status,
        release=account.release,
        notes=notes,
        record=record,
        again=_again(job, status, staffing, ending, now),
        ending=ending,
    )


def _counted(job: SeenJob, census: JobPodSummary, now: datetime) -> SeenJobStatus:
    """The status with the numbers of the moment; the Job has started when it first is not suspended."""
    start = job.status.start_time
    return msgspec.structs.replace(
        job.status,
        start_time=now if start is None and not job.spec.suspend else start,
        active=len(census.active),
        ready=census.ready,
        terminating=len(census.leaving),
    )


def _concluded(
    job: SeenJob, census: JobPodSummary, status: SeenJobStatus, ending: JobEnd | None, now: datetime
) -> tuple[SeenJobStatus, tuple[EventToRecord, ...]]:
    """The status with the end announced or, when every pod has ended and is counted, final."""
    if ending is None:
        return status, ()
    if not is_true(job.status.conditions, ending.announcement):
        return _with(status, condition(ending.announcement, "True", ending.reason, ending.message, now)), ()
    if census.tracked or census.leaving:
        return status, ()
    status = _with(status, condition(ending.final, "True", ending.reason, ending.message, now))
    if ending.final != COMPLETE:
        return status, (EventToRecord("Warning", ending.reason, ending.message),)
    status = msgspec.structs.replace(status, completion_time=now)
    return status, (*_too_many(job, status), EventToRecord("Normal", "Completed", "Job completed"))


def _too_many(job: SeenJob, status: SeenJobStatus) -> tuple[EventToRecord, ...]:
    if job.spec.completions is None or status.succeeded <= job.spec.completions:
        return ()
    message = "Too many succeeded pods running after completion count reached"
    return (EventToRecord("Warning", "TooManySucceededPods", message),)


def _suspended(job: SeenJob, status: SeenJobStatus, now: datetime) -> tuple[SeenJobStatus, tuple[EventToRecord, ...]]:
    """The status that tells whether the Job is suspended; its clock starts anew when it no longer is."""
    present = find(status.conditions, SUSPENDED)
    was = present is not None and present.status == "True"
    if job.spec.suspend == was:
        return status, ()
    if job.spec.suspend:
        status = _with(status, condition(SUSPENDED, "True", "JobSuspended", "Job suspended", now))
        return msgspec.structs.replace(status, start_time=None), (
            EventToRecord("Normal", "Suspended", "Job suspended"),
        )
    status = _with(status, condition(SUSPENDED, "False", "JobResumed", "Job resumed", now))
    return msgspec.structs.replace(status, start_time=now), (EventToRecord("Normal", "Resumed", "Job resumed"),)


def _with(status: SeenJobStatus, new: StatusCondition) -> SeenJobStatus:
    """The status with a condition, in its place or at the end."""
    others = [each for each in status.conditions if each.type != new.type]
    if len(others) == len(status.conditions):
        conditions = (*status.conditions, new)
    else:
        conditions = tuple(new if each.type == new.type else each for each in status.conditions)
    return msgspec.structs.replace(status, conditions=conditions)


def _again(
    job: SeenJob, status: SeenJobStatus, staffing: PodChanges, ending: JobEnd | None, now: datetime
) -> float | None:
    if ending is not None:
        return None
    waits = (staffing.wait, deadline_in(job, status.start_time, now))
    return min((wait for wait in waits if wait is not None), default=None)
