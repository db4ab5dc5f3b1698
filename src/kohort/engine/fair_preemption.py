"""Preemption by fair share (docs/spec/scheduling.md §7.3): preempt from the largest share while that is fair."""

from dataclasses import dataclass
from typing import Final

from kohort.engine.drs import NO_SHARE, DominantResourceShare, ShareCache, share_of
from kohort.engine.hierarchy import CohortNode, HierarchyNode
from kohort.engine.preemption import (
    IN_CLUSTER_QUEUE,
    IN_COHORT_FAIR_SHARING,
    IN_COHORT_RECLAMATION,
    PreemptionCandidate,
    drop_unneeded_targets,
    restore_usage,
)
from kohort.engine.preemption_policy import PreemptionContext, PreemptionTarget
from kohort.engine.quota import FlavorResource
from kohort.engine.records import ClusterQueueInfo, WorkloadInfo
from kohort.engine.usage_request import UsageRequest, could_suffice, fits

FINAL_SHARE: Final = "LessThanOrEqualToFinalShare"
INITIAL_SHARE: Final = "LessThanInitialShare"


@dataclass(frozen=True, slots=True)
class FairRules:
    """Configuration of preemption by share."""

    strategies: tuple[str, ...] = (FINAL_SHARE, INITIAL_SHARE)
    preempts_within_nominal: bool = True
    """Gate FairSharingPreemptWithinNominal."""


def find_fair_targets(
    preemptor: WorkloadInfo,
    queue: ClusterQueueInfo,
    request: UsageRequest,
    context: PreemptionContext,
    rules: FairRules,
) -> list[PreemptionTarget]:
    """The workloads to preempt so that the requests fit, selected by share; empty if no fair set suffices."""
    candidates = _candidates(preemptor, queue, request.needs, context)
    if not could_suffice(candidates, queue, request):
        return []
    candidates.sort(key=context.preemption_policy.order(queue, context))
    targets = _FairSearch(queue, request, context, rules, candidates).run()
    return targets if targets and context.preemption_policy.accepts(preemptor, targets) else []


def _candidates(
    preemptor: WorkloadInfo, queue: ClusterQueueInfo, needs: frozenset[FlavorResource], context: PreemptionContext
) -> list[WorkloadInfo]:
    """All workloads that the policies allow to preempt (SCH-720)."""
    found = context.preemption_policy.candidates(queue.policies.within_queue, preemptor, queue, needs)
    if queue.node.parent is not None and queue.policies.reclaim != "Never":
        for leaf in queue.node.parent.root().borrowing_queues(needs):
            other = context.queue_at(leaf)
            if other is not None and other is not queue:
                found += context.preemption_policy.candidates(queue.policies.reclaim, preemptor, other, needs)
    return found


class _FairSearch:
    """One search; the preemptor's requests count in the tree while it runs (SCH-721)."""

    def __init__(
        self,
        queue: ClusterQueueInfo,
        request: UsageRequest,
        context: PreemptionContext,
        rules: FairRules,
        candidates: list[WorkloadInfo],
    ) -> None:
        self.queue = queue
        self.request = request
        self.context = context
        self.rules = rules
        self.shares = ShareCache()
        self.place = {workload.uid: place for place, workload in enumerate(candidates)}
        """Position of each candidate among all (SCH-620)."""
        self.candidates: dict[str, list[WorkloadInfo]] = {}
        """The remaining candidates per queue, in order."""
        for workload in candidates:
            if workload.queue is not None:
                self.candidates.setdefault(workload.queue.name, []).append(workload)
        self.retries: dict[str, list[WorkloadInfo]] = {}
        self.removed: list[PreemptionCandidate] = []
        self.own_path = {id(node) for node in (queue.node, *queue.node.ancestors())}
        cells = queue.node.cells
        self.is_within_nominal = all(not cells[fr].borrows_with(request.quota.get(fr, 0)) for fr in request.needs)

    def run(self) -> list[PreemptionTarget]:
        """SCH-726."""
        self.request.use(self.queue)
        fitted = self._first_loop() or (len(self.rules.strategies) == 2 and self._second_loop())
        self.request.free(self.queue)
        if not fitted:
            restore_usage(self.removed)
            return []
        kept = drop_unneeded_targets(self.removed, lambda: fits(self.queue, self.request))
        restore_usage(kept)
        return [PreemptionTarget(each.workload, each.reason) for each in kept]

    # The two loops

    def _first_loop(self) -> bool:
        """SCH-724."""
        picker = _Picker(self)
        while (picked := picker.pick()) is not None:
            waiting = self.candidates[picked.name]
            if picked is self.queue:
                taken = self._take(waiting.pop(0), IN_CLUSTER_QUEUE)
            elif self.rules.preempts_within_nominal and self.is_within_nominal:
                taken = self._take(waiting.pop(0), IN_COHORT_RECLAMATION)
            else:
                taken = self._take_fair(picked, waiting)
            if taken and self._fits():
                return True
        return False

    def _take_fair(self, picked: ClusterQueueInfo, waiting: list[WorkloadInfo]) -> bool:
        """Select the first candidate whose removal is fair; skipped ones are candidates of the second loop."""
        own, others = self._almost_lca(picked)
        mine, before = self.shares.of(own), self.shares.of(others)
        retries = self.retries.setdefault(picked.name, [])
        if mine.is_infinite and not before.is_infinite:
            retries += waiting
            waiting.clear()
            return False
        while waiting:
            workload = waiting.pop(0)
            if self._is_fair(workload, mine, before, others):
                return self._take(workload, IN_COHORT_FAIR_SHARING)
            retries.append(workload)
        return False

    def _is_fair(
        self, workload: WorkloadInfo, mine: DominantResourceShare, before: DominantResourceShare, others: HierarchyNode
    ) -> bool:
        if self.rules.strategies[0] == INITIAL_SHARE:
            return mine.rank < before.rank
        workload.release()
        after = share_of(others)
        workload.hold()
        return mine.rank <= after.rank

    def _second_loop(self) -> bool:
        """SCH-725: each queue once, by its share before the removal."""
        self.candidates = {name: list(waiting) for name, waiting in self.retries.items() if waiting}
        picker = _Picker(self)
        while (picked := picker.pick()) is not None:
            first = self.candidates[picked.name][0]
            self.candidates[picked.name] = []
            own, others = self._almost_lca(picked)
            if (
                self.shares.of(own).rank < self.shares.of(others).rank
                and self._take(first, IN_COHORT_FAIR_SHARING)
                and self._fits()
            ):
                return True
        return False

    # Trying and undoing

    def _take(self, workload: WorkloadInfo, reason: str) -> bool:
        workload.release()
        if workload.queue is not None:
            self.shares.forget(workload.queue.node)
        self.removed.append(PreemptionCandidate(workload, reason))
        return True

    def _fits(self) -> bool:
        self.request.free(self.queue)
        answer = fits(self.queue, self.request)
        self.request.use(self.queue)
        return answer

    def _almost_lca(self, picked: ClusterQueueInfo) -> tuple[HierarchyNode, HierarchyNode]:
        """The nodes just below the lowest common ancestor, on either side (SCH-723)."""
        others: HierarchyNode = picked.node
        while others.parent is not None and id(others.parent) not in self.own_path:
            others = others.parent
        own: HierarchyNode = self.queue.node
        while own.parent is not None and own.parent is not others.parent:
            own = own.parent
        return own, others


