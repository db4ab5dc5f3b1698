"""What a cycle would find for one workload: alone, then with the heads of other queues, or in an empty tree.

The evaluation alone finds what it lacks. If it lacks nothing, other heads may still take or reserve what it needs;
otherwise an empty tree determines whether released usage can help at all.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Final

from kohort.engine.assignment import Assignment, FitMode, FlavorAttempt, NoFitReason, PodSetResult
from kohort.engine.cycle import CycleEntry, EntryAction, EntryVerdict
from kohort.engine.cycle.verdict import ADMIT
from kohort.engine.explain.dry_run import (
    competing_heads,
    run_alone,
    run_in_empty_tree,
    run_second_pass,
    run_with_heads,
    run_without,
)
from kohort.engine.explain.model import (
    Evaluation,
    FlavorTrial,
    PodSetTrial,
    PreemptionExplanation,
    PreemptionOutlook,
)
from kohort.engine.explain.placement import placement_trial
from kohort.engine.explain.preemption import explain_preemption
from kohort.engine.quota import FlavorResource
from kohort.engine.records import ClusterQueueInfo, PodSetResources, SecondPassReason, WorkloadInfo
from kohort.engine.shortage import shortages

if TYPE_CHECKING:
    from kohort.engine.engine import Engine

MOST_RIVALS: Final = 20
"""Maximum number of other heads that are evaluated one by one."""


def evaluate(engine: "Engine", workload: WorkloadInfo, queue: ClusterQueueInfo, now: datetime) -> Evaluation:
    """What the next cycle would decide with the workload as head; the engine does not change (SCH-313)."""
    entry, verdict = run_alone(engine, workload, queue)
    found = _evaluation(engine, entry, verdict)
    if found.is_admitted:
        return _among_rivals(engine, workload, queue, found, now)
    if found.pod_sets and found.mode is not FitMode.FIT:
        in_vain = _in_vain(engine, workload, queue, entry.assignment)
        return replace(found, never=_never(engine, workload, queue), in_vain=in_vain)
    return found


def evaluate_second_pass(engine: "Engine", workload: WorkloadInfo, queue: ClusterQueueInfo) -> Evaluation:
    """What a second pass would decide now: places for pods of a workload that holds quota (SCH-272)."""
    entry, verdict = run_second_pass(engine, workload, queue)
    if entry.assignment.mode is FitMode.FIT:
        return _evaluation(engine, entry, ADMIT)
    found = _evaluation(engine, entry, verdict)
    if not entry.assignment.targets:
        found = replace(found, reason=NoFitReason.TopologyPlacementFailed.name)
    if workload.second_pass is SecondPassReason.REPLACEMENT:
        return replace(found, preemption=PreemptionExplanation(PreemptionOutlook.POINTLESS))
    return found


def _among_rivals(
    engine: "Engine", workload: WorkloadInfo, queue: ClusterQueueInfo, found: Evaluation, now: datetime
) -> Evaluation:
    """The same if it is admitted beside the heads of other queues; else the reason and these (SCH-337, SCH-340)."""
    rivals = competing_heads(engine, queue)
    reported = run_with_heads(engine, workload, queue, rivals, now) if rivals else None
    if reported is None:
        return found
    alike = [each for each in rivals[:MOST_RIVALS] if run_with_heads(engine, workload, queue, [each], now) is not None]
    keys = tuple(each.workload.key for each in alike or rivals)
    return replace(found, reason=reported.reason, message=reported.message, requeue=reported.requeue, rivals=keys)


def _never(engine: "Engine", workload: WorkloadInfo, queue: ClusterQueueInfo) -> tuple[str, ...]:
    """Why the workload would not fit even if no other workload used anything; empty if it would."""
    return _reasons(run_in_empty_tree(engine, workload, queue))


def _in_vain(
    engine: "Engine", workload: WorkloadInfo, queue: ClusterQueueInfo, assignment: Assignment
) -> tuple[str, ...]:
    """Why the workload would not fit without its victims; empty if it would, or has none."""
    victims = [target.workload for target in assignment.targets]
    return _reasons(run_without(victims, engine, workload, queue)) if victims else ()


def _reasons(assignment: Assignment) -> tuple[str, ...]:
    short = [pod_set for pod_set in assignment.pod_sets if pod_set.mode is not FitMode.FIT]
    return tuple(dict.fromkeys(reason for pod_set in short for reason in sorted(pod_set.reasons)))


def _evaluation(engine: "Engine", entry: CycleEntry, verdict: EntryVerdict) -> Evaluation:
    queue, assignment = entry.queue, entry.assignment
    fits = verdict.action in (EntryAction.ADMIT, EntryAction.MIGRATE)
    requested = {pod_set.name: pod_set for pod_set in entry.workload.pod_sets}
    return Evaluation(
        mode=assignment.mode,
        borrow=assignment.borrow,
        pod_sets=tuple(_pod_set(engine, queue, each, requested[each.name]) for each in assignment.pod_sets),
        preemption=explain_preemption(engine, entry.workload, queue, assignment),
        reason="" if fits else verdict.reason,
        message="" if fits else verdict.message,
        requeue=verdict.requeue,
    )


def _pod_set(engine: "Engine", queue: ClusterQueueInfo, result: PodSetResult, asked: PodSetResources) -> PodSetTrial:
    return PodSetTrial(
        name=result.name,
        count=result.count,
        asked=asked.spec_count,
        mode=result.mode,
        flavors={resource: choice.flavor for resource, choice in result.choices.items()},
        trials=_trials(engine, queue, result.attempts),
        short=tuple(_trials(engine, queue, [group]) for group in result.short),
        reasons=tuple(sorted(result.reasons)),
        least=asked.spec_count if asked.min_count is None else asked.min_count,
    )


def _trials(
    engine: "Engine", queue: ClusterQueueInfo, groups: Iterable[Iterable[FlavorAttempt]]
) -> tuple[FlavorTrial, ...]:
    return tuple(_trial(engine, queue, attempt) for group in groups for attempt in group)


def _trial(engine: "Engine", queue: ClusterQueueInfo, attempt: FlavorAttempt) -> FlavorTrial:
    found = (
        shortage
        for verdict in attempt.verdicts
        if verdict.mode is not FitMode.FIT
        for shortage in shortages(
            queue.node, FlavorResource(attempt.flavor, verdict.resource), verdict.assumed + verdict.request
        )
    )
    beyond = [each.resource for each in attempt.verdicts if each.exceeds_maximum]
    cells = [queue.node.cells[FlavorResource(attempt.flavor, resource)] for resource in beyond]
    placement = placement_trial(engine, attempt.flavor, attempt.placement) if attempt.placement else None
    return FlavorTrial(attempt, tuple(found), placement, any(cell.available() < cell.potential for cell in cells))
