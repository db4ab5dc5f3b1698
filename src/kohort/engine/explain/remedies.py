"""What would let a workload in, as data: any one of the remedies does for the pod set that it speaks of."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from kohort.engine.assignment import Mode
from kohort.engine.explain.model import Evaluation, Explanation, FlavorTrial, Help, State, Victim
from kohort.engine.shortage import Limit, Shortage


@dataclass(frozen=True, slots=True)
class MoreQuota:
    """Room for a pod set in one flavor, at each node that lacks it: given back by others, or added to quotas."""

    pod_set: str
    flavor: str
    shortages: tuple[Shortage, ...]


@dataclass(frozen=True, slots=True)
class Preempting:
    """Its turn, at which it takes the place of others."""

    victims: tuple[Victim, ...]


@dataclass(frozen=True, slots=True)
class Departure:
    """The jobs of its victims stop."""

    victims: tuple[Victim, ...]


@dataclass(frozen=True, slots=True)
class Turn:
    """Its turn: it fits."""

    ahead: int


@dataclass(frozen=True, slots=True)
class Time:
    """Its backoff ends; None where an event ends it."""

    until: datetime | None


@dataclass(frozen=True, slots=True)
class Change:
    """Something about its objects changes, as the message of its condition says."""

    reason: str
    message: str


Remedy = MoreQuota | Preempting | Departure | Turn | Time | Change


def remedies(explanation: Explanation) -> tuple[Remedy, ...]:
    """What would let the workload in; nothing where it is in already, or where it never will be."""
    if explanation.state.holds_quota or explanation.state in (State.UNKNOWN, State.FINISHED):
        return ()
    evaluation = explanation.evaluation
    if evaluation is None or not evaluation.pod_sets:
        return (Change(explanation.reason, explanation.message),)
    if explanation.state is State.BACKING_OFF:
        return (Time(explanation.until),)
    if evaluation.mode is Mode.FIT:
        return (Turn(explanation.standing.ahead if explanation.standing else 0),)
    return (*_by_preemption(evaluation), *_by_quota(evaluation))


def _by_preemption(evaluation: Evaluation) -> Iterator[Remedy]:
    victims = evaluation.preemption.victims
    match evaluation.preemption.help:
        case Help.POSSIBLE:
            yield Preempting(victims)
        case Help.UNDER_WAY:
            yield Departure(victims)
        case Help.GATED:
            yield Change(evaluation.reason, evaluation.message)


def _by_quota(evaluation: Evaluation) -> Iterator[MoreQuota]:
    for pod_set in evaluation.pod_sets:
        for trial in pod_set.trials if pod_set.mode is not Mode.FIT else ():
            if trial.shortages:
                yield MoreQuota(pod_set.name, trial.attempt.flavor, trial.shortages)


def is_hopeless(trial: FlavorTrial) -> bool:
    """Whether the flavor could not take the pod set even if nobody used it."""
    return bool(trial.attempt.obstacle) or any(each.limit is Limit.MAXIMUM for each in trial.shortages)