def first_of_equals(cohorts: list[CohortNode]) -> CohortNode:
    """SCH-722 leaves it open; always the same one, so that a pending preemptor does not evict from each of them."""
    return min(cohorts, key=lambda each: each.name)


class _Picker:
    """Selects the queue to preempt from next, from the root down (SCH-722)."""

    def __init__(self, search: _FairSearch) -> None:
        self.search = search
        self.pruned: set[int] = set()

    def pick(self) -> ClusterQueueInfo | None:
        parent = self.search.queue.node.parent
        if parent is None:
            return self.search.queue if self._has_candidates(self.search.queue.name) else None
        return self._pick_below(parent.root())

    def _pick_below(self, cohort: CohortNode) -> ClusterQueueInfo | None:
        while True:
            queue, queue_share = self._best_queue(cohort)
            child, child_share = self._best_cohort(cohort)
            if child is None or (queue is not None and child_share.rank < queue_share.rank):
                return queue
            found = self._pick_below(child)
            if found is not None:
                return found
            self.pruned.add(id(child))

    def _best_queue(self, cohort: CohortNode) -> tuple[ClusterQueueInfo | None, DominantResourceShare]:
        best: ClusterQueueInfo | None = None
        best_share = NO_SHARE
        for leaf in cohort.queues.values():
            if id(leaf) in self.pruned:
                continue
            share = self.search.shares.of(leaf)
            is_own = leaf is self.search.queue.node
            if not self._has_candidates(leaf.name) or not (share.borrowed or is_own):
                self.pruned.add(id(leaf))
                continue
            queue = self.search.queue if is_own else self.search.context.queue_at(leaf)
            if queue is not None and (best is None or self._goes_before(queue, share, best, best_share)):
                best, best_share = queue, share
        return best, best_share

    def _goes_before(
        self,
        queue: ClusterQueueInfo,
        share: DominantResourceShare,
        best: ClusterQueueInfo,
        best_share: DominantResourceShare,
    ) -> bool:
        if share.rank != best_share.rank:
            return share.rank > best_share.rank
        first, place = self.search.candidates, self.search.place
        return place[first[queue.name][0].uid] < place[first[best.name][0].uid]

    def _best_cohort(self, cohort: CohortNode) -> tuple[CohortNode | None, DominantResourceShare]:
        best: list[CohortNode] = []
        best_share = NO_SHARE
        for child in cohort.children.values():
            if id(child) in self.pruned:
                continue
            share = self.search.shares.of(child)
            if not share.borrowed and id(child) not in self.search.own_path:
                self.pruned.add(id(child))
            elif not best or share.rank > best_share.rank:
                best, best_share = [child], share
            elif share.rank == best_share.rank:
                best.append(child)
        return first_of_equals(best) if best else None, best_share

    def _has_candidates(self, name: str) -> bool:
        return bool(self.search.candidates.get(name))
