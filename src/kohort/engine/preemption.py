"""Classical preemption (docs/spec/scheduling.md §6): candidates by kind, and a minimal set of targets.

The search releases the usage of candidates in the live tree one by one and restores all of it before it returns.
"""

from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from operator import itemgetter
from typing import Final

import msgspec

from kohort.engine.borrow_within_cohort import is_preemptible_while_borrowing, may_borrow_while_preempting
from kohort.engine.hierarchy import CohortNode, HierarchyNode
from kohort.engine.preemption_policy import PreemptionContext, PreemptionTarget
from kohort.engine.quota import FlavorResource
from kohort.engine.records import ClusterQueueInfo, WorkloadInfo
from kohort.engine.usage_request import UsageRequest, could_suffice, fits

IN_CLUSTER_QUEUE: Final = "InClusterQueue"
IN_COHORT_RECLAMATION: Final = "InCohortReclamation"
IN_COHORT_FAIR_SHARING: Final = "InCohortFairSharing"
IN_COHORT_RECLAIM_WHILE_BORROWING: Final = "InCohortReclaimWhileBorrowing"


class PreemptionCandidate(msgspec.Struct, frozen=True):
    """A workload that might be preempted."""

    workload: WorkloadInfo
    reason: str
    lca: CohortNode | None = None
    """The lowest cohort above both queues; None for the preemptor's own queue."""
    only_without_borrowing: bool = False


# Borrowing


def fits_within_nominal(queue: ClusterQueueInfo, request: UsageRequest) -> bool:
    """Whether the quota of the request fits without borrowing."""
    cells = queue.node.cells
    return all(not cells[fr].borrows_with(amount) for fr, amount in request.quota.items())


def is_within_nominal(node: HierarchyNode, needs: frozenset[FlavorResource]) -> bool:
    """Whether the node borrows none of the needed flavor-resources."""
    cells = node.cells
    for fr in needs:
        cell = cells.get(fr)
        if cell is not None and cell.usage > cell.subtree:
            return False
    return True


# Candidates


class PreemptionCandidates(msgspec.Struct, frozen=True):
    """All candidates of a search, by kind (SCH-610 to SCH-613)."""

    hierarchical: list[PreemptionCandidate]
    priority: list[PreemptionCandidate]
    own: list[PreemptionCandidate]

    def ordered(self, key: Callable[[WorkloadInfo], tuple[object, ...]]) -> list[PreemptionCandidate]:
        """SCH-621: of each kind, those that are being evicted first, then the others."""
        ranked = []
        for number, kind in enumerate((self.hierarchical, self.priority, self.own)):
            for each in kind:
                rank = key(each.workload)
                ranked.append((rank[0], number, rank, each))
        ranked.sort(key=itemgetter(0, 1, 2))
        return [each for _, _, _, each in ranked]


def find_candidates(
    preemptor: WorkloadInfo, queue: ClusterQueueInfo, request: UsageRequest, context: PreemptionContext
) -> PreemptionCandidates:
    """All workloads that the policies allow to preempt and that an attempt could use."""
    own = context.preemption_policy.candidates(queue.policies.within_queue, preemptor, queue, request.needs)
    hierarchical: list[PreemptionCandidate] = []
    priority: list[PreemptionCandidate] = []
    if queue.node.parent is not None and queue.policies.reclaim != "Never":
        others_count = may_borrow_while_preempting(queue) or _could_stay_within_nominal(queue, own, request)
        for ancestor, below, has_advantage in _levels(queue, request):
            if has_advantage:
                donors = _donors(ancestor, below, preemptor, queue, request.needs, context)
                hierarchical += [PreemptionCandidate(each, IN_COHORT_RECLAMATION, ancestor) for each in donors]
            elif others_count:
                donors = _donors(ancestor, below, preemptor, queue, request.needs, context)
                priority += [_priority_candidate(preemptor, queue, each, ancestor) for each in donors]
    return PreemptionCandidates(hierarchical, priority, [PreemptionCandidate(each, IN_CLUSTER_QUEUE) for each in own])


def _could_stay_within_nominal(queue: ClusterQueueInfo, own: list[WorkloadInfo], request: UsageRequest) -> bool:
    """Whether the requests would fit without borrowing if all candidates of its own queue were preempted."""
    cells = queue.node.cells
    return all(
        cells[fr].usage - sum([each.usage.get(fr, 0) for each in own]) + amount <= cells[fr].subtree
        for fr, amount in request.quota.items()
    )


def _priority_candidate(
    preemptor: WorkloadInfo, queue: ClusterQueueInfo, workload: WorkloadInfo, lca: CohortNode
) -> PreemptionCandidate:
    """SCH-613."""
    if is_preemptible_while_borrowing(workload, preemptor, queue):
        return PreemptionCandidate(workload, IN_COHORT_RECLAIM_WHILE_BORROWING, lca)
    return PreemptionCandidate(workload, IN_COHORT_RECLAMATION, lca, only_without_borrowing=True)


def _levels(queue: ClusterQueueInfo, request: UsageRequest) -> Iterator[tuple[CohortNode, HierarchyNode, bool]]:
    """Each ancestor, the node below it on the path, and whether the request fits below it (SCH-611, SCH-614)."""
    node: HierarchyNode = queue.node
    has_advantage = fits_within_nominal(queue, request)
    rest = _beyond_local(node, request.quota)
    for ancestor in queue.node.ancestors():
        yield ancestor, node, has_advantage
        cells = ancestor.cells
        has_advantage = has_advantage or all(not cells[fr].borrows_with(amount) for fr, amount in rest.items())
        rest = _beyond_local(ancestor, rest)
        node = ancestor


