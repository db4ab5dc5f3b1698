"""Evaluates candidates in order: each is added to the engine of a snapshot, followed by a scheduling run.

So the result is a decision of the engine that considers pending workloads and their order, not an estimate.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from msgspec import structs

from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.v1beta2.workload import Admission, WorkloadStatus
from kohort.api.meta import ObjectKey
from kohort.controllers.devices.claims import UncountableError
from kohort.engine.decisions import Reserve
from kohort.engine.explain import Explanation, WorkloadPhase, would_fit
from kohort.insight.checks import checks_after
from kohort.insight.fit_check.candidates import FitCandidate
from kohort.insight.snapshot import Snapshot
from kohort.insight.workload_report.builder import uncountable, without_queue
from kohort.insight.workload_report.holders import resource_holders
from kohort.insight.workload_report.model import ResourceHolders


@dataclass(frozen=True, slots=True)
class FitResult:
    """The result for a candidate."""

    candidate: FitCandidate
    explanation: Explanation | None = None
    """Of its first Workload that would not be admitted, else of its last; None if it cannot be evaluated."""
    started: int = 0
    """Number of its Workloads that would be admitted now."""
    holders: tuple[ResourceHolders, ...] = ()
    hints: tuple[str, ...] = ()
    """Remedies for a missing queue."""
    problem: str = ""
    """Why it cannot be evaluated."""
    checks: tuple[str, ...] = ()
    """Admission checks that it would wait for after the reservation."""

    @property
    def starts(self) -> bool:
        """Whether all its Workloads would be admitted now."""
        return self.explanation is not None and self.started == len(self.candidate.workloads)


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The result for one Workload."""

    explanation: Explanation
    admission: Admission | None = None
    checks: tuple[str, ...] = ()
    holders: tuple[ResourceHolders, ...] = ()

    @property
    def starts(self) -> bool:
        return self.admission is not None and not self.checks


def evaluate_fit(snapshot: Snapshot, candidates: Iterable[FitCandidate]) -> Iterator[FitResult]:
    """The results, in order."""
    numbers = iter(range(1_000_000))
    if snapshot.can_evaluate:
        # Decisions that the cluster's manager is about to make come first.
        snapshot.engine.schedule(snapshot.taken)
    for candidate in candidates:
        problem = candidate.problem or _unqueued(candidate)
        yield FitResult(candidate, problem=problem) if problem else _evaluated(snapshot, candidate, numbers)


def _unqueued(candidate: FitCandidate) -> str:
    if not candidate.workloads:
        return "No pods"
    return "" if candidate.queue.name else "No queue specified: it would start immediately and bypass quota"


def _evaluated(snapshot: Snapshot, candidate: FitCandidate, numbers: Iterator[int]) -> FitResult:
    found = [_outcome(snapshot, candidate, each, next(numbers)) for each in candidate.workloads]
    shown = next((each for each in found if not each.starts), found[-1])
    is_lost = shown.explanation.cluster_queue not in snapshot.engine.read.cluster_queues
    return FitResult(
        candidate,
        shown.explanation,
        sum(each.starts for each in found),
        shown.holders,
        tuple(without_queue(snapshot, shown.explanation)) if is_lost else (),
        checks=shown.checks,
    )


def _outcome(snapshot: Snapshot, candidate: FitCandidate, given: Workload, number: int) -> _Outcome:
    """Add one Workload after all others, and run the scheduler."""
    engine, now = snapshot.engine, snapshot.taken
    workload = _submitted(given, candidate, now + timedelta(microseconds=number))
    try:
        devices = snapshot.claims.devices_of(workload)
    except UncountableError as error:
        return _Outcome(replace(uncountable(snapshot, workload, str(error)), state=WorkloadPhase.NOT_SUBMITTED))
    expected = would_fit(engine, workload, candidate.queue, now, devices)
    holders = resource_holders(engine, expected)
    named = _named(workload, candidate, number)
    key = ObjectKey(named.metadata.namespace, named.metadata.name)
    snapshot.claims.apply(engine, named, now)
    decided = engine.schedule(now)
    admission = next((each.admission for each in decided if isinstance(each, Reserve) and each.workload == key), None)
    if admission is None and _is_admitted(expected):
        after = engine.explain(key, now)
        expected = replace(after, workload=expected.workload, state=WorkloadPhase.NOT_SUBMITTED)
    return _Outcome(expected, admission, checks_after(snapshot, admission), holders)


def _is_admitted(explanation: Explanation) -> bool:
    return explanation.evaluation is not None and explanation.evaluation.is_admitted


def _submitted(workload: Workload, candidate: FitCandidate, time: datetime) -> Workload:
    """The Workload with this creation time and an empty status."""
    head = structs.replace(workload.metadata, creation_timestamp=time, namespace=candidate.queue.namespace)
    return structs.replace(workload, metadata=head, status=WorkloadStatus())


def _named(workload: Workload, candidate: FitCandidate, number: int) -> Workload:
    """The Workload with a unique name and UID."""
    name = f"{workload.metadata.name or candidate.subject} (new {number})"
    return structs.replace(workload, metadata=structs.replace(workload.metadata, name=name, uid=f"new-{number}"))
