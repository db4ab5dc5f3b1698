"""How many pods a Job should have now, and so which to make and which to let go.

Pods that are let go here have done nothing wrong: they lose their finalizer first, and are never counted.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from kohort.embedded.controllers.jobs.failures import FailureRecord, IndexFailures, failures_with, index_wait
from kohort.embedded.controllers.jobs.pod_summary import JobPodSummary, has_place, held_pods, indexes_of
from kohort.embedded.controllers.jobs.views import SeenJob, index_of, is_tracked
from kohort.embedded.controllers.views import ControllerPod

MOST_AT_ONCE = 500
"""Pods that are made or let go in one step, so that a large Job does not keep others waiting."""
_PHASES = {"Pending": 0, "": 0, "Unknown": 1, "Running": 2}


@dataclass(frozen=True, slots=True)
class NewPod:
    """A pod to be made: any, or the next for an index."""

    index: int | None = None
    failures: IndexFailures | None = None
    """Failures of the index so far, where they are counted for each."""


@dataclass(frozen=True, slots=True)
class PodChanges:
    """Pods to make, or pods to let go, or how long to wait before any is made."""

    creates: tuple[NewPod, ...] = ()
    dismissals: tuple[ControllerPod, ...] = ()
    wait: float | None = None


AS_IT_IS = PodChanges()


def plan_pod_changes(job: SeenJob, census: JobPodSummary, record: FailureRecord, now: datetime) -> PodChanges:
    """Bring the number of active pods to what the Job wants."""
    if job.spec.suspend:
        return PodChanges(dismissals=census.active)
    surplus = _surplus(job, census)
    if surplus:
        return PodChanges(dismissals=tuple(surplus[:MOST_AT_ONCE]))
    leaving = len(census.leaving) if job.replaces_only_failed else 0
    short = min(_wanted(job, census) - leaving - len(census.active), MOST_AT_ONCE)
    if short <= 0:
        return AS_IT_IS
    if job.has_limit_per_index:
        return _by_index(job, census, short, now)
    wait = record.wait(now)
    if wait > 0:
        return PodChanges(wait=wait)
    if job.is_indexed:
        return PodChanges(tuple(NewPod(index) for index in _pending(job, census, short)))
    return PodChanges((NewPod(),) * short)


def _wanted(job: SeenJob, census: JobPodSummary) -> int:
    """Pods that should be active: never more than completions that are left; after a success, those that are."""
    if job.spec.completions is not None:
        return max(0, min(job.spec.parallelism, job.spec.completions - census.succeeded))
    return len(census.active) if census.succeeded else job.spec.parallelism


def _pending(job: SeenJob, census: JobPodSummary, count: int) -> list[int]:
    taken = census.completed | indexes_of(census.active)
    if job.replaces_only_failed:
        taken |= indexes_of(census.leaving)
    if census.failed_indexes is not None:
        taken |= census.failed_indexes
    return taken.missing(job.spec.completions or 0, count)


def _by_index(job: SeenJob, census: JobPodSummary, short: int, now: datetime) -> PodChanges:
    """Each index waits for its own failures; an index that may start does not wait for the others."""
    held = held_pods(job, census)
    waits = {index: index_wait(held.get(index), now) for index in _pending(job, census, short)}
    ready = [index for index, wait in waits.items() if wait == 0]
    creates = tuple(NewPod(index, _failures(job, held.get(index))) for index in ready)
    return PodChanges(creates, wait=min((wait for wait in waits.values() if wait > 0), default=None))


def _failures(job: SeenJob, predecessor: ControllerPod | None) -> IndexFailures:
    return IndexFailures() if predecessor is None else failures_with(job, predecessor)


# Letting go


def _surplus(job: SeenJob, census: JobPodSummary) -> list[ControllerPod]:
    """Pods without a place of their own, and then as many as are too many, the least advanced first."""
    misplaced, placed = _misplaced(job, census.active)
    excess = len(placed) - _wanted(job, census)
    return misplaced + sorted(placed, key=_advance)[:excess] if excess > 0 else misplaced


def _misplaced(job: SeenJob, active: Sequence[ControllerPod]) -> tuple[list[ControllerPod], list[ControllerPod]]:
    """Pods of an Indexed Job without a valid index, or behind a better one of the same; and the rest."""
    if not job.is_indexed:
        return [], list(active)
    best: dict[int, ControllerPod] = {}
    for pod in active:
        index = index_of(pod)
        if index is not None and has_place(job, pod) and (index not in best or _advance(pod) > _advance(best[index])):
            best[index] = pod
    chosen = {pod.metadata.uid for pod in best.values()}
    return [pod for pod in active if pod.metadata.uid not in chosen], list(best.values())


def _advance(pod: ControllerPod) -> tuple[bool | int | float, ...]:
    """How far a pod has come: placed, running, ready, ready for long, seldom restarted, old.

    Before all that it is tracked: one that is not was let go by a controller that did not live to delete it.
    """
    created = pod.metadata.creation_timestamp
    since = pod.ready_since()
    restarts = max(_restarts(pod), default=0)
    age = -created.timestamp() if created else float("-inf")
    placed, phase = bool(pod.spec.node_name), _PHASES.get(pod.status.phase, 0)
    return is_tracked(pod), placed, phase, since is not None, -(since or 0.0), -restarts, age


def _restarts(pod: ControllerPod) -> Iterable[int]:
    return (each.restart_count for each in pod.status.container_statuses)
