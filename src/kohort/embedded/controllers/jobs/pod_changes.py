"""Computes how many pods a Job should have and which to create or delete.

Surplus pods have not failed: they lose their finalizer before deletion and are never counted.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from kohort.embedded.controllers.jobs.failures import FailureRecord, IndexFailures, failures_with, index_wait
from kohort.embedded.controllers.jobs.pod_summary import JobPodSummary, can_count, held_pods, indexes_of
from kohort.embedded.controllers.jobs.views import JobView, index_of, is_tracked
from kohort.embedded.controllers.views import ControllerPod

MAX_BATCH = 500
"""Maximum number of pods created or deleted in one step, so that a large Job does not delay others."""
_PHASES = {"Pending": 0, "": 0, "Unknown": 1, "Running": 2}


@dataclass(frozen=True, slots=True)
class NewPod:
    """A pod to create, for an index if the Job is Indexed."""

    index: int | None = None
    failures: IndexFailures | None = None
    """Failures of the index so far, with backoffLimitPerIndex."""


@dataclass(frozen=True, slots=True)
class PodChanges:
    """Pods to create, pods to delete, or seconds to wait before creating any."""

    creates: tuple[NewPod, ...] = ()
    removals: tuple[ControllerPod, ...] = ()
    wait: float | None = None


AS_IT_IS = PodChanges()


def plan_pod_changes(job: JobView, summary: JobPodSummary, record: FailureRecord, now: datetime) -> PodChanges:
    """Brings the number of active pods to the desired one."""
    if job.spec.suspend:
        return PodChanges(removals=summary.active)
    surplus = _surplus(job, summary)
    if surplus:
        return PodChanges(removals=tuple(surplus[:MAX_BATCH]))
    terminating = len(summary.terminating) if job.replaces_only_failed else 0
    short = min(_wanted(job, summary) - terminating - len(summary.active), MAX_BATCH)
    if short <= 0:
        return AS_IT_IS
    if job.has_limit_per_index:
        return _by_index(job, summary, short, now)
    wait = record.wait(now)
    if wait > 0:
        return PodChanges(wait=wait)
    if job.is_indexed:
        return PodChanges(tuple(NewPod(index) for index in _pending(job, summary, short)))
    return PodChanges((NewPod(),) * short)


def _wanted(job: JobView, summary: JobPodSummary) -> int:
    """Desired number of active pods: at most the remaining completions; after a success, the present ones."""
    if job.spec.completions is not None:
        return max(0, min(job.spec.parallelism, job.spec.completions - summary.succeeded))
    return len(summary.active) if summary.succeeded else job.spec.parallelism


def _pending(job: JobView, summary: JobPodSummary, count: int) -> list[int]:
    taken = summary.completed | indexes_of(summary.active)
    if job.replaces_only_failed:
        taken |= indexes_of(summary.terminating)
    if summary.failed_indexes is not None:
        taken |= summary.failed_indexes
    return taken.missing(job.spec.completions or 0, count)


def _by_index(job: JobView, summary: JobPodSummary, short: int, now: datetime) -> PodChanges:
    """Backoff applies per index; an index that may start does not wait for others."""
    held = held_pods(job, summary)
    waits = {index: index_wait(held.get(index), now) for index in _pending(job, summary, short)}
    ready = [index for index, wait in waits.items() if wait == 0]
    creates = tuple(NewPod(index, _failures(job, held.get(index))) for index in ready)
    return PodChanges(creates, wait=min((wait for wait in waits.values() if wait > 0), default=None))


def _failures(job: JobView, predecessor: ControllerPod | None) -> IndexFailures:
    return IndexFailures() if predecessor is None else failures_with(job, predecessor)


# Deletion


def _surplus(job: JobView, summary: JobPodSummary) -> list[ControllerPod]:
    """Pods without a valid index, then as many as exceed the desired number, least advanced first."""
    misplaced, placed = _misplaced(job, summary.active)
    excess = len(placed) - _wanted(job, summary)
    return misplaced + sorted(placed, key=_advance)[:excess] if excess > 0 else misplaced


def _misplaced(job: JobView, active: Sequence[ControllerPod]) -> tuple[list[ControllerPod], list[ControllerPod]]:
    """Pods of an Indexed Job without a valid index or duplicating one; and the others."""
    if not job.is_indexed:
        return [], list(active)
    best: dict[int, ControllerPod] = {}
    for pod in active:
        index = index_of(pod)
        if index is not None and can_count(job, pod) and (index not in best or _advance(pod) > _advance(best[index])):
            best[index] = pod
    chosen = {pod.metadata.uid for pod in best.values()}
    return [pod for pod in active if pod.metadata.uid not in chosen], list(best.values())


def _advance(pod: ControllerPod) -> tuple[bool | int | float, ...]:
    """Sort key of progress: scheduled, running, ready, ready for long, few restarts, old.

    Tracked pods rank first: an untracked one was released by a controller that stopped before deleting it.
    """
    created = pod.metadata.creation_timestamp
    since = pod.ready_since()
    restarts = max(_restarts(pod), default=0)
    age = -created.timestamp() if created else float("-inf")
    placed, phase = bool(pod.spec.node_name), _PHASES.get(pod.status.phase, 0)
    return is_tracked(pod), placed, phase, since is not None, -(since or 0.0), -restarts, age


def _restarts(pod: ControllerPod) -> Iterable[int]:
    return (each.restart_count for each in pod.status.container_statuses)
