"""The pods of a Job by state, and totals combined with the counters of the status.

A pod carries the tracking finalizer until it is counted. A pod with the finalizer that is not in
uncountedTerminatedPods is new; a listed pod without the finalizer is counted next. So no pod is counted twice or
missed, whenever the controller is interrupted.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from kohort.embedded.controllers.jobs.failures import FAIL_INDEX, apply_policy, failures_before, finish_time, has_failed
from kohort.embedded.controllers.jobs.indexes import Indexes
from kohort.embedded.controllers.jobs.views import JobView, index_of, is_tracked
from kohort.embedded.controllers.views import ControllerPod

NO_INDEXES = Indexes()


@dataclass(frozen=True, slots=True)
class JobPodSummary:
    """A Job's pods and its totals, including those that are not in the counters yet."""

    active: tuple[ControllerPod, ...]
    terminating: tuple[ControllerPod, ...]
    """Terminating and not finished yet."""
    tracked: tuple[ControllerPod, ...]
    new_succeeded: tuple[ControllerPod, ...]
    new_failed: tuple[ControllerPod, ...]
    recorded: Indexes
    """Completed indexes recorded in the status."""
    completed: Indexes
    """Recorded and newly completed indexes."""
    failed_indexes: Indexes | None
    """None without backoffLimitPerIndex."""
    succeeded: int
    failed: int

    @property
    def ready(self) -> int:
        """Number of ready active pods."""
        return sum(pod.is_ready for pod in self.active)


def summarize_pods(job: JobView, pods: Sequence[ControllerPod]) -> JobPodSummary:
    """Groups a Job's pods by state."""
    tracked = tuple(pod for pod in pods if is_tracked(pod))
    valid = [pod for pod in tracked if can_count(job, pod)]
    uncounted = job.uncounted
    new_succeeded = tuple(_new(valid, uncounted.succeeded, lambda pod: pod.status.phase == "Succeeded"))
    new_failed = tuple(_new(valid, uncounted.failed, lambda pod: has_failed(job, pod)))
    recorded, completed = _completed(job, valid)
    policy = job.spec.pod_failure_policy
    failed = sum(policy is None or apply_policy(policy, pod).counts for pod in new_failed)
    counted = job.status.succeeded + len(uncounted.succeeded) + len(new_succeeded)
    return JobPodSummary(
        active=tuple(pod for pod in pods if pod.is_active),
        terminating=tuple(pod for pod in pods if pod.is_terminating and not pod.is_finished),
        tracked=tracked,
        new_succeeded=new_succeeded,
        new_failed=new_failed,
        recorded=recorded,
        completed=completed,
        failed_indexes=_failed_indexes(job, valid) if job.has_limit_per_index else None,
        succeeded=len(completed) if job.is_indexed else counted,
        failed=job.status.failed + len(uncounted.failed) + failed,
    )


def can_count(job: JobView, pod: ControllerPod) -> bool:
    """Whether a pod can count: in an Indexed Job its index must be below completions."""
    if not job.is_indexed:
        return True
    index = index_of(pod)
    return index is not None and index < (job.spec.completions or 0)


def indexes_of(pods: Iterable[ControllerPod]) -> Indexes:
    """The completion indexes of pods."""
    return Indexes.of({index for pod in pods if (index := index_of(pod)) is not None})


def _new(
    pods: Iterable[ControllerPod], known: tuple[str, ...], matches: Callable[[ControllerPod], bool]
) -> Iterable[ControllerPod]:
    seen = frozenset(known)
    return (pod for pod in pods if pod.metadata.uid not in seen and matches(pod))


def _completed(job: JobView, valid: Iterable[ControllerPod]) -> tuple[Indexes, Indexes]:
    if not job.is_indexed:
        return NO_INDEXES, NO_INDEXES
    recorded = Indexes.parse(job.status.completed_indexes, job.spec.completions or 0)
    return recorded, recorded | indexes_of(pod for pod in valid if pod.status.phase == "Succeeded")


def _failed_indexes(job: JobView, valid: Iterable[ControllerPod]) -> Indexes:
    recorded = Indexes.parse(job.status.failed_indexes or "", job.spec.completions or 0)
    return recorded | indexes_of(pod for pod in valid if _ends_its_index(job, pod))


def _ends_its_index(job: JobView, pod: ControllerPod) -> bool:
    """Whether a pod's failure exceeds backoffLimitPerIndex."""
    if not has_failed(job, pod):
        return False
    policy_result = apply_policy(job.spec.pod_failure_policy, pod)
    if policy_result.action == FAIL_INDEX:
        return True
    return policy_result.counts and failures_before(pod).counted >= (job.spec.backoff_limit_per_index or 0)


def held_pods(job: JobView, summary: JobPodSummary) -> dict[int, ControllerPod]:
    """The last failed pod of each index that awaits a replacement, which inherits its failure count.

    It keeps its finalizer until then, or the count would be lost.
    """
    if summary.failed_indexes is None:
        return {}
    settled = summary.completed | summary.failed_indexes | indexes_of(summary.active)
    held: dict[int, ControllerPod] = {}
    for pod in summary.tracked:
        index = index_of(pod)
        if index is None or index in settled or not can_count(job, pod) or not has_failed(job, pod):
            continue
        if index not in held or _age(pod) >= _age(held[index]):
            held[index] = pod
    return held


def _age(pod: ControllerPod) -> tuple[int, float]:
    return failures_before(pod).total, finish_time(pod).timestamp()
