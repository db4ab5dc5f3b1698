"""What would admit a workload, as data.

Laws that tests check: with the capacity of a `MoreQuota` its flavor takes its resources (or could, if it
`then_waits`); at its `AwaitTurn` a workload is admitted, at its `AwaitPreemption` it evicts just these victims, and
their end admits it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from kohort.api.meta import ObjectKey
from kohort.engine.assignment import FitMode
from kohort.engine.explain.model import (
    Evaluation,
    Explanation,
    FlavorTrial,
    PlacementTrial,
    PreemptionOutlook,
    Victim,
    WorkloadPhase,
)
from kohort.engine.shortage import BindingLimit, QuotaNodeRef, Shortage


@dataclass(frozen=True, slots=True)
class MoreQuota:
    """Capacity for some resources of a pod set in one flavor, at each node that lacks it: released, or added quota.

    One of those for the same resources of the same pod set suffices while earlier pod sets keep their flavors.
    """

    pod_set: str
    resources: tuple[str, ...]
    flavor: str
    shortages: tuple[Shortage, ...]
    then_waits: bool
    """Whether it then still has to wait: it requests more than the maximum of the flavor, which others use."""


@dataclass(frozen=True, slots=True)
class MorePlaces:
    """Capacity of nodes for more pods of a pod set, in one domain: released by others, or of more nodes."""

    pod_set: str
    flavor: str
    placement: PlacementTrial


@dataclass(frozen=True, slots=True)
class AwaitPreemption:
    """Wait until it is a head and preempts others."""

    victims: tuple[Victim, ...]


@dataclass(frozen=True, slots=True)
class AwaitVictims:
    """The jobs of its victims stop."""

    victims: tuple[Victim, ...]


@dataclass(frozen=True, slots=True)
class AwaitTurn:
    """Wait until it is a head: it fits, or is not evaluated before."""

    ahead: int


@dataclass(frozen=True, slots=True)
class AwaitOtherHeads:
    """Wait until heads of other queues, which come first, are admitted or no longer pending."""

    rivals: tuple[ObjectKey, ...]


@dataclass(frozen=True, slots=True)
class AwaitBackoff:
    """Its backoff ends; None where an event ends it."""

    until: datetime | None


@dataclass(frozen=True, slots=True)
class AwaitChange:
    """A change of its objects, as described by the message of its condition."""

    reason: str
    message: str


Remedy = (
    MoreQuota | MorePlaces | AwaitPreemption | AwaitVictims | AwaitTurn | AwaitOtherHeads | AwaitBackoff | AwaitChange
)


def remedies(explanation: Explanation) -> tuple[Remedy, ...]:
    """What would admit the workload; empty if it holds quota already, or if no capacity helps."""
    if explanation.state.holds_quota or explanation.state in (WorkloadPhase.UNKNOWN, WorkloadPhase.FINISHED):
        return ()
    evaluation = explanation.evaluation
    if evaluation is None or not evaluation.pod_sets:
        return (AwaitChange(explanation.reason, explanation.message),)
    if explanation.state is WorkloadPhase.BACKING_OFF:
        return (AwaitBackoff(explanation.until),)
    if evaluation.mode is FitMode.FIT:
        return (*_by_turn(explanation), *_for_who_fits(explanation, evaluation))
    return (*_by_turn(explanation), *_by_preemption(evaluation), *_by_quota(evaluation))


def _by_turn(explanation: Explanation) -> Iterator[AwaitTurn]:
    """In a strict queue, a workload that is not the first has no other remedy (SCH-238)."""
    standing = explanation.standing
    if standing is not None and standing.is_strict and standing.ahead:
        yield AwaitTurn(standing.ahead)


def _for_who_fits(explanation: Explanation, evaluation: Evaluation) -> Iterator[Remedy]:
    standing = explanation.standing
    if evaluation.rivals:
        yield AwaitOtherHeads(evaluation.rivals)
    elif not evaluation.is_admitted:
        yield AwaitChange(evaluation.reason, evaluation.message)
    elif standing is None or not (standing.is_strict and standing.ahead):
        yield AwaitTurn(standing.ahead if standing is not None else 0)


def _by_preemption(evaluation: Evaluation) -> Iterator[Remedy]:
    victims = evaluation.preemption.victims
    match evaluation.preemption.help:
        case PreemptionOutlook.POSSIBLE:
            yield AwaitPreemption(victims)
        case PreemptionOutlook.UNDER_WAY:
            yield AwaitVictims(victims)
        case PreemptionOutlook.GATED:
            yield AwaitChange(evaluation.reason, evaluation.message)


def _by_quota(evaluation: Evaluation) -> Iterator[MoreQuota | MorePlaces]:
    for pod_set in evaluation.pod_sets if evaluation.mode is not FitMode.FIT else ():
        for group in pod_set.short:
            for trial in group:
                if trial.shortages and not is_unplaceable(trial):
                    yield _more_quota(pod_set.name, trial)
                if trial.placement is not None:
                    yield MorePlaces(pod_set.name, trial.attempt.flavor, trial.placement)


def _more_quota(pod_set: str, trial: FlavorTrial) -> MoreQuota:
    attempt = trial.attempt
    resources = tuple(each.resource for each in attempt.verdicts)
    return MoreQuota(pod_set, resources, attempt.flavor, trial.shortages, trial.is_in_use)


def is_hopeless(trial: FlavorTrial) -> bool:
    """Whether the flavor could not take the pod set, with those before it, even if it were unused."""
    return is_unplaceable(trial) or bool(trial.attempt.obstacle) or exceeds_maximum(trial)


def is_unplaceable(trial: FlavorTrial) -> bool:
    """Whether the pods could not be placed on the nodes of the flavor even if these were unused."""
    return trial.placement is not None and trial.attempt.mode is FitMode.NO_FIT


def exceeds_maximum(trial: FlavorTrial) -> bool:
    """Whether more quota is requested than the queue could ever have."""
    return any(each.limit is BindingLimit.MAXIMUM for each in trial.shortages)


def lenders(shortage: Shortage) -> tuple[tuple[QuotaNodeRef, int], ...]:
    """Tree nodes that would have to lend more, and how much: one if it suffices, none if all withhold too little."""
    enough = [each for each in shortage.keepers if each.keeps >= shortage.missing]
    if enough:
        return ((enough[0].place, shortage.missing),)
    found: list[tuple[QuotaNodeRef, int]] = []
    left = shortage.missing
    for each in shortage.keepers:
        found.append((each.place, min(left, each.keeps)))
        left -= found[-1][1]
    return tuple(found) if not left else ()
