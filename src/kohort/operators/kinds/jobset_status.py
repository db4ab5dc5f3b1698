"""The status of JobSets: counts of Jobs, success and failure policy, restarts."""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import re2

from kohort.api.codec import JsonObject
from kohort.jobs.objects import labels, value_at
from kohort.kube.events import EventToRecord
from kohort.operators.objects import find_condition, has_condition, is_true, set_condition

REPLICATED_JOB: Final = "jobset.sigs.k8s.io/replicatedjob-name"
RESTART_ATTEMPT: Final = "jobset.sigs.k8s.io/restart-attempt"
_RESTARTING: Final = "RestartingJobSet"
_FAIL, _IGNORE_MAX = "FailJobSet", "RestartJobSetAndIgnoreMaxRestarts"


@dataclass(slots=True)
class JobSetJobs:
    """The Jobs of a JobSet by state; earlier ones are those of attempts before the current one."""

    earlier: list[JsonObject] = field(default_factory=list)
    active: list[JsonObject] = field(default_factory=list)
    succeeded: list[JsonObject] = field(default_factory=list)
    failed: list[JsonObject] = field(default_factory=list)

    def names(self) -> set[str]:
        """The names that are in use."""
        return {each["metadata"]["name"] for each in (*self.earlier, *self.active, *self.succeeded, *self.failed)}


def jobs_by_state(job_set: JsonObject, jobs: Sequence[JsonObject]) -> JobSetJobs:
    """The Jobs by state."""
    found, restarts = JobSetJobs(), restarts_of(job_set)
    for each in jobs:
        if int(labels(each).get(RESTART_ATTEMPT, "0")) < restarts:
            found.earlier.append(each)
        elif has_condition(each, "Complete"):
            found.succeeded.append(each)
        elif has_condition(each, "Failed"):
            found.failed.append(each)
        else:
            found.active.append(each)
    return found


def restarts_of(job_set: JsonObject) -> int:
    """The number of restarts."""
    return int(value_at(job_set, ("status", "restarts")) or 0)


def replicas(replicated: JsonObject) -> int:
    """The number of Jobs of a replicated Job."""
    count = replicated.get("replicas")
    return 1 if count is None else int(count)


def job_counts(job_set: JsonObject, jobs: JobSetJobs) -> list[JsonObject]:
    """The numbers of Jobs by state, for each replicated Job."""
    return [_counts(str(each["name"]), jobs) for each in job_set["spec"].get("replicatedJobs") or ()]


def _counts(name: str, jobs: JobSetJobs) -> JsonObject:
    active, succeeded, failed = (
        [each for each in found if labels(each).get(REPLICATED_JOB) == name]
        for found in (jobs.active, jobs.succeeded, jobs.failed)
    )
    return {
        "name": name,
        "ready": sum(map(_is_ready, active)),
        "succeeded": len(succeeded),
        "failed": len(failed),
        "active": sum((value_at(each, ("status", "active")) or 0) > 0 for each in active),
        "suspended": sum(each["spec"].get("suspend") is True for each in active),
    }


def _is_ready(job: JsonObject) -> bool:
    spec, status = job["spec"], job.get("status") or {}
    wanted = int(spec.get("parallelism", 1))
    if spec.get("completions") is not None:
        wanted = min(wanted, int(spec["completions"]))
    return bool((status.get("ready") or 0) + (status.get("succeeded") or 0) >= wanted)


def is_started(replicated: JsonObject, counts: JsonObject) -> bool:
    """Whether all Jobs of a replicated Job are ready or have ended."""
    return replicas(replicated) == sum(int(counts[name]) for name in ("ready", "succeeded", "failed"))


@dataclass(slots=True)
class JobSetReport:
    """A status that is being built, and the events that go with it."""

    status: JsonObject
    now: datetime
    events: list[EventToRecord] = field(default_factory=list)

    def set(self, type_: str, status: str, reason: str, message: str, *, warns: bool = False) -> None:
        """Set a condition, with an event; False only for one that exists."""
        conditions = self.status.setdefault("conditions", [])
        if status == "False" and find_condition(conditions, type_) is None:
            return
        new = {"type": type_, "status": status, "reason": reason, "message": message}
        if set_condition(conditions, new, self.now):
            self.events.append(EventToRecord("Warning" if warns else "Normal", reason, message))

    def finish(self, type_: str, reason: str, message: str) -> None:
        """Report the end."""
        is_failed = type_ == "Failed"
        self.set(type_, "True", reason, message, warns=is_failed)
        ending = "jobset failed" if is_failed else "jobset completed successfully"
        self.set(_RESTARTING, "False", f"JobSet{type_}", ending)
        self.status["terminalState"] = type_

    def restart(self, reason: str, condition_reason: str, message: str, *, counts: bool) -> None:
        """Start another attempt."""
        self.status["restarts"] = int(self.status.get("restarts") or 0) + 1
        if counts:
            self.status["restartsCountTowardsMax"] = int(self.status.get("restartsCountTowardsMax") or 0) + 1
        self.set(_RESTARTING, "True", condition_reason, message, warns=True)
        self.events.append(EventToRecord("Warning", reason, message))


def new_report(job_set: JsonObject, jobs: JobSetJobs, now: datetime) -> JobSetReport:
    """The status with the counts of these Jobs."""
    status = deepcopy(job_set.get("status") or {})
    status.setdefault("restarts", 0)
    status["replicatedJobsStatus"] = job_counts(job_set, jobs)
    return JobSetReport(status, now)


