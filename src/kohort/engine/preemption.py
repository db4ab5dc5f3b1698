"""Classical preemption (docs/spec/scheduling.md §6): whom a workload may push out, and the fewest that suffice.

The search removes candidates from the live tree one by one and puts everything back before it returns.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from enum import Enum
from operator import itemgetter
from typing import Final, Protocol

import msgspec

from kohort.engine.hierarchy import CohortNode, HierarchyNode
from kohort.engine.quota import FlavorResource
from kohort.engine.records import ClusterQueueInfo, WorkloadInfo
from kohort.engine.usage_request import UsageRequest, could_suffice, fits

IN_CLUSTER_QUEUE: Final = "InClusterQueue"
IN_COHORT_RECLAMATION: Final = "InCohortReclamation"
IN_COHORT_FAIR_SHARING: Final = "InCohortFairSharing"
IN_COHORT_RECLAIM_WHILE_BORROWING: Final = "InCohortReclaimWhileBorrowing"

FAR_FUTURE: Final = float("inf")


class PreemptionTarget(msgspec.Struct, frozen=True):
    """A workload to preempt, and why it may be."""

    workload: WorkloadInfo
    reason: str


class PreemptionContext(Protocol):
    """What a search asks of the engine."""

    def queue_at(self, node: HierarchyNode) -> ClusterQueueInfo | None:
        """The queue of a leaf, unless it takes no part in scheduling (SCH-1052)."""

    def usage_of(self, workload: WorkloadInfo) -> float | None:
        """Past usage of the workload's LocalQueue, where admission fair sharing applies (SCH-620)."""

    def is_leaving(self, workload: WorkloadInfo) -> bool:
        """Whether an eviction of the workload is under way, seen or not (SCH-650)."""


class PreemptionCandidate(msgspec.Struct, frozen=True):
    """A workload that might be preempted."""

    workload: WorkloadInfo
    reason: str
    lca: CohortNode | None = None
    """The lowest cohort above both queues; None for the preemptor's own queue."""
    only_without_borrowing: bool = False


# Policies


def is_preemptible_by_policy(policy: str, preemptor: WorkloadInfo, candidate: WorkloadInfo) -> bool:
    """SCH-603."""
    if policy == "Any":
        return True
    if preemptor.priority > candidate.priority:
        return policy in ("LowerPriority", "LowerOrNewerEqualPriority")
    return (
        policy == "LowerOrNewerEqualPriority"
        and preemptor.priority == candidate.priority
        and _before(preemptor.queued_at, candidate.queued_at)
    )


def _before(left: datetime | None, right: datetime | None) -> bool:
    return left is not None and right is not None and left < right


def uses(workload: WorkloadInfo, needs: frozenset[FlavorResource]) -> bool:
    """Whether the workload holds any of what is needed (SCH-602)."""
    return not needs.isdisjoint(workload.usage)


def _may_have_candidates(policy: str, preemptor: WorkloadInfo, queue: ClusterQueueInfo) -> bool:
    """A quick no: every holder of the queue has too high a priority."""
    if policy == "Never" or not queue.priorities:
        return False
    if policy == "Any":
        return True
    lowest = min(queue.priorities)
    return lowest < preemptor.priority or (policy == "LowerOrNewerEqualPriority" and lowest == preemptor.priority)


def holders_passing(
    policy: str, preemptor: WorkloadInfo, queue: ClusterQueueInfo, needs: frozenset[FlavorResource]
) -> list[WorkloadInfo]:
    """Workloads of a queue that the policy allows to be preempted."""
    if not _may_have_candidates(policy, preemptor, queue):
        return []
    if policy == "Any":
        found = [each for each in queue.holders.values() if not needs.isdisjoint(each.usage)]
    else:
        found = [
            each
            for each in queue.holders.values()
            if uses(each, needs) and is_preemptible_by_policy(policy, preemptor, each)
        ]
    replaced = preemptor.replaces
    # A slice ends by its successor's admission, and is never preempted for it (SCH-1104).
    return found if replaced is None else [each for each in found if each is not replaced]


# Order


def candidate_order(own: ClusterQueueInfo, world: PreemptionContext) -> Callable[[WorkloadInfo], tuple[object, ...]]:
    """The sort key of SCH-620.

    Past usage compares only workloads of one queue; since workloads of other queues come first and are told apart by
    priority before anything else in practice, it enters the key as a part that is equal across queues.
    """

    def key(workload: WorkloadInfo) -> tuple[object, ...]:
        is_own = workload.queue is own
        usage = world.usage_of(workload) if is_own else None
        reserved = workload.reserved_at.timestamp() if workload.reserved_at else FAR_FUTURE
        return (not world.is_leaving(workload), is_own, -(usage or 0.0), workload.priority, -reserved, workload.uid)

    return key


# Borrowing


def fits_within_nominal(queue: ClusterQueueInfo, request: UsageRequest) -> bool:
    """Whether the quota of the request fits without borrowing."""
    cells = queue.node.cells
    return all(not cells[fr].borrows_with(amount) for fr, amount in request.quota.items())