def _beyond_local(node: HierarchyNode, requests: Mapping[FlavorResource, int]) -> dict[FlavorResource, int]:
    return {fr: max(0, amount - node.cells[fr].local_available) for fr, amount in requests.items()}


def _donors(
    cohort: CohortNode,
    visited: HierarchyNode,
    preemptor: WorkloadInfo,
    queue: ClusterQueueInfo,
    needs: frozenset[FlavorResource],
    context: PreemptionContext,
) -> list[WorkloadInfo]:
    """Workloads below a cohort that may be reclaimed, descending only where something is borrowed."""
    found: list[WorkloadInfo] = []
    for member in cohort.borrowers(needs):
        if member is visited:
            continue
        if isinstance(member, CohortNode):
            found += _donors(member, visited, preemptor, queue, needs, context)
            continue
        other = context.queue_at(member)
        if other is not None:
            found += context.preemption_policy.candidates(queue.policies.reclaim, preemptor, other, needs)
    return found


# Search


class PreemptionAttempt(Enum):
    """Whether the preemptor may borrow or must stay within nominal quota."""

    BORROWING = "borrowing"
    WITHIN_NOMINAL = "within nominal"


def find_targets(
    preemptor: WorkloadInfo, queue: ClusterQueueInfo, request: UsageRequest, context: PreemptionContext
) -> list[PreemptionTarget]:
    """The workloads to preempt so that the requests fit; empty if no allowed set suffices (SCH-634)."""
    candidates = find_candidates(preemptor, queue, request, context)
    attempts = _attempts(candidates, queue, request.needs)
    promising = [attempt for attempt in attempts if _could_suffice(candidates, attempt, queue, request)]
    if not promising:
        return []
    ordered = candidates.ordered(context.preemption_policy.order(queue, context))
    for attempt in promising:
        targets = _walk(ordered, request.needs, attempt, _fit_test(queue, request, attempt))
        if targets and context.preemption_policy.accepts(preemptor, targets):
            return targets
    return []


def _could_suffice(
    candidates: PreemptionCandidates, attempt: PreemptionAttempt, queue: ClusterQueueInfo, request: UsageRequest
) -> bool:
    own = [each.workload for each in candidates.own]
    if attempt is PreemptionAttempt.WITHIN_NOMINAL and not _could_stay_within_nominal(queue, own, request):
        return False
    others = [each.workload for each in candidates.priority if not _is_out_of_reach(each, attempt)]
    return could_suffice(own + [each.workload for each in candidates.hierarchical] + others, queue, request)


def _is_out_of_reach(candidate: PreemptionCandidate, attempt: PreemptionAttempt) -> bool:
    """SCH-613."""
    return candidate.only_without_borrowing and attempt is PreemptionAttempt.BORROWING


def _attempts(
    candidates: PreemptionCandidates, queue: ClusterQueueInfo, needs: frozenset[FlavorResource]
) -> tuple[PreemptionAttempt, ...]:
    """The attempts in their order (SCH-630)."""
    forbidden = not may_borrow_while_preempting(queue)
    cells = queue.node.cells
    under = all(fr in cells and cells[fr].usage < cells[fr].subtree for fr in needs)
    has_cohort = bool(candidates.hierarchical or candidates.priority)
    if not has_cohort or (forbidden and not under):
        return (PreemptionAttempt.BORROWING,)
    if forbidden and not candidates.hierarchical:
        return (PreemptionAttempt.WITHIN_NOMINAL, PreemptionAttempt.BORROWING)
    return (PreemptionAttempt.BORROWING, PreemptionAttempt.WITHIN_NOMINAL)


def _fit_test(queue: ClusterQueueInfo, request: UsageRequest, attempt: PreemptionAttempt) -> Callable[[], bool]:
    """SCH-632."""
    if attempt is PreemptionAttempt.BORROWING:
        return lambda: fits(queue, request)
    return lambda: fits(queue, request) and fits_within_nominal(queue, request)


def _walk(
    ordered: list[PreemptionCandidate],
    needs: frozenset[FlavorResource],
    attempt: PreemptionAttempt,
    fit: Callable[[], bool],
) -> list[PreemptionTarget]:
    """Remove candidates in order, not by size (SCH-635), until the preemptor fits; then restore the tree."""
    removed: list[PreemptionCandidate] = []
    for candidate in ordered:
        if _is_spared(candidate, needs, attempt):
            continue
        candidate.workload.release()
        removed.append(candidate)
        if fit():
            kept = drop_unneeded_targets(removed, fit)
            restore_usage(kept)
            return [PreemptionTarget(each.workload, each.reason) for each in kept]
    restore_usage(removed)
    return []


def restore_usage(removed: list[PreemptionCandidate]) -> None:
    """Undo a removal."""
    for candidate in removed:
        candidate.workload.hold()


def _is_spared(candidate: PreemptionCandidate, needs: frozenset[FlavorResource], attempt: PreemptionAttempt) -> bool:
    """SCH-631."""
    if candidate.lca is None:
        return False
    if _is_out_of_reach(candidate, attempt):
        return True
    donor = candidate.workload.queue
    if donor is None or is_within_nominal(donor.node, needs):
        return True
    for cohort in donor.node.ancestors():
        if cohort is candidate.lca:
            return False
        if is_within_nominal(cohort, needs):
            return True
    return False


def drop_unneeded_targets(removed: list[PreemptionCandidate], fit: Callable[[], bool]) -> list[PreemptionCandidate]:
    """Restore candidates that are not needed, from the last but one (SCH-633); the others stay removed."""
    kept = [removed[-1]]
    for candidate in reversed(removed[:-1]):
        candidate.workload.hold()
        if not fit():
            candidate.workload.release()
            kept.append(candidate)
    return kept[::-1]
