"""Renders an explanation as a few short lines; the first one is why the workload is pending."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from kohort.api.amounts import format_amount
from kohort.engine.assignment import FitMode
from kohort.engine.explain.model import (
    Evaluation,
    Explanation,
    FlavorTrial,
    HeldQuota,
    PodSetTrial,
    PreemptionExplanation,
    PreemptionOutlook,
    WorkloadPhase,
)
from kohort.engine.explain.placement_text import placement_exclusions, placement_holders, shortfall_text
from kohort.engine.explain.remedies import exceeds_maximum, is_hopeless
from kohort.engine.quota import FlavorResource
from kohort.engine.shortage import Shortage

NAMED: Final = 3
"""Number of names that a line lists before it counts the rest."""


def explanation_lines(explanation: Explanation) -> list[str]:
    """The explanation as text, the reason first."""
    found = [f"{_subject(explanation)} {_answer(explanation)}."]
    evaluation = explanation.evaluation
    if evaluation is not None and evaluation.pod_sets:
        found += [*_placement(evaluation), *_standing(explanation), *_flavors(evaluation)]
        found += _preemption(explanation, evaluation)
    return found


def _subject(explanation: Explanation) -> str:
    return str(explanation.workload) if explanation.workload.name else "This"


# The first line


def _answer(explanation: Explanation) -> str:
    held = _amounts(explanation.holds)
    match explanation.state:
        case WorkloadPhase.UNKNOWN:
            return "does not exist"
        case WorkloadPhase.FINISHED:
            return "has finished"
        case WorkloadPhase.ADMITTED:
            return f"is admitted to queue {explanation.cluster_queue} with {held}{_unplaced_pods(explanation)}"
        case WorkloadPhase.RESERVED:
            missing = _unplaced_pods(explanation) or " and waits for its admission checks"
            return f"has {held} in queue {explanation.cluster_queue}{missing}"
        case WorkloadPhase.LEAVING:
            return f"was evicted and holds {held} in queue {explanation.cluster_queue} until its job has stopped"
        case WorkloadPhase.BACKING_OFF if explanation.until is None:
            return "backs off until it is requeued"
        case WorkloadPhase.BACKING_OFF:
            return f"backs off until {explanation.until:%Y-%m-%d %H:%M:%S %Z}"
    evaluation = explanation.evaluation
    if evaluation is None or not evaluation.pod_sets:
        return f"{_waits(explanation)}: {explanation.message}"
    return _fit(explanation, evaluation) if evaluation.mode is FitMode.FIT else _lack(explanation, evaluation)


def _unplaced_pods(explanation: Explanation) -> str:
    """Why pods of a workload with quota are not placed; empty if they are (SCH-270)."""
    evaluation = explanation.evaluation
    if evaluation is None:
        return ""
    if evaluation.mode is FitMode.FIT:
        return ", and its pods are placed in the next scheduling cycle"
    return f" and {_lack(explanation, evaluation)}"


def _waits(explanation: Explanation) -> str:
    return "would wait" if explanation.state is WorkloadPhase.NOT_SUBMITTED else "waits"


def _fit(explanation: Explanation, evaluation: Evaluation) -> str:
    queue = explanation.cluster_queue
    if evaluation.rivals:
        return f"fits in queue {queue}, but {_waits(explanation)}: what it needs is kept for {_rivals(evaluation)}"
    if not evaluation.is_admitted:
        return f"fits in queue {queue}, but {_waits(explanation)}: {evaluation.message}"
    standing = explanation.standing
    flavors = ", ".join(sorted({flavor for pod_set in evaluation.pod_sets for flavor in pod_set.flavors.values()}))
    size = _size(evaluation)
    if explanation.state is WorkloadPhase.INADMISSIBLE:
        return f"fits in queue {queue}{size}, in flavor {flavors}, and is looked at again once something changes there"
    if standing is None or not standing.ahead:
        return f"fits in queue {queue}{size}, in flavor {flavors}, and goes next"
    if standing.is_strict:
        return f"fits in queue {queue}{size}, but the queue is strict and {standing.first[0]} goes first"
    return f"fits in queue {queue}{size}, in flavor {flavors}, with {standing.ahead} ahead of it"


def _rivals(evaluation: Evaluation) -> str:
    names = _names([str(key) for key in evaluation.rivals])
    return f"{names} of another queue" if len(evaluation.rivals) == 1 else f"{names} of other queues"


def _size(evaluation: Evaluation) -> str:
    """Pod sets that would start with fewer pods than requested (SCH-560)."""
    fewer = [f"{each.count} of {each.asked} pods" for each in evaluation.pod_sets if each.count < each.asked]
    return f" with {' and '.join(fewer)}" if fewer else ""


def _lack(explanation: Explanation, evaluation: Evaluation) -> str:
    preemption = evaluation.preemption
    names = _names([str(victim.workload) for victim in preemption.victims])
    waits = _waits(explanation)
    match preemption.help:
        case PreemptionOutlook.UNDER_WAY:
            return f"{waits} for preempted {names} to stop{_vainly(evaluation)}"
        case PreemptionOutlook.POSSIBLE:
            return f"{waits} to preempt {names}{_vainly(evaluation)}"
        case PreemptionOutlook.GATED:
            return f"{waits}, as it would preempt {names} and its preemption gate is closed"
    if evaluation.never:
        return _impossible(explanation, evaluation)
    pod_set = next(each for each in evaluation.pod_sets if each.mode is not FitMode.FIT)
    trial = _nearest(pod_set, [trial for group in pod_set.short for trial in group])
    if trial is None or is_hopeless(trial):
        fewer = " to start with fewer pods" if any(each.least < each.asked for each in evaluation.pod_sets) else ""
        return f"{waits}{fewer}: {', '.join(pod_set.reasons)}"
    if trial.placement is not None and not trial.shortages:
        return f"{waits} for nodes of flavor {trial.attempt.flavor}: {shortfall_text(trial.placement.failure)}"
    return f"{waits} for {_missing(trial)} in flavor {trial.attempt.flavor}: {_causes(trial)}"


def _vainly(evaluation: Evaluation) -> str:
    return f", and would not fit then either: {', '.join(evaluation.in_vain)}" if evaluation.in_vain else ""


def _impossible(explanation: Explanation, evaluation: Evaluation) -> str:
    """Why capacity released by others does not help."""
    queue = explanation.cluster_queue
    short = [(each, group) for each in evaluation.pod_sets if each.mode is not FitMode.FIT for group in each.short]
    found = [_nearest(pod_set, group) for pod_set, group in short if all(map(is_hopeless, group))]
    if None in found:
        return f"can't start in queue {queue}: {', '.join(evaluation.never)}"
    trial = found[0] if found else None
    if trial is None:
        return f"could not start in queue {queue} even if nothing were used: {', '.join(evaluation.never)}"
    if trial.attempt.obstacle:
        return f"can't use any flavor of queue {queue}: {trial.attempt.obstacle}"
    if trial.placement is not None and not exceeds_maximum(trial):
        flavor, shortfall = trial.attempt.flavor, shortfall_text(trial.placement.failure)
        return f"can't be placed on the nodes of flavor {flavor}, even if other workloads ended: {shortfall}"
    return f"requests more than the queue can ever provide: {_shortages(trial)}"


def _nearest(pod_set: PodSetTrial, trials: Sequence[FlavorTrial]) -> FlavorTrial | None:
    """The flavor to report: the one it would be assigned, else the first that lacks only capacity, else the first."""
    chosen = set(pod_set.flavors.values())
    lacking = [trial for trial in trials if trial.attempt.mode is not FitMode.FIT]
    return min(
        lacking,
        key=lambda trial: (trial.attempt.flavor not in chosen, bool(trial.attempt.obstacle), is_hopeless(trial)),
        default=None,
    )


def _missing(trial: FlavorTrial) -> str:
    """How much more of each resource is needed, as in its condition (SCH-522)."""
    needed = [
        f"{format_amount(verdict.resource, verdict.shortage)} more {verdict.resource}"
        for verdict in trial.attempt.verdicts
        if verdict.mode is not FitMode.FIT
    ]
    return " and ".join(needed)


def _causes(trial: FlavorTrial) -> str:
    return "; ".join(f"{shortage.cause}{shortage.keeping}" for shortage in _tightest(trial))


def _shortages(trial: FlavorTrial) -> str:
    return "; ".join(shortage.text for shortage in _tightest(trial))


def _tightest(trial: FlavorTrial) -> list[Shortage]:
    """The lowest limit of each resource."""
    first: dict[FlavorResource, Shortage] = {}
    for shortage in trial.shortages:
        first.setdefault(shortage.fr, shortage)
    return list(first.values())


# The details


def _placement(evaluation: Evaluation) -> Iterator[str]:
    """Whose pods have the nodes that it could use, and why it can't use the others."""
    pod_set = next((each for each in evaluation.pod_sets if each.mode is not FitMode.FIT), None)
    trial = pod_set and _nearest(pod_set, [trial for group in pod_set.short for trial in group])
    if trial and trial.placement is not None and not trial.shortages:
        if not evaluation.never:
            yield from placement_holders(trial.placement, NAMED)
        yield from placement_exclusions(trial.placement.failure)


