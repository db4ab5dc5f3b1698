"""Failed pods, the pod failure policy and backoff."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from kohort.api.conditions import find
from kohort.api.core.batch import ExitCodeRequirement, PodConditionPattern, PodFailurePolicy, PodFailureRule
from kohort.api.core.objects import StatusCondition
from kohort.api.core.pods import ContainerStatus
from kohort.embedded.controllers.jobs.views import INDEX_FAILURES, INDEX_IGNORED, JobView
from kohort.embedded.controllers.views import ControllerPod
from kohort.kube.backoff import Backoff

FAIL_JOB, FAIL_INDEX, IGNORE = "FailJob", "FailIndex", "Ignore"
_WAITS: Final = Backoff(base=10.0, cap=600.0, jitter=0.0)
_MAX_FAILURES = 2**31 - 1


def has_failed(job: JobView, pod: ControllerPod) -> bool:
    """Whether a pod counts as failed; terminating pods do, unless podReplacementPolicy is Failed."""
    if pod.status.phase == "Failed":
        return True
    return pod.is_terminating and pod.status.phase != "Succeeded" and not job.replaces_only_failed


# Pod failure policy


@dataclass(frozen=True, slots=True)
class FailurePolicyResult:
    """The policy action for a failed pod, with the message for a failing Job."""

    action: str = "Count"
    message: str = ""

    @property
    def counts(self) -> bool:
        """Whether the failure counts towards the backoff limit."""
        return self.action != IGNORE


_COUNTED = FailurePolicyResult()


def apply_policy(policy: PodFailurePolicy | None, pod: ControllerPod) -> FailurePolicyResult:
    """The action of the first matching rule; Count if none matches."""
    for number, rule in enumerate(policy.rules if policy else ()):
        how = _matches(rule, pod)
        if how:
            return FailurePolicyResult(rule.action, f"{how} matching {rule.action} rule at index {number}")
    return _COUNTED


def _matches(rule: PodFailureRule, pod: ControllerPod) -> str:
    """The message of a matching rule; empty if it does not match."""
    place = f"{pod.metadata.namespace}/{pod.metadata.name}"
    if rule.on_exit_codes is not None:
        container = _by_exit_code(rule.on_exit_codes, pod)
        if container is None or container.state.terminated is None:
            return ""
        code = container.state.terminated.exit_code
        return f"Container {container.name} for pod {place} failed with exit code {code}"
    condition = _by_condition(rule.on_pod_conditions, pod.status.conditions)
    return f"Pod {place} has condition {condition.type}" if condition else ""


def _by_exit_code(wanted: ExitCodeRequirement, pod: ControllerPod) -> ContainerStatus | None:
    for container in (*pod.status.container_statuses, *pod.status.init_container_statuses):
        ended = container.state.terminated
        if ended is None or ended.exit_code == 0 or wanted.container_name not in ("", container.name):
            continue
        if (ended.exit_code in wanted.values) == (wanted.operator == "In"):
            return container
    return None


def _by_condition(wanted: Iterable[PodConditionPattern], present: Iterable[StatusCondition]) -> StatusCondition | None:
    patterns = {(pattern.type, pattern.status or "True") for pattern in wanted}
    return next((each for each in present if (each.type, each.status) in patterns), None)


# Backoff


def finish_time(pod: ControllerPod) -> datetime:
    """When a pod finished: the end of its last container, or an approximation from its status."""
    status, metadata = pod.status, pod.metadata
    ends = [each.state.terminated for each in status.container_statuses]
    finished = [end.finished_at for end in ends if end is not None and end.finished_at is not None]
    if finished and len(finished) == len(ends):
        sidecars = (each.state.terminated for each in status.init_container_statuses)
        return max(*finished, *(end.finished_at for end in sidecars if end and end.finished_at), finished[0])
    ready = find(status.conditions, "Ready")
    if ready is not None and ready.status == "False" and ready.last_transition_time is not None:
        return ready.last_transition_time
    if metadata.deletion_timestamp is not None:
        return metadata.deletion_timestamp - timedelta(seconds=metadata.deletion_grace_period_seconds or 0)
    return metadata.creation_timestamp or _LONG_AGO


_LONG_AGO = datetime.fromisoformat("1970-01-01T00:00:00Z")


@dataclass(frozen=True, slots=True)
class FailureRecord:
    """Failures since the last success of a Job and the time of the last one."""

    failures: int = 0
    last: datetime | None = None

    def after(self, succeeded: Sequence[ControllerPod], failed: Sequence[ControllerPod]) -> "FailureRecord":
        """The record including pods that just finished; a success resets it."""
        if not succeeded and not failed:
            return self
        success = max((finish_time(pod) for pod in succeeded), default=None)
        times = [finish_time(pod) for pod in failed]
        later = [time for time in times if success is None or time > success]
        before = self.failures if success is None else 0
        return FailureRecord(before + len(later), max(later, default=None))

    def wait(self, now: datetime) -> float:
        """Seconds until another pod may be created."""
        return _wait(self.failures, self.last, now)


NO_FAILURES = FailureRecord()


def _wait(failures: int, last: datetime | None, now: datetime) -> float:
    if not failures or last is None:
        return 0.0
    return max(0.0, _WAITS.steady(failures) - (now - last).total_seconds())


@dataclass(frozen=True, slots=True)
class IndexFailures:
    """Counted and ignored failures of one index."""

    counted: int = 0
    ignored: int = 0

    @property
    def total(self) -> int:
        """All failures."""
        return self.counted + self.ignored


def failures_before(pod: ControllerPod) -> IndexFailures:
    """The failures of the index recorded in a pod's annotations."""
    annotations = pod.metadata.annotations
    return IndexFailures(_number(annotations.get(INDEX_FAILURES)), _number(annotations.get(INDEX_IGNORED)))


def _number(text: str | None) -> int:
    """Parses a count that users may have changed; invalid text counts as zero."""
    number = int(text) if text and text.isascii() and text.isdigit() else 0
    return number if number <= _MAX_FAILURES else 0


def failures_with(job: JobView, pod: ControllerPod) -> IndexFailures:
    """The failures of an index including this pod."""
    before = failures_before(pod)
    if apply_policy(job.spec.pod_failure_policy, pod).counts:
        return IndexFailures(before.counted + 1, before.ignored)
    return IndexFailures(before.counted, before.ignored + 1)


def index_wait(pod: ControllerPod | None, now: datetime) -> float:
    """Seconds until the last failed pod of an index may be replaced."""
    return 0.0 if pod is None else _wait(failures_before(pod).total + 1, finish_time(pod), now)
