"""A report as JSON: stable keys in camelCase, amounts as Kubernetes quantities. See docs/how-to/explain.md."""

from datetime import datetime

from kohort.api.amounts import format_amount
from kohort.api.codec import Json
from kohort.api.meta import ObjectKey
from kohort.engine.explain import (
    Evaluation,
    Explanation,
    FlavorTrial,
    HeldQuota,
    PlaceHolder,
    PlacementTrial,
    PodSetTrial,
    PositionInQueue,
    Victim,
    explanation_lines,
    remedies,
)
from kohort.engine.explain.remedies import (
    AwaitBackoff,
    AwaitChange,
    AwaitOtherHeads,
    AwaitPreemption,
    AwaitTurn,
    AwaitVictims,
    MorePlaces,
    MoreQuota,
    Remedy,
)
from kohort.engine.shortage import Shortage, WithheldQuota
from kohort.insight.workload_report.model import Holder, PotentialPreemptor, ResourceHolders, WorkloadReport


def report_data(report: WorkloadReport) -> Json:
    """The whole report."""
    return {
        "subject": report.subject,
        **explanation_data(report.explanation),
        "submitted": _time(report.submitted),
        "holders": [_resource_holders(each) for each in report.holders],
        "threats": [_preemptor(each) for each in report.preemptors],
        "history": [{"time": _time(each.time), "text": each.text} for each in report.history],
        "notes": list(report.notes),
        "hints": list(report.hints),
    }


def explanation_data(explanation: Explanation) -> Json:
    """The explanation of the engine."""
    evaluation, standing = explanation.evaluation, explanation.standing
    return {
        "workload": _key(explanation.workload),
        "state": explanation.state.value,
        "localQueue": explanation.local_queue.name,
        "clusterQueue": explanation.cluster_queue,
        "priority": explanation.priority,
        "reason": explanation.reason,
        "message": explanation.message,
        "until": _time(explanation.until),
        "holds": [_held(each) for each in explanation.holds],
        "standing": None if standing is None else _standing(standing),
        "evaluation": None if evaluation is None else _evaluation(evaluation),
        "remedies": [_remedy(each) for each in remedies(explanation)],
        "text": explanation_lines(explanation),
    }


def _key(key: ObjectKey) -> Json:
    return {"namespace": key.namespace, "name": key.name}