def _standing(explanation: Explanation) -> Iterator[str]:
    standing = explanation.standing
    if standing is None or not standing.ahead:
        return
    names = _names([str(key) for key in standing.first], standing.ahead)
    strictly = " (StrictFIFO)" if standing.is_strict else ""
    locally = f", {standing.ahead_locally} of them in LocalQueue {explanation.local_queue.name}"
    local = locally if explanation.local_queue.name and standing.ahead_locally < standing.ahead else ""
    yield f"{standing.ahead} ahead in queue {explanation.cluster_queue}{strictly}{local}: {names}."


def _flavors(evaluation: Evaluation) -> Iterator[str]:
    """What each flavor lacks, where several were tried."""
    for pod_set in evaluation.pod_sets:
        if pod_set.mode is not FitMode.FIT and len(pod_set.trials) > 1:
            yield f"Flavors tried for pod set {pod_set.name}: {'; '.join(map(_trial, pod_set.trials))}."


def _trial(trial: FlavorTrial) -> str:
    attempt = trial.attempt
    if attempt.obstacle:
        return f"{attempt.flavor} ({attempt.obstacle})"
    if attempt.mode is FitMode.FIT:
        return f"{attempt.flavor} (fits)"
    if trial.placement is not None and not trial.shortages:
        return f"{attempt.flavor} ({shortfall_text(trial.placement.failure)})"
    return f"{attempt.flavor} ({_shortages(trial)})"


