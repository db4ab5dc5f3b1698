"""Would it start now: candidates judged in their order, each in a world where those before it have come already."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from msgspec import structs

from kohort.api.amounts import format_amount
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.v1beta2.workload import Admission, PodSetAssignment, WorkloadStatus
from kohort.api.markers import ResourceList
from kohort.api.meta import Condition
from kohort.engine.engine import Engine
from kohort.engine.events import Put
from kohort.engine.explain import Explanation, PodSetTrial
from kohort.insight.fitting.candidates import Candidate
from kohort.insight.snapshot import Snapshot
from kohort.insight.story.holders import holdings_of
from kohort.insight.story.model import Holding
from kohort.insight.story.telling import without_queue


@dataclass(frozen=True, slots=True)
class Verdict:
    """What would become of a candidate."""

    candidate: Candidate
    explanation: Explanation | None = None
    """Of its first Workload that would not start, else of its last; None where nothing can be said."""
    started: int = 0
    """How many of its Workloads would start now."""
    holdings: tuple[Holding, ...] = ()
    hints: tuple[str, ...] = ()
    """What to do about a queue that is not there."""
    problem: str = ""
    """Why nothing can be said."""

    @property
    def starts(self) -> bool:
        """Whether all of it would start now."""
        return self.explanation is not None and self.started == len(self.candidate.workloads)


def judge(snapshot: Snapshot, candidates: Iterable[Candidate]) -> Iterator[Verdict]:
    """One verdict each, in order."""
    numbers = iter(range(1_000_000))
    for candidate in candidates:
        problem = candidate.problem or _unqueued(candidate)
        yield Verdict(candidate, problem=problem) if problem else _judged(snapshot, candidate, numbers)


def _unqueued(candidate: Candidate) -> str:
    if not candidate.workloads:
        return "It has no pods"
    return "" if candidate.queue.name else "It names no queue, so nothing would hold it back and no quota count for it"


def _judged(snapshot: Snapshot, candidate: Candidate, numbers: Iterator[int]) -> Verdict:
    engine, now = snapshot.engine, snapshot.taken
    first: Explanation | None = None
    holdings: tuple[Holding, ...] = ()
    started = 0
    for given in candidate.workloads:
        number = next(numbers)
        workload = _submitted(given, now + timedelta(microseconds=number))
        explanation = engine.would_fit(workload, candidate.queue, now)
        if starts_now(explanation):
            started += 1
            last = explanation
        elif first is None:
            first, holdings = explanation, holdings_of(engine, explanation)
        _come(engine, _named(workload, candidate, number), explanation, now)
    told = first or last
    is_lost = told.cluster_queue not in engine.queues
    return Verdict(candidate, told, started, holdings, tuple(without_queue(snapshot, told)) if is_lost else ())


def starts_now(explanation: Explanation) -> bool:
    """Whether a Workload would be admitted at once: it fits, and nobody ahead of it must go first."""
    evaluation, standing = explanation.evaluation, explanation.standing
    if evaluation is None or not evaluation.is_admitted:
        return False
    return standing is None or not (standing.is_strict and standing.ahead)


def _submitted(workload: Workload, time: datetime) -> Workload:
    """A Workload that comes after those before it."""
    return structs.replace(workload, metadata=structs.replace(workload.metadata, creation_timestamp=time))


def _named(workload: Workload, candidate: Candidate, number: int) -> Workload:
    """A Workload that is in nobody's way: with a name and a life of its own."""
    head = structs.replace(
        workload.metadata,
        name=f"{workload.metadata.name or candidate.subject} (new {number})",
        namespace=candidate.queue.namespace,
        uid=f"new-{number}",
    )
    return structs.replace(workload, metadata=head)


def _come(engine: Engine, workload: Workload, explanation: Explanation, now: datetime) -> None:
    """Let the engine know of it, as it would be: with its quota, or waiting."""
    status = _admitted(explanation, now) if starts_now(explanation) else WorkloadStatus()
    engine.apply(Put(structs.replace(workload, status=status)), now)
    engine.forest.refresh()


def _admitted(explanation: Explanation, now: datetime) -> WorkloadStatus:
    evaluation = explanation.evaluation
    sets = evaluation.pod_sets if evaluation is not None else ()
    admission = Admission(
        cluster_queue=explanation.cluster_queue, pod_set_assignments=tuple(_assignment(each) for each in sets)
    )
    conditions = tuple(
        Condition(type=each, status="True", reason=each, message="", last_transition_time=now)
        for each in ("QuotaReserved", "Admitted")
    )
    return WorkloadStatus(admission=admission, conditions=conditions)


def _assignment(trial: PodSetTrial) -> PodSetAssignment:
    usage: ResourceList = {
        verdict.resource: format_amount(verdict.resource, verdict.request)
        for each in trial.trials
        for verdict in each.attempt.verdicts
        if trial.flavors.get(verdict.resource) == each.attempt.flavor
    }
    return PodSetAssignment(name=trial.name, flavors=dict(trial.flavors), resource_usage=usage, count=trial.count)