def end(job_set: JsonObject, jobs: JobSetJobs, report: JobSetReport) -> bool:
    """Apply the failure or the success policy; returns whether the JobSet ended or restarts."""
    if jobs.failed:
        _apply_failure_policy(job_set, jobs.failed, report)
        return True
    if jobs.succeeded and len(_counting(job_set, jobs)) >= _needed(job_set):
        report.finish("Completed", "AllJobsCompleted", "jobset completed successfully")
        return True
    return False


def report_suspension(report: JobSetReport, *, is_suspended: bool, is_ready: bool) -> None:
    """Report whether the JobSet is suspended, and the end of a restart."""
    if is_suspended:
        report.set("Suspended", "True", "SuspendedJobs", "jobset is suspended")
        report.set(_RESTARTING, "False", "JobSetSuspended", "jobset is suspended")
        return
    report.set("Suspended", "False", "ResumeJobs", "jobset is resumed")
    if is_ready:
        report.set(_RESTARTING, "False", "JobsReady", "all jobs are ready")


def report_startup(report: JobSetReport, *, is_complete: bool) -> None:
    """Report the progress of a start in order."""
    done, other = "StartupPolicyCompleted", "StartupPolicyInProgress"
    if is_complete:
        report.set(done, "True", "InOrderStartupPolicyCompleted", "in order startup policy has completed")
    else:
        done, other = other, done
        report.set(done, "True", "InOrderStartupPolicyInProgress", "in order startup policy is in progress")
    before = find_condition(report.status.get("conditions") or (), other)
    if before is not None and before["status"] == "True":
        set_condition(report.status["conditions"], {**_plain(before), "status": "False"}, report.now)


def _plain(condition: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in condition.items() if name != "lastTransitionTime"}


def _success_targets(job_set: JsonObject) -> list[str]:
    return value_at(job_set, ("spec", "successPolicy", "targetReplicatedJobs")) or []


def _counting(job_set: JsonObject, jobs: JobSetJobs) -> list[JsonObject]:
    targets = _success_targets(job_set)
    return [each for each in jobs.succeeded if not targets or labels(each).get(REPLICATED_JOB) in targets]


def _needed(job_set: JsonObject) -> int:
    if value_at(job_set, ("spec", "successPolicy", "operator")) == "Any":
        return 1
    targets = _success_targets(job_set)
    return sum(replicas(each) for each in job_set["spec"]["replicatedJobs"] if not targets or each["name"] in targets)


def _apply_failure_policy(job_set: JsonObject, failed: Sequence[JsonObject], report: JobSetReport) -> None:
    ordered = sorted(failed, key=_failed_at)
    policy = job_set["spec"].get("failurePolicy")
    if policy is None:
        message = _about("jobset failed due to one or more job failures", ordered[0])
        report.finish("Failed", "FailedJobs", message)
        return
    rule, job = next(_matches(policy, ordered), (None, ordered[0]))
    action = rule["action"] if rule is not None else "RestartJobSet"
    if action == _FAIL:
        message = _about("applying FailJobSet failure policy action", job)
        report.finish("Failed", "FailJobSetFailurePolicyAction", message)
        return
    counted = int(report.status.get("restartsCountTowardsMax") or 0)
    if action != _IGNORE_MAX and counted >= int(policy.get("maxRestarts") or 0):
        report.finish(
            "Failed", "ReachedMaxRestarts", _about("jobset failed due to reaching max number of restarts", job)
        )
        return
    # Restarts of single Jobs are behind a gate of the operator that is off by default: the whole JobSet restarts.
    action = action if action == _IGNORE_MAX else "RestartJobSet"
    number = policy["rules"].index(rule) if rule is not None else 0
    why = "DefaultFailurePolicy"
    if rule is not None:
        why = f"FailurePolicy_{rule.get('name') or f'failurePolicyRule{number}'}"
    message = _about(f"applying {action} failure policy action", job)
    report.restart(f"{action}FailurePolicyAction", why, message, counts=action != _IGNORE_MAX)


def _matches(policy: JsonObject, failed: Sequence[JsonObject]) -> Iterator[tuple[JsonObject, JsonObject]]:
    for rule in policy.get("rules") or ():
        for job in failed:
            if _applies(rule, job):
                yield rule, job


def _applies(rule: JsonObject, job: JsonObject) -> bool:
    why = find_condition(value_at(job, ("status", "conditions")) or (), "Failed") or {}
    reasons, targets = rule.get("onJobFailureReasons"), rule.get("targetReplicatedJobs")
    patterns = rule.get("onJobFailureMessagePatterns")
    return (
        (not reasons or why.get("reason") in reasons)
        and (not targets or labels(job).get(REPLICATED_JOB) in targets)
        and (not patterns or any(_is_found(each, why.get("message") or "") for each in patterns))
    )


def _is_found(pattern: str, message: str) -> bool:
    """Whether a pattern matches, in linear time; an invalid one never does."""
    try:
        return re2.search(pattern, message) is not None
    except re2.error:
        return False


def _failed_at(job: JsonObject) -> str:
    condition = find_condition(value_at(job, ("status", "conditions")) or (), "Failed") or {}
    return str(condition.get("lastTransitionTime", ""))


def _about(message: str, job: JsonObject) -> str:
    return f"{message} (first failed job: {job['metadata']['name']})"


def finished(job_set: JsonObject) -> str | None:
    """When the JobSet ended; None while it has not."""
    conditions = value_at(job_set, ("status", "conditions")) or ()
    ended = (find_condition(conditions, each) for each in ("Completed", "Failed"))
    return next((each["lastTransitionTime"] for each in ended if each is not None and is_true(each)), None)
