"""Decides whether and why a Job finishes: the first criterion that holds is final.

The result is first recorded as SuccessCriteriaMet or FailureTarget, so that it does not depend on what happens to the
pods afterwards; Complete or Failed follows when all pods have terminated and are counted.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from kohort.api.conditions import find
from kohort.api.core.objects import StatusCondition
from kohort.embedded.controllers.jobs.failures import FAIL_JOB, apply_policy, has_failed
from kohort.embedded.controllers.jobs.indexes import Indexes
from kohort.embedded.controllers.jobs.pod_summary import JobPodSummary
from kohort.embedded.controllers.jobs.views import COMPLETE, FAILED, FAILURE_TARGET, SUCCESS_CRITERIA_MET, JobView
from kohort.embedded.controllers.views import ControllerPod

_FINAL = {SUCCESS_CRITERIA_MET: COMPLETE, FAILURE_TARGET: FAILED}


@dataclass(frozen=True, slots=True)
class JobEnd:
    """How a Job finishes."""

    announcement: str
    reason: str
    message: str

    @property
    def is_success(self) -> bool:
        """Whether the Job succeeds."""
        return self.announcement == SUCCESS_CRITERIA_MET

    @property
    def final(self) -> str:
        """The terminal condition."""
        return _FINAL[self.announcement]


COMPLETED = JobEnd(SUCCESS_CRITERIA_MET, "CompletionsReached", "Reached expected number of succeeded pods")


def announced(job: JobView) -> JobEnd | None:
    """The result recorded in the status."""
    for type_ in _FINAL:
        found = find(job.status.conditions, type_)
        if found is not None and found.status == "True":
            return JobEnd(type_, found.reason, found.message)
    return None


def find_ending(job: JobView, summary: JobPodSummary, pods: Sequence[ControllerPod], now: datetime) -> JobEnd | None:
    """The result a Job has reached other than by its completions."""
    return (
        announced(job)
        or _by_policy(job, pods)
        or _by_failures(job, summary, pods)
        or _by_deadline(job, now)
        or _by_indexes(job, summary)
        or _by_success_policy(job, summary)
    )


def is_complete(job: JobView, summary: JobPodSummary) -> bool:
    """Whether enough pods have succeeded and none is active; without completions one success is enough."""
    wanted = 1 if job.spec.completions is None else job.spec.completions
    return summary.succeeded >= wanted and not summary.active


def deadline_in(job: JobView, start: datetime | None, now: datetime) -> float | None:
    """Seconds until activeDeadlineSeconds is exceeded."""
    limit = job.spec.active_deadline_seconds
    if limit is None or start is None or job.spec.suspend:
        return None
    return limit - (now - start).total_seconds()


def _failure(reason: str, message: str) -> JobEnd:
    return JobEnd(FAILURE_TARGET, reason, message)


def _by_policy(job: JobView, pods: Sequence[ControllerPod]) -> JobEnd | None:
    policy = job.spec.pod_failure_policy
    for pod in pods if policy else ():
        policy_result = apply_policy(policy, pod) if has_failed(job, pod) else None
        if policy_result is not None and policy_result.action == FAIL_JOB:
            return _failure("PodFailurePolicy", policy_result.message)
    return None


def _by_failures(job: JobView, summary: JobPodSummary, pods: Sequence[ControllerPod]) -> JobEnd | None:
    limit = job.spec.backoff_limit
    if summary.failed > limit or sum(restarts(pod) for pod in pods) >= max(limit, 1):
        return _failure("BackoffLimitExceeded", "Job has reached the specified backoff limit")
    return None


def restarts(pod: ControllerPod) -> int:
    """Container restarts of an unfinished pod, which count like failed pods."""
    if pod.spec.restart_policy != "OnFailure" or pod.status.phase not in ("Pending", "Running"):
        return 0
    return sum(each.restart_count for each in (*pod.status.init_container_statuses, *pod.status.container_statuses))


def _by_deadline(job: JobView, now: datetime) -> JobEnd | None:
    left = deadline_in(job, job.status.start_time, now)
    if left is None or left > 0:
        return None
    return _failure("DeadlineExceeded", "Job was active longer than specified deadline")


def _by_indexes(job: JobView, summary: JobPodSummary) -> JobEnd | None:
    if summary.failed_indexes is None:
        return None
    failed, most = len(summary.failed_indexes), job.spec.max_failed_indexes
    if most is not None and failed > most:
        return _failure("MaxFailedIndexesExceeded", "Job has exceeded the specified maximal number of failed indexes")
    if failed and failed + len(summary.completed) >= (job.spec.completions or 0):
        return _failure("FailedIndexes", "Job has failed indexes")
    return None


def _by_success_policy(job: JobView, summary: JobPodSummary) -> JobEnd | None:
    policy = job.spec.success_policy
    if policy is None or not summary.completed:
        return None
    for number, rule in enumerate(policy.rules):
        if _is_enough(rule.succeeded_indexes, rule.succeeded_count, job.spec.completions or 0, summary.completed):
            return JobEnd(SUCCESS_CRITERIA_MET, "SuccessPolicy", f"Matched rules at index {number}")
    return None


def _is_enough(text: str | None, count: int | None, completions: int, completed: Indexes) -> bool:
    if text is None:
        return count is not None and len(completed) >= count
    wanted = Indexes.parse(text, completions)
    common = wanted.common(completed)
    return bool(wanted) and (common == len(wanted) or (count is not None and common >= count))


def condition(type_: str, status: str, reason: str, message: str, now: datetime) -> StatusCondition:
    """A Job condition with the current time."""
    return StatusCondition(
        type=type_, status=status, reason=reason, message=message, last_probe_time=now, last_transition_time=now
    )
