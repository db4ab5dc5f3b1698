"""A story in words: the answer first, then what stands behind it, section by section."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from kohort.api.amounts import format_amount
from kohort.engine.explain import Explanation, WorkloadPhase, explanation_lines, remedies
from kohort.engine.explain.remedies import (
    AwaitBackoff,
    AwaitChange,
    AwaitOtherHeads,
    AwaitPreemption,
    AwaitTurn,
    AwaitVictims,
    MoreQuota,
    Remedy,
    lenders,
)
from kohort.engine.shortage import BindingLimit, Shortage
from kohort.insight.workload_report.model import ResourceHolders, WorkloadReport
from kohort.terminal.ages import age, duration
from kohort.terminal.sections import Section

NAMED: Final = 3
"""How many of those who go first are named."""


def render_report(story: WorkloadReport, now: datetime) -> list[Section]:
    """The story, section by section."""
    explanation = story.explanation
    answer, *details = explanation_lines(explanation)
    sections = [
        Section(story.subject, (_where(story, now),)),
        Section("", (_about_it(answer, explanation), *details, *story.notes)),
        *(_holding(each, now) for each in story.holdings),
        Section("What would let it in", tuple(_remedies(story))),
        Section("Who may take its place", tuple(_threats(story))),
        Section("What happened", tuple(f"{_when(each.time, now)}  it {each.text}" for each in story.history)),
    ]
    return [each for each in sections if each.lines]


def _where(story: WorkloadReport, now: datetime) -> str:
    explanation = story.explanation
    key, local = explanation.workload, explanation.local_queue
    parts = [
        f"Workload {key}" if key.name else "not submitted",
        f"LocalQueue {local.name}" if local.name else "no LocalQueue",
        f"ClusterQueue {explanation.cluster_queue}" if explanation.cluster_queue else "no ClusterQueue",
        f"priority {explanation.priority}",
    ]
    if story.submitted is not None:
        parts.append(f"submitted {age(story.submitted, now)} ago")
    return ", ".join(parts)


def _about_it(answer: str, explanation: Explanation) -> str:
    """The engine's sentence with the subject that the heading has already named."""
    text = answer.removeprefix(f"{explanation.workload} ").removeprefix("This ")
    return f"It {text}"


def _when(time: datetime, now: datetime) -> str:
    told = f"{age(time, now)} ago" if time <= now else f"in {duration(time - now)}"
    return f"{told:>10}"


# Who holds what is needed


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
    return Section(f"Who holds {resource} of {holding.fr.flavor} in {holding.place}", tuple(rows))


# What would let it in


def _remedies(story: WorkloadReport) -> Iterator[str]:
    yield from story.hints
    found = remedies(story.explanation)
    needs = {(each.pod_set, each.resources) for each in found if isinstance(each, MoreQuota)}
    for remedy in found:
        if isinstance(remedy, MoreQuota):
            yield _quota(remedy, story, len(needs))
        else:
            yield from _remedy(remedy, story)
    if len(needs) > 1:
        yield "of the lines with flavors it takes one for each pod set and its resources"


def _remedy(remedy: Remedy, story: WorkloadReport) -> Iterator[str]:
    match remedy:
        case AwaitPreemption(victims):
            yield f"its turn, at which it preempts {', '.join(str(each.workload) for each in victims)}"
        case AwaitVictims(victims):
            yield f"the end of {', '.join(str(each.workload) for each in victims)}, preempted already"
        case AwaitTurn(ahead):
            yield _turn(ahead, story.explanation)
        case AwaitOtherHeads(rivals):
            names = ", ".join(map(str, rivals[:NAMED])) + (" …" if len(rivals) > NAMED else "")
            yield f"the start or the end of {names}, first in other queues: until then what it needs is kept for them"
        case AwaitBackoff(None):
            yield "the event that ends its backoff"
        case AwaitBackoff(until) if until is not None:
            yield f"the end of its backoff at {until:%Y-%m-%d %H:%M:%S %Z}"
        case AwaitChange(_, message) if not story.hints and message:
            yield f"a change of what its condition says: {message}"


def _turn(ahead: int, explanation: Explanation) -> str:
    evaluation = explanation.evaluation
    if evaluation is not None and not evaluation.is_admitted:
        return f"first its turn, as nobody passes the {ahead} ahead of it in a strict queue; and then"
    if explanation.state is WorkloadPhase.INADMISSIBLE:
        return "another look, which it gets once something changes in its queue or cohort"
    return f"its turn, after {ahead} ahead of it" if ahead else "its turn, which is next"


def _quota(remedy: MoreQuota, story: WorkloadReport, needs: int) -> str:
    """Room in one flavor: at every limit that is too tight."""
    evaluation, queue = story.explanation.evaluation, story.explanation.cluster_queue
    has_several = evaluation is not None and len(evaluation.pod_sets) > 1
    what = f" for {' and '.join(remedy.resources)}" if needs > 1 else ""
    whose = f" {'of' if what else 'for'} pod set {remedy.pod_set}" if has_several else ""
    needed = "; and ".join(dict.fromkeys(_room(each, queue) for each in remedy.shortages))
    then = "; then it would wait for others to give back what they use" if remedy.then_waits else ""
    return f"in flavor {remedy.flavor}{what}{whose}: {needed}{then}"


def _room(shortage: Shortage, queue: str) -> str:
    amount, resource = shortage.shown(shortage.missing), shortage.fr.resource
    place = f"{'Cohort' if shortage.place.kind == 'cohort' else 'ClusterQueue'} {shortage.place.name}"
    match shortage.limit:
        case BindingLimit.MAXIMUM:
            more = f"as much more nominalQuota in ClusterQueue {queue}"
            return f"{amount} {resource} less asked for, or {more}{shortage.keeping}"
        case BindingLimit.BORROWING_LIMIT:
            return f"{amount} {resource} given back in {place}, or its borrowingLimit raised by as much"
        case BindingLimit.LENDING_LIMIT if lent := lenders(shortage):
            more = " and ".join(f"{shortage.shown(by)} more lent by {lender}" for lender, by in lent)
            return f"{amount} {resource} given back in {place}, or {more}"
        case BindingLimit.NOMINAL:
            return f"{amount} {resource} given back in {place}, or its nominalQuota raised by as much"
        case _:
            return f"{amount} {resource} given back in {place}, or as much more nominalQuota in it"


# Who may take its place


def _threats(story: WorkloadReport) -> Iterator[str]:
    if story.explanation.state not in (WorkloadPhase.ADMITTED, WorkloadPhase.RESERVED):
        return
    yield from (each.why for each in story.threats)
    if not story.threats and not story.notes:
        yield "nobody, as policies and use are now"
