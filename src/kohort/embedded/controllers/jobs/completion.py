"""Whether a Job is at its end, and by what: the first criterion that holds decides, and stays decided.

An end is first announced (SuccessCriteriaMet, FailureTarget), so that it survives whatever happens to the pods that
caused it; it becomes final (Complete, Failed) when all pods have ended and are counted.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from kohort.api.conditions import find
from kohort.api.core.objects import StatusCondition
from kohort.embedded.controllers.jobs.failures import FAIL_JOB, has_failed, judge
from kohort.embedded.controllers.jobs.indexes import Indexes
from kohort.embedded.controllers.jobs.pod_summary import JobPodSummary
from kohort.embedded.controllers.jobs.views import COMPLETE, FAILED, FAILURE_TARGET, SUCCESS_CRITERIA_MET, SeenJob
from kohort.embedded.controllers.views import ControllerPod

_FINAL = {SUCCESS_CRITERIA_MET: COMPLETE, FAILURE_TARGET: FAILED}


@dataclass(frozen=True, slots=True)
class JobEnd:
    """How a Job ends."""

    announcement: str
    reason: str
    message: str

    @property
    def is_success(self) -> bool:
        """Whether it ends well."""
        return self.announcement == SUCCESS_CRITERIA_MET

    @property
    def final(self) -> str:
        """The condition that says it is over."""
        return _FINAL[self.announcement]


COMPLETED = JobEnd(SUCCESS_CRITERIA_MET, "CompletionsReached", "Reached expected number of succeeded pods")


def announced(job: SeenJob) -> JobEnd | None:
    """The end that the status has announced."""
    for type_ in _FINAL:
        found = find(job.status.conditions, type_)
        if found is not None and found.status == "True":
            return JobEnd(type_, found.reason, found.message)
    return None


def find_ending(job: SeenJob, census: JobPodSummary, pods: Sequence[ControllerPod], now: datetime) -> JobEnd | None:
    """The end that a Job has come to other than by its completions."""
    return (
        announced(job)
        or _by_policy(job, pods)
        or _by_failures(job, census, pods)
        or _by_deadline(job, now)
        or _by_indexes(job, census)
        or _by_success_policy(job, census)
    )


def is_complete(job: SeenJob, census: JobPodSummary) -> bool:
    """Whether enough pods have succeeded and none is left; without a number of completions one is enough."""
    wanted = 1 if job.spec.completions is None else job.spec.completions
    return census.succeeded >= wanted and not census.active


def deadline_in(job: SeenJob, start: datetime | None, now: datetime) -> float | None:
    """Seconds until the Job has been active for too long."""
    limit = job.spec.active_deadline_seconds
    if limit is None or start is None or job.spec.suspend:
        return None
    return limit - (now - start).total_seconds()


def _failure(reason: str, message: str) -> JobEnd:
    return JobEnd(FAILURE_TARGET, reason, message)


def _by_policy(job: SeenJob, pods: Sequence[ControllerPod]) -> JobEnd | None:
    policy = job.spec.pod_failure_policy
    for pod in pods if policy else ():
        judgement = judge(policy, pod) if has_failed(job, pod) else None
        if judgement is not None and judgement.action == FAIL_JOB:
            return _failure("PodFailurePolicy", judgement.message)
    return None


def _by_failures(job: SeenJob, census: JobPodSummary, pods: Sequence[ControllerPod]) -> JobEnd | None:
    limit = job.spec.backoff_limit
    if census.failed > limit or sum(restarts(pod) for pod in pods) >= max(limit, 1):
        return _failure("BackoffLimitExceeded", "Job has reached the specified backoff limit")
    return None


def restarts(pod: ControllerPod) -> int:
    """How often containers were started again in a pod that has not ended: such attempts count like pods."""
    if pod.spec.restart_policy != "OnFailure" or pod.status.phase not in ("Pending", "Running"):
        return 0
    return sum(each.restart_count for each in (*pod.status.init_container_statuses, *pod.status.container_statuses))


def _by_deadline(job: SeenJob, now: datetime) -> JobEnd | None:
    left = deadline_in(job, job.status.start_time, now)
    if left is None or left > 0:
        return None
    return _failure("DeadlineExceeded", "Job was active longer than specified deadline")


def _by_indexes(job: SeenJob, census: JobPodSummary) -> JobEnd | None:
    if census.failed_indexes is None:
        return None
    failed, most = len(census.failed_indexes), job.spec.max_failed_indexes
    if most is not None and failed > most:
        return _failure("MaxFailedIndexesExceeded", "Job has exceeded the specified maximal number of failed indexes")
    if failed and failed + len(census.completed) >= (job.spec.completions or 0):
        return _failure("FailedIndexes", "Job has failed indexes")
    return None


def _by_success_policy(job: SeenJob, census: JobPodSummary) -> JobEnd | None:
    policy = job.spec.success_policy
    if policy is None or not census.completed:
        return None
    for number, rule in enumerate(policy.rules):
        if _is_enough(rule.succeeded_indexes, rule.succeeded_count, job.spec.completions or 0, census.completed):
            return JobEnd(SUCCESS_CRITERIA_MET, "SuccessPolicy", f"Matched rules at index {number}")
    return None


def _is_enough(text: str | None, count: int | None, completions: int, completed: Indexes) -> bool:
    if text is None:
        return count is not None and len(completed) >= count
    wanted = Indexes.parse(text, completions)
    common = wanted.common(completed)
    return bool(wanted) and (common == len(wanted) or (count is not None and common >= count))


def condition(type_: str, status: str, reason: str, message: str, now: datetime) -> StatusCondition:
    """A condition of a Job, as of now."""
    return StatusCondition(
        type=type_, status=status, reason=reason, message=message, last_probe_time=now, last_transition_time=now
    )
