"""Would it start now: candidates come to a copy of the cluster in their order, and its engine takes a turn for each.

So the answer is a decision and no estimate: whoever waits there already, behind whom, and who goes first is all in it.
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
from kohort.insight.workload_report.holders import holdings_of
from kohort.insight.workload_report.model import ResourceHolders


@dataclass(frozen=True, slots=True)
class FitResult:
    """What would become of a candidate."""

    candidate: FitCandidate
    explanation: Explanation | None = None
    """Of its first Workload that would not start, else of its last; None where nothing can be said."""
    started: int = 0
    """How many of its Workloads would start now."""
    holdings: tuple[ResourceHolders, ...] = ()
    hints: tuple[str, ...] = ()
    """What to do about a queue that is not there."""
    problem: str = ""
    """Why nothing can be said."""
    checks: tuple[str, ...] = ()
    """Admission checks for which it would wait, with quota and before it starts."""

    @property
    def starts(self) -> bool:
        """Whether all of it would start now."""
        return self.explanation is not None and self.started == len(self.candidate.workloads)


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What became of one Workload."""

    explanation: Explanation
    admission: Admission | None = None
    checks: tuple[str, ...] = ()
    holdings: tuple[ResourceHolders, ...] = ()

    @property
    def starts(self) -> bool:
        return self.admission is not None and not self.checks


def evaluate_fit(snapshot: Snapshot, candidates: Iterable[FitCandidate]) -> Iterator[FitResult]:
    """One verdict each, in order."""
    numbers = iter(range(1_000_000))
    if snapshot.can_judge:
        # Whatever the cluster's manager is about to decide comes first.
        snapshot.engine.schedule(snapshot.taken)
    for candidate in candidates:
        problem = candidate.problem or _unqueued(candidate)
        yield FitResult(candidate, problem=problem) if problem else _judged(snapshot, candidate, numbers)


def _unqueued(candidate: FitCandidate) -> str:
    if not candidate.workloads:
        return "It has no pods"
    return "" if candidate.queue.name else "It names no queue, so nothing would hold it back and no quota count for it"


def _judged(snapshot: Snapshot, candidate: FitCandidate, numbers: Iterator[int]) -> FitResult:
    found = [_outcome(snapshot, candidate, each, next(numbers)) for each in candidate.workloads]
    told = next((each for each in found if not each.starts), found[-1])
    is_lost = told.explanation.cluster_queue not in snapshot.engine.read.cluster_queues
    return FitResult(
        candidate,
        told.explanation,
        sum(each.starts for each in found),
        told.holdings,
        tuple(without_queue(snapshot, told.explanation)) if is_lost else (),
        checks=told.checks,
    )


def _outcome(snapshot: Snapshot, candidate: FitCandidate, given: Workload, number: int) -> _Outcome:
    """Let one Workload come, after all others, and take a turn."""
    engine, now = snapshot.engine, snapshot.taken
    workload = _submitted(given, candidate, now + timedelta(microseconds=number))
    try:
        devices = snapshot.claims.devices_of(workload)
    except UncountableError as error:
        return _Outcome(replace(uncountable(snapshot, workload, str(error)), state=WorkloadPhase.NOT_SUBMITTED))
    foreseen = would_fit(engine, workload, candidate.queue, now, devices)
    holdings = holdings_of(engine, foreseen)
    named = _named(workload, candidate, number)
    key = ObjectKey(named.metadata.namespace, named.metadata.name)
    snapshot.claims.tell(engine, named, now)
    decided = engine.schedule(now)
    admission = next((each.admission for each in decided if isinstance(each, Reserve) and each.workload == key), None)
    if admission is None and _says_yes(foreseen):
        after = engine.explain(key, now)
        foreseen = replace(after, workload=foreseen.workload, state=WorkloadPhase.NOT_SUBMITTED)
    return _Outcome(foreseen, admission, checks_after(snapshot, admission), holdings)


def _says_yes(explanation: Explanation) -> bool:
    return explanation.evaluation is not None and explanation.evaluation.is_admitted


def _submitted(workload: Workload, candidate: FitCandidate, time: datetime) -> Workload:
    """A Workload that comes after those before it, with nothing decided about it."""
    head = structs.replace(workload.metadata, creation_timestamp=time, namespace=candidate.queue.namespace)
    return structs.replace(workload, metadata=head, status=WorkloadStatus())


def _named(workload: Workload, candidate: FitCandidate, number: int) -> Workload:
    """A Workload that is in nobody's way: with a name and a life of its own."""
    name = f"{workload.metadata.name or candidate.subject} (new {number})"
    return structs.replace(workload, metadata=structs.replace(workload.metadata, name=name, uid=f"new-{number}"))
