"""The counters of a Job: which pods that have ended are noted, which notes become counts, which pods may go.

In three steps that may each be interrupted: a pod's uid is written into the status, then the pod loses its finalizer,
then the uid turns into a count. Succeeded pods of Indexed Jobs need no note: their index tells that they are counted.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import msgspec

from kohort.api.core.batch import UncountedTerminatedPods
from kohort.embedded.controllers.jobs.completion import COMPLETED, JobEnd
from kohort.embedded.controllers.jobs.failures import has_failed, judge
from kohort.embedded.controllers.jobs.indexes import Indexes
from kohort.embedded.controllers.jobs.pod_summary import JobPodSummary, has_place, held_pods
from kohort.embedded.controllers.jobs.views import SeenJob, SeenJobStatus, index_of
from kohort.embedded.controllers.views import ControllerPod

MOST_NOTES = 500
"""Uids in a status, so that it stays below some 20 KB."""


@dataclass(slots=True)
class _Ledger:
    """Notes as they will stand in the status, and the pods that may go when they do."""

    succeeded: dict[str, None]
    failed: dict[str, None]
    indexes: set[int] = field(default_factory=set)
    release: list[ControllerPod] = field(default_factory=list)

    @property
    def has_room(self) -> bool:
        return len(self.succeeded) + len(self.failed) + len(self.indexes) < MOST_NOTES


@dataclass(frozen=True, slots=True)
class Account:
    """The status with its counters up to date, and the pods that may lose their finalizer once it is written."""

    status: SeenJobStatus
    release: tuple[ControllerPod, ...]


def settle(job: SeenJob, census: JobPodSummary, status: SeenJobStatus, ending: JobEnd | None) -> Account:
    """Turn notes into counts where the pod has let go, and note the pods that have ended since."""
    tracked = {pod.metadata.uid for pod in census.tracked}
    notes = job.uncounted
    ledger = _Ledger(_kept(notes.succeeded, tracked), _kept(notes.failed, tracked))
    counted = {"failed": status.failed + len(notes.failed) - len(ledger.failed)}
    if not job.is_indexed:
        counted["succeeded"] = status.succeeded + len(notes.succeeded) - len(ledger.succeeded)
    _note_all(job, census, ledger, ending)
    uncounted = UncountedTerminatedPods(succeeded=tuple(ledger.succeeded), failed=tuple(ledger.failed))
    status = msgspec.structs.replace(status, uncounted_terminated_pods=uncounted, **counted)
    return Account(_with_indexes(job, census, status, ledger.indexes), tuple(ledger.release))


def _kept(uids: Iterable[str], tracked: set[str]) -> dict[str, None]:
    return dict.fromkeys(uid for uid in uids if uid in tracked)


def _note_all(job: SeenJob, census: JobPodSummary, ledger: _Ledger, ending: JobEnd | None) -> None:
    held = {pod.metadata.uid for pod in held_pods(job, census).values()}
    for pod in _in_order(job, census.tracked):
        if _may_go(job, pod, ending, held) and _note(job, census, ledger, pod, ending):
            ledger.release.append(pod)


def _in_order(job: SeenJob, pods: Sequence[ControllerPod]) -> Sequence[ControllerPod]:
    return sorted(pods, key=lambda pod: index_of(pod) or 0) if job.is_indexed else pods


def _may_go(job: SeenJob, pod: ControllerPod, ending: JobEnd | None, held: set[str]) -> bool:
    if job.is_leaving or ending is not None or pod.status.phase == "Succeeded":
        return True
    return has_failed(job, pod) and pod.metadata.uid not in held


def _note(job: SeenJob, census: JobPodSummary, ledger: _Ledger, pod: ControllerPod, ending: JobEnd | None) -> bool:
    """Write down how a pod ended, where that counts; False where no room is left."""
    uid = pod.metadata.uid
    if not has_place(job, pod) or uid in ledger.failed:
        return True
    if pod.status.phase == "Succeeded":
        return _note_success(job, census, ledger, pod)
    if _has_ended_badly(job, pod, ending) and judge(job.spec.pod_failure_policy, pod).counts:
        if not ledger.has_room:
            return False
        ledger.failed[uid] = None
    return True


def _has_ended_badly(job: SeenJob, pod: ControllerPod, ending: JobEnd | None) -> bool:
    """When a Job fails, so has every pod that had not ended; none has that was stopped because others were enough."""
    if ending is None or ending == COMPLETED:
        return has_failed(job, pod)
    return pod.status.phase == "Failed" or not ending.is_success


def _note_success(job: SeenJob, census: JobPodSummary, ledger: _Ledger, pod: ControllerPod) -> bool:
    index = index_of(pod) if job.is_indexed else None
    is_known = index in census.recorded if job.is_indexed else pod.metadata.uid in ledger.succeeded
    if not is_known and not ledger.has_room:
        return False
    if index is not None and not is_known:
        ledger.indexes.add(index)
    elif not is_known:
        ledger.succeeded[pod.metadata.uid] = None
    return True


def _with_indexes(job: SeenJob, census: JobPodSummary, status: SeenJobStatus, new: set[int]) -> SeenJobStatus:
    if not job.is_indexed:
        return status
    completed = census.recorded | Indexes.of(new)
    failed = None if census.failed_indexes is None else str(census.failed_indexes)
    return msgspec.structs.replace(
        status, succeeded=len(completed), completed_indexes=str(completed), failed_indexes=failed
    )
