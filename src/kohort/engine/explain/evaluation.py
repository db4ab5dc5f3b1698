"""What a cycle would find for one workload, found by a real cycle on a world that writes nothing down.

The world of a rehearsal always says that pods must be waited for (SCH-1035). So whoever fits comes back as waiting,
with all that was tried, instead of being counted; everybody else gets the very answer of a turn.
"""

from copy import copy
from datetime import datetime
from typing import TYPE_CHECKING

from kohort.api.kueue.v1beta2.workload import Admission
from kohort.engine import cycle
from kohort.engine.assignment import Assignment, FlavorAttempt, Mode, PodSetResult
from kohort.engine.decisions import Wait
from kohort.engine.explain.model import Evaluation, FlavorTrial, PodSetTrial
from kohort.engine.explain.preemption import explain_preemption
from kohort.engine.explain.state import obstacle_of
from kohort.engine.laps import Laps
from kohort.engine.lifecycle import reasons
from kohort.engine.preemption import Target
from kohort.engine.quota import FlavorResource, Usage
from kohort.engine.records import Queue, Workload
from kohort.engine.shortage import shortages

if TYPE_CHECKING:
    from kohort.engine.engine import Engine


def evaluate(engine: "Engine", workload: Workload, queue: Queue, now: datetime) -> Evaluation:
    """Look for a place for the workload from the first flavor on; the engine stays as it is (SCH-313)."""
    rehearsal = _Rehearsal(engine)
    understudy = copy(workload)
    understudy.queue, understudy.progress = queue, None
    head = cycle.Head(understudy, queue, obstacle=obstacle_of(engine, understudy, queue))
    (entry,) = cycle.run([head], rehearsal, now).waits
    if entry.decision is None:
        raise LookupError(f"a cycle came to no answer for {workload.key}")
    return _evaluation(engine, understudy, queue, entry.assignment, entry.decision)


class _Rehearsal:
    """The engine as a cycle sees it, without the parts that change it."""

    def __init__(self, engine: "Engine") -> None:
        self.flavors = engine.flavors
        self.eligibility = engine.eligibility
        self.rules = engine.rules
        self.variants = engine.variants
        self.placement = engine.placement
        self.find_targets = engine.find_targets
        self.holdings = engine.holdings
        self.laps = Laps()

    def waits_for_pods(self) -> bool:
        """Always, so that nobody is admitted."""
        return True

    def reserve(self, workload: Workload, usage: Usage, admission: Admission, now: datetime) -> None:
        """Never called, as everybody waits for pods."""
        raise LookupError(f"{workload.key} was admitted to {admission.cluster_queue} in a rehearsal")

    def place(self, workload: Workload, admission: Admission) -> None:
        """Never called: only who waits for quota is rehearsed."""
        raise LookupError(f"{workload.key} got places of {admission.cluster_queue} in a rehearsal")

    def try_again(self, workload: Workload, now: datetime) -> None:
        """Never called, likewise."""
        raise LookupError(f"{workload.key} was to come again after {now} in a rehearsal")

    def issue(self, target: Target) -> bool:
        """Nobody is evicted."""
        return False


def _evaluation(
    engine: "Engine", workload: Workload, queue: Queue, assignment: Assignment, decision: Wait
) -> Evaluation:
    fits = decision.reason == reasons.WAITING_FOR_PODS_READY and not engine.waits_for_pods()
    asked = {pod_set.name: pod_set.spec_count for pod_set in workload.pod_sets}
    return Evaluation(
        mode=assignment.mode,
        borrow=assignment.borrow,
        pod_sets=tuple(_pod_set(queue, each, asked[each.name]) for each in assignment.pod_sets),
        preemption=explain_preemption(engine, workload, queue, assignment),
        reason="" if fits else decision.reason,
        message="" if fits else decision.message,
        requeue=decision.requeue,
    )


def _pod_set(queue: Queue, result: PodSetResult, asked: int) -> PodSetTrial:
    return PodSetTrial(
        name=result.name,
        count=result.count,
        asked=asked,
        mode=result.mode,
        flavors={resource: choice.flavor for resource, choice in result.choices.items()},
        trials=tuple(_trial(queue, attempt) for group in result.attempts for attempt in group),
        reasons=tuple(sorted(result.reasons)),
    )


def _trial(queue: Queue, attempt: FlavorAttempt) -> FlavorTrial:
    found = (
        shortage
        for verdict in attempt.verdicts
        if verdict.mode is not Mode.FIT
        for shortage in shortages(
            queue.node, FlavorResource(attempt.flavor, verdict.resource), verdict.assumed + verdict.request
        )
    )
    return FlavorTrial(attempt, tuple(found))