def is_within_nominal(node: HierarchyNode, needs: frozenset[FlavorResource]) -> bool:
    """Whether the node borrows none of what is needed."""
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
        """SCH-621: those of each kind who are leaving anyway first, then the others."""
        ranked = []
        for number, kind in enumerate((self.hierarchical, self.priority, self.own)):
            for each in kind:
                rank = key(each.workload)
                ranked.append((rank[0], number, rank, each))
        ranked.sort(key=itemgetter(0, 1, 2))
        return [each for _, _, _, each in ranked]


def find_candidates(
    preemptor: WorkloadInfo, queue: ClusterQueueInfo, request: UsageRequest, world: PreemptionContext
) -> PreemptionCandidates:
    """Everybody whom the policies allow to be preempted and whom some attempt could use."""
    own = holders_passing(queue.policies.within_queue, preemptor, queue, request.needs)
    hierarchical: list[PreemptionCandidate] = []
    priority: list[PreemptionCandidate] = []
    if queue.node.parent is not None and queue.policies.reclaim != "Never":
        others_count = queue.policies.borrow_policy != "Never" or _could_stay_within_nominal(queue, own, request)
        for ancestor, below, has_advantage in _levels(queue, request):
            if has_advantage:
                donors = _donors(ancestor, below, preemptor, queue, request.needs, world)
                hierarchical += [PreemptionCandidate(each, IN_COHORT_RECLAMATION, ancestor) for each in donors]
            elif others_count:
                donors = _donors(ancestor, below, preemptor, queue, request.needs, world)
                priority += [_priority_candidate(preemptor, queue, each, ancestor) for each in donors]
    return PreemptionCandidates(hierarchical, priority, [PreemptionCandidate(each, IN_CLUSTER_QUEUE) for each in own])


def _could_stay_within_nominal(queue: ClusterQueueInfo, own: list[WorkloadInfo], request: UsageRequest) -> bool:
    """Whether the requests would fit without borrowing if all candidates of the own queue were gone."""
    cells = queue.node.cells
    return all(
        cells[fr].usage - sum([each.usage.get(fr, 0) for each in own]) + amount <= cells[fr].subtree
        for fr, amount in request.quota.items()
    )


def _priority_candidate(
    preemptor: WorkloadInfo, queue: ClusterQueueInfo, workload: WorkloadInfo, lca: CohortNode
) -> PreemptionCandidate:
    """SCH-613."""
    threshold = queue.policies.borrow_threshold
    spared = (
        queue.policies.borrow_policy == "Never"
        or workload.priority >= preemptor.priority
        or (threshold is not None and workload.priority > threshold)
    )
    reason = IN_COHORT_RECLAMATION if spared else IN_COHORT_RECLAIM_WHILE_BORROWING
    return PreemptionCandidate(workload, reason, lca, only_without_borrowing=spared)


def _levels(queue: ClusterQueueInfo, request: UsageRequest) -> Iterator[tuple[CohortNode, HierarchyNode, bool]]:
    """Each ancestor, the node below it on the way, and whether the request fits below it (SCH-611, SCH-614)."""
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
    world: PreemptionContext,
) -> list[WorkloadInfo]:
    """Workloads below a cohort that may be reclaimed, descending only where something is borrowed."""
    found: list[WorkloadInfo] = []
    for member in cohort.borrowers(needs):
        if member is visited:
            continue
        if isinstance(member, CohortNode):
            found += _donors(member, visited, preemptor, queue, needs, world)
            continue
        other = world.queue_at(member)
        if other is not None:
            found += holders_passing(queue.policies.reclaim, preemptor, other, needs)
    return found


# Search


class PreemptionAttempt(Enum):
    """How far a walk through the candidates may let the preemptor go."""

    BORROWING = "borrowing"
    WITHIN_NOMINAL = "within nominal"


def find_targets(
    preemptor: WorkloadInfo, queue: ClusterQueueInfo, request: UsageRequest, world: PreemptionContext
) -> list[PreemptionTarget]:
    """The workloads to preempt so that the requests fit; empty where no allowed set suffices (SCH-634)."""
    candidates = find_candidates(preemptor, queue, request, world)
    attempts = _attempts(candidates, queue, request.needs)
    promising = [attempt for attempt in attempts if _could_suffice(candidates, attempt, queue, request)]
    if not promising:
        return []
    ordered = candidates.ordered(candidate_order(queue, world))
    for attempt in promising:
        targets = _walk(ordered, request.needs, attempt, _fit_test(queue, request, attempt))
        if targets:
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
    """Which walks to try, and in which order (SCH-630)."""
    forbidden = queue.policies.borrow_policy == "Never"
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
    """Remove candidates in order, not by size (SCH-635), until the preemptor fits; then the tree is as before."""
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
    """Put back whoever need not go, the last removed but one first (SCH-633); the rest stays removed."""
    kept = [removed[-1]]
    for candidate in reversed(removed[:-1]):
        candidate.workload.hold()
        if not fit():
            candidate.workload.release()
            kept.append(candidate)
    return kept[::-1]