def _preemption(explanation: Explanation, evaluation: Evaluation) -> Iterator[str]:
    preemption = evaluation.preemption
    why = _WHY_NOT.get(preemption.help)
    if why is not None:
        reported = why.format(queue=explanation.cluster_queue) + _priorities(explanation, preemption)
        yield f"Preemption can't help: {reported}."


_WHY_NOT: Final[Mapping[PreemptionOutlook, str]] = {
    PreemptionOutlook.OFF: "the policies of queue {queue} forbid it",
    PreemptionOutlook.NO_CANDIDATES: "no preemption candidates use it",
    PreemptionOutlook.PRIORITY: "workloads using it have equal or higher priority",
    PreemptionOutlook.WITHIN_NOMINAL: "workloads using it are within their nominal quota",
    PreemptionOutlook.BORROWING: "it would have to borrow, and queue {queue} does not preempt for that",
    PreemptionOutlook.RANK_WHILE_BORROWING: "it would have to borrow, and workloads using it rank too high for that",
    PreemptionOutlook.SHARE: "queue {queue} would get more than its fair share",
    PreemptionOutlook.TOO_LITTLE: "preemption candidates do not hold enough",
}


def _priorities(explanation: Explanation, preemption: PreemptionExplanation) -> str:
    """Number of workloads that their priority protects, and that priority."""
    kinds = [
        kind for kind in (preemption.own, preemption.cohort) if kind is not None and kind.lowest_priority is not None
    ]
    if preemption.help is not PreemptionOutlook.PRIORITY or not kinds:
        return ""
    spared = sum(kind.spared for kind in kinds)
    lowest = min(kind.lowest_priority for kind in kinds if kind.lowest_priority is not None)
    return f" ({spared} of priority {lowest} or more, its own is {explanation.priority})"


# Parts


def _amounts(holds: Sequence[HeldQuota]) -> str:
    reported = [
        f"{format_amount(each.fr.resource, each.amount)} {each.fr.resource} of {each.fr.flavor}" for each in holds
    ]
    return ", ".join(reported) or "nothing"


def _names(names: Sequence[str], total: int | None = None) -> str:
    """The first few names and how many more there are."""
    more = (len(names) if total is None else total) - len(names[:NAMED])
    return ", ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else "")
