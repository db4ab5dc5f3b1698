"""A report as text: the state first, then the details by section."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from kohort.api.amounts import format_amount
from kohort.engine.explain import Explanation, PlacementTrial, WorkloadPhase, explanation_lines, remedies
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
    lenders,
)
from kohort.engine.shortage import BindingLimit, Shortage
from kohort.insight.workload_report.model import ResourceHolders, WorkloadReport
from kohort.terminal.ages import age, duration
from kohort.terminal.sections import Section

MAX_NAMED: Final = 3
"""Number of workloads listed by name."""


def render_report(report: WorkloadReport, now: datetime) -> list[Section]:
    """The sections of the report."""
    explanation = report.explanation
    answer, *details = explanation_lines(explanation)
    sections = [
        Section(report.subject, (_where(report, now),)),
        Section("", (_about_it(answer, explanation), *details, *report.notes)),
        *(_holding(each, now) for each in report.holders),
        Section("What would admit it", tuple(_remedies(report))),
        Section("Workloads that could preempt it", tuple(_preemptors(report))),
        Section("History", tuple(f"{_when(each.time, now)}  {each.text}" for each in report.history)),
    ]
    return [each for each in sections if each.lines]


def _where(report: WorkloadReport, now: datetime) -> str:
    explanation = report.explanation
    key, local = explanation.workload, explanation.local_queue
    parts = [
        f"Workload {key}" if key.name else "not submitted",
        f"LocalQueue {local.name}" if local.name else "no LocalQueue",
        f"ClusterQueue {explanation.cluster_queue}" if explanation.cluster_queue else "no ClusterQueue",
        f"priority {explanation.priority}",
    ]
    if report.submitted is not None:
        parts.append(f"submitted {age(report.submitted, now)} ago")
    return ", ".join(parts)


def _about_it(answer: str, explanation: Explanation) -> str:
    """The first sentence with a pronoun for the subject of the heading."""
    text = answer.removeprefix(f"{explanation.workload} ").removeprefix("This ")
    return f"It {text}"


def _when(time: datetime, now: datetime) -> str:
    text = f"{age(time, now)} ago" if time <= now else f"in {duration(time - now)}"
    return f"{text:>10}"


# Holders of missing quota


def _holding(holding: ResourceHolders, now: datetime) -> Section:
    resource = holding.fr.resource
    rows = [
        f"{format_amount(resource, each.amount):>6}  {each.job or each.workload.name} of {each.workload.namespace}"
        f" in queue {each.queue}, priority {each.priority}"
        + (f", for {age(each.since, now)}" if each.since is not None else "")
        for each in holding.holders
    ]
    if holding.others:
        rows.append(f"{format_amount(resource, holding.amount_of_others):>6}  {holding.others} more")
    return Section(f"Usage of {resource} in flavor {holding.fr.flavor} at {holding.place}", tuple(rows))


# What would admit it


def _remedies(report: WorkloadReport) -> Iterator[str]:
    yield from report.hints
    found = remedies(report.explanation)
    needs = {(each.pod_set, each.resources) for each in found if isinstance(each, MoreQuota)}
    for remedy in found:
        if isinstance(remedy, MoreQuota):
            yield _quota(remedy, report, len(needs))
        else:
            yield from _remedy(remedy, report)
    if len(needs) > 1:
        yield "one flavor is needed for each pod set and its resources"


def _remedy(remedy: Remedy, report: WorkloadReport) -> Iterator[str]:
    match remedy:
        case MorePlaces(_, flavor, placement):
            yield _places(flavor, placement)
        case AwaitPreemption(victims):
            yield f"next scheduling cycle, in which it preempts {', '.join(str(each.workload) for each in victims)}"
        case AwaitVictims(victims):
            yield f"termination of preempted {', '.join(str(each.workload) for each in victims)}"
        case AwaitTurn(ahead):
            yield _pending_order(ahead, report.explanation)
        case AwaitOtherHeads(rivals):
            names = ", ".join(map(str, rivals[:MAX_NAMED])) + (" …" if len(rivals) > MAX_NAMED else "")
            yield f"start or termination of {names}, heads of other queues that the quota is reserved for"
        case AwaitBackoff(None):
            yield "an event that ends its backoff"
        case AwaitBackoff(until) if until is not None:
            yield f"the end of its backoff at {until:%Y-%m-%d %H:%M:%S %Z}"
        case AwaitChange(_, message) if not report.hints and message:
            yield f"a change of its condition: {message}"


def _places(flavor: str, placement: PlacementTrial) -> str:
    """The capacity of nodes that is needed."""
    failure = placement.failure
    domain = f" in one domain of level {failure.level}" if failure.domain else ""
    return f"capacity of nodes of flavor {flavor} for {failure.requested} {failure.unit}s{domain}"


def _pending_order(ahead: int, explanation: Explanation) -> str:
    evaluation = explanation.evaluation
    if evaluation is not None and not evaluation.is_admitted:
        return f"admission of the {ahead} ahead of it first (StrictFIFO); then"
    if explanation.state is WorkloadPhase.INADMISSIBLE:
        return "a change in its queue or cohort triggers the next attempt"
    return f"its scheduling cycle, after {ahead} ahead of it" if ahead else "next scheduling cycle"


def _quota(remedy: MoreQuota, report: WorkloadReport, needs: int) -> str:
    """The quota that is needed in one flavor, at every binding limit."""
    evaluation, queue = report.explanation.evaluation, report.explanation.cluster_queue
    has_several = evaluation is not None and len(evaluation.pod_sets) > 1
    what = f" for {' and '.join(remedy.resources)}" if needs > 1 else ""
    whose = f" {'of' if what else 'for'} pod set {remedy.pod_set}" if has_several else ""
    needed = "; and ".join(dict.fromkeys(_needed(each, queue) for each in remedy.shortages))
    then = "; then it would wait for others to release quota" if remedy.then_waits else ""
    return f"in flavor {remedy.flavor}{what}{whose}: {needed}{then}"


def _needed(shortage: Shortage, queue: str) -> str:
    amount, resource = shortage.shown(shortage.missing), shortage.fr.resource
    place = f"{'Cohort' if shortage.place.kind == 'cohort' else 'ClusterQueue'} {shortage.place.name}"
    match shortage.limit:
        case BindingLimit.MAXIMUM:
            more = f"nominalQuota of ClusterQueue {queue} increased by {amount}"
            return f"{amount} {resource} less requested, or {more}{shortage.keeping}"
        case BindingLimit.BORROWING_LIMIT:
            return f"{amount} {resource} released in {place}, or borrowingLimit increased by {amount}"
        case BindingLimit.LENDING_LIMIT if lent := lenders(shortage):
            more = " and ".join(f"{shortage.shown(by)} more lent by {lender}" for lender, by in lent)
            return f"{amount} {resource} released in {place}, or {more}"
        case BindingLimit.NOMINAL:
            return f"{amount} {resource} released in {place}, or nominalQuota increased by {amount}"
        case _:
            return f"{amount} {resource} released in {place}, or nominalQuota in it increased by {amount}"


# What could preempt it


def _preemptors(report: WorkloadReport) -> Iterator[str]:
    if report.explanation.state not in (WorkloadPhase.ADMITTED, WorkloadPhase.RESERVED):
        return
    yield from (each.why for each in report.preemptors)
    if not report.preemptors and not report.notes:
        yield "none under current policies and usage"