def _time(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat().replace("+00:00", "Z")


def _held(held: HeldQuota) -> Json:
    return {
        "flavor": held.fr.flavor,
        "resource": held.fr.resource,
        "amount": format_amount(held.fr.resource, held.amount),
    }


def _standing(standing: PositionInQueue) -> Json:
    return {
        "ahead": standing.ahead,
        "aheadInLocalQueue": standing.ahead_locally,
        "first": [_key(each) for each in standing.first],
        "strict": standing.is_strict,
    }


def _evaluation(evaluation: Evaluation) -> Json:
    preemption = evaluation.preemption
    return {
        "mode": evaluation.mode.name,
        "admitted": evaluation.is_admitted,
        "borrowingLevel": evaluation.borrow,
        "podSets": [_pod_set(each) for each in evaluation.pod_sets],
        "preemption": {"help": preemption.help.value, "victims": [_victim(each) for each in preemption.victims]},
        "rivals": [_key(each) for each in evaluation.rivals],
        "never": list(evaluation.never),
        "inVain": list(evaluation.in_vain),
    }


def _pod_set(trial: PodSetTrial) -> Json:
    return {
        "name": trial.name,
        "count": trial.count,
        "asked": trial.asked,
        "least": trial.least,
        "mode": trial.mode.name,
        "flavors": dict(trial.flavors),
        "tried": [_trial(each) for each in trial.trials],
        "reasons": list(trial.reasons),
    }


def _trial(trial: FlavorTrial) -> Json:
    return {
        "flavor": trial.attempt.flavor,
        "mode": trial.attempt.mode.name,
        "obstacle": trial.attempt.obstacle,
        "shortages": [_shortage(each) for each in trial.shortages],
        "placement": None if trial.placement is None else _placement(trial.placement),
    }


def _placement(trial: PlacementTrial) -> Json:
    failure = trial.failure
    return {
        "topology": failure.topology,
        "level": failure.level,
        "domain": list(failure.domain),
        "fitting": failure.fitting,
        "requested": failure.requested,
        "unit": failure.unit,
        "layers": [
            {"level": each.level, "fitting": each.fitting, "requested": each.requested} for each in failure.layers
        ],
        "excluded": {each.text: count for each, count in failure.exclusions.items()},
        "totalNodes": failure.total_nodes,
        "message": failure.message,
        "usedBy": [_place_holder(each) for each in trial.holders],
        "others": trial.others,
    }


def _place_holder(holder: PlaceHolder) -> Json:
    return {
        "workload": _key(holder.workload),
        "clusterQueue": holder.queue,
        "priority": holder.priority,
        "pods": holder.pods,
    }


def _shortage(shortage: Shortage) -> Json:
    return {
        "flavor": shortage.fr.flavor,
        "resource": shortage.fr.resource,
        "limit": shortage.limit.value,
        "at": {"kind": shortage.place.kind, "name": shortage.place.name},
        "allowed": shortage.shown(shortage.allowed),
        "inUse": shortage.shown(shortage.in_use),
        "missing": shortage.shown(shortage.missing),
        "keptBy": [_keeper(each, shortage) for each in shortage.keepers],
        "text": shortage.text,
    }


def _keeper(keeper: WithheldQuota, shortage: Shortage) -> Json:
    return {
        "kind": keeper.place.kind,
        "name": keeper.place.name,
        "lends": shortage.shown(keeper.lends),
        "has": shortage.shown(keeper.has),
    }


def _victim(victim: Victim) -> Json:
    return {
        "workload": _key(victim.workload),
        "clusterQueue": victim.queue,
        "priority": victim.priority,
        "reason": victim.reason,
        "leaving": victim.is_leaving,
    }


def _remedy(remedy: Remedy) -> Json:
    match remedy:
        case MoreQuota():
            return _more_quota(remedy)
        case MorePlaces(pod_set, flavor, placement):
            return {"kind": "MorePlaces", "podSet": pod_set, "flavor": flavor, "placement": _placement(placement)}
        case AwaitPreemption(victims):
            return {"kind": "Preempting", "victims": [_victim(each) for each in victims]}
        case AwaitVictims(victims):
            return {"kind": "Departure", "victims": [_victim(each) for each in victims]}
        case AwaitTurn(ahead):
            return {"kind": "Turn", "ahead": ahead}
        case AwaitOtherHeads(rivals):
            return {"kind": "Yielding", "rivals": [_key(each) for each in rivals]}
        case AwaitBackoff(until):
            return {"kind": "Time", "until": _time(until)}
        case AwaitChange(reason, message):
            return {"kind": "Change", "reason": reason, "message": message}


def _more_quota(remedy: MoreQuota) -> Json:
    return {
        "kind": "MoreQuota",
        "podSet": remedy.pod_set,
        "resources": list(remedy.resources),
        "flavor": remedy.flavor,
        "shortages": [_shortage(each) for each in remedy.shortages],
        "thenWaits": remedy.then_waits,
    }


def _resource_holders(usage: ResourceHolders) -> Json:
    resource = usage.fr.resource
    return {
        "at": {"kind": usage.place.kind, "name": usage.place.name},
        "flavor": usage.fr.flavor,
        "resource": resource,
        "workloads": [_holder(each, resource) for each in usage.holders],
        "others": {"count": usage.others, "amount": format_amount(resource, usage.amount_of_others)},
    }


def _holder(holder: Holder, resource: str) -> Json:
    return {
        "workload": _key(holder.workload),
        "job": holder.job,
        "clusterQueue": holder.queue,
        "amount": format_amount(resource, holder.amount),
        "priority": holder.priority,
        "since": _time(holder.since),
    }


def _preemptor(threat: PotentialPreemptor) -> Json:
    waiting = None if threat.waiting is None else _key(threat.waiting)
    return {"clusterQueue": threat.queue, "why": threat.why, "waiting": waiting}
