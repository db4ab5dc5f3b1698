"""Job accounting: uncounted terminated pods, counters and finalizer removal.

Three steps, each of which may be interrupted: a pod's UID is written to the status, its finalizer is removed, the UID
becomes a count. Succeeded pods of Indexed Jobs are not listed: completedIndexes shows whether they are counted.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import msgspec

from kohort.api.core.batch import UncountedTerminatedPods
from kohort.embedded.controllers.jobs.completion import COMPLETED, JobEnd
from kohort.embedded.controllers.jobs.failures import apply_policy, has_failed
from kohort.embedded.controllers.jobs.indexes import Indexes
from kohort.embedded.controllers.jobs.pod_summary import JobPodSummary, can_count, held_pods
from kohort.embedded.controllers.jobs.views import JobStatusView, JobView, index_of
from kohort.embedded.controllers.views import ControllerPod

MAX_UNCOUNTED = 500
"""Maximum number of UIDs in a status, which keeps it below some 20 KB."""


@dataclass(slots=True)
class _UncountedPods:
    """The new uncountedTerminatedPods and the pods that may be released once it is written."""

    succeeded: dict[str, None]
    failed: dict[str, None]
    indexes: set[int] = field(default_factory=set)
    release: list[ControllerPod] = field(default_factory=list)

    @property
    def has_capacity(self) -> bool:
        return len(self.succeeded) + len(self.failed) + len(self.indexes) < MAX_UNCOUNTED


@dataclass(frozen=True, slots=True)
class Account:
    """The status with updated counters, and the pods whose finalizer may be removed once it is written."""

    status: JobStatusView
    release: tuple[ControllerPod, ...]


def settle(job: JobView, summary: JobPodSummary, status: JobStatusView, ending: JobEnd | None) -> Account:
    """Counts listed pods without finalizer and lists the pods that finished since."""
    tracked = {pod.metadata.uid for pod in summary.tracked}
    notes = job.uncounted
    listed = _UncountedPods(_kept(notes.succeeded, tracked), _kept(notes.failed, tracked))
    counted = {"failed": status.failed + len(notes.failed) - len(listed.failed)}
    if not job.is_indexed:
        counted["succeeded"] = status.succeeded + len(notes.succeeded) - len(listed.succeeded)
    _list_finished(job, summary, listed, ending)
    uncounted = UncountedTerminatedPods(succeeded=tuple(listed.succeeded), failed=tuple(listed.failed))
    status = msgspec.structs.replace(status, uncounted_terminated_pods=uncounted, **counted)
    return Account(_with_indexes(job, summary, status, listed.indexes), tuple(listed.release))


def _kept(uids: Iterable[str], tracked: set[str]) -> dict[str, None]:
    return dict.fromkeys(uid for uid in uids if uid in tracked)


def _list_finished(job: JobView, summary: JobPodSummary, listed: _UncountedPods, ending: JobEnd | None) -> None:
    held = {pod.metadata.uid for pod in held_pods(job, summary).values()}
    for pod in _in_order(job, summary.tracked):
        if _may_release(job, pod, ending, held) and _list_pod(job, summary, listed, pod, ending):
            listed.release.append(pod)


def _in_order(job: JobView, pods: Sequence[ControllerPod]) -> Sequence[ControllerPod]:
    return sorted(pods, key=lambda pod: index_of(pod) or 0) if job.is_indexed else pods


def _may_release(job: JobView, pod: ControllerPod, ending: JobEnd | None, held: set[str]) -> bool:
    if job.is_terminating or ending is not None or pod.status.phase == "Succeeded":
        return True
    return has_failed(job, pod) and pod.metadata.uid not in held


def _list_pod(
    job: JobView, summary: JobPodSummary, listed: _UncountedPods, pod: ControllerPod, ending: JobEnd | None
) -> bool:
    """Adds a finished pod to the status if it counts; False if the list is full."""
    uid = pod.metadata.uid
    if not can_count(job, pod) or uid in listed.failed:
        return True
    if pod.status.phase == "Succeeded":
        return _list_success(job, summary, listed, pod)
    if _counts_as_failed(job, pod, ending) and apply_policy(job.spec.pod_failure_policy, pod).counts:
        if not listed.has_capacity:
            return False
        listed.failed[uid] = None
    return True


def _counts_as_failed(job: JobView, pod: ControllerPod, ending: JobEnd | None) -> bool:
    """Whether the pod counts as failed: unfinished pods of a failing Job do, surplus pods of a succeeding one do
    not."""
    if ending is None or ending == COMPLETED:
        return has_failed(job, pod)
    return pod.status.phase == "Failed" or not ending.is_success


def _list_success(job: JobView, summary: JobPodSummary, listed: _UncountedPods, pod: ControllerPod) -> bool:
    index = index_of(pod) if job.is_indexed else None
    is_known = index in summary.recorded if job.is_indexed else pod.metadata.uid in listed.succeeded
    if not is_known and not listed.has_capacity:
        return False
    if index is not None and not is_known:
        listed.indexes.add(index)
    elif not is_known:
        listed.succeeded[pod.metadata.uid] = None
    return True


def _with_indexes(job: JobView, summary: JobPodSummary, status: JobStatusView, new: set[int]) -> JobStatusView:
    if not job.is_indexed:
        return status
    completed = summary.recorded | Indexes.of(new)
    failed = None if summary.failed_indexes is None else str(summary.failed_indexes)
    return msgspec.structs.replace(
        status, succeeded=len(completed), completed_indexes=str(completed), failed_indexes=failed
    )
