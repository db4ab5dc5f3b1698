"""Whether preemption can help a workload, its victims, and if it can't, which rule prevents it.

Without targets, the holders of what is needed are counted by what the policies allow, and all that may be preempted
are released together to find whether their usage is too little or a rule prevents its use.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from kohort.engine.assignment import Assignment, FitMode, FlavorAttempt
from kohort.engine.borrow_within_cohort import may_borrow_while_preempting
from kohort.engine.explain.model import PreemptionExplanation, PreemptionOutlook, QuotaHolders, Victim
from kohort.engine.hierarchy import ClusterQueueNode, CohortNode
from kohort.engine.preemption import fits_within_nominal, is_within_nominal
from kohort.engine.records import ClusterQueueInfo, WorkloadInfo
from kohort.engine.usage_request import fits, released

if TYPE_CHECKING:
    from kohort.engine.engine import Engine

NEVER: Final = "Never"


def explain_preemption(
    engine: "Engine", workload: WorkloadInfo, queue: ClusterQueueInfo, assignment: Assignment
) -> PreemptionExplanation:
    """What preemption can do for an assignment (§6, §7)."""
    if assignment.mode is FitMode.FIT:
        return PreemptionExplanation(PreemptionOutlook.NOT_NEEDED)
    if assignment.targets:
        return _with_victims(engine, workload, assignment)
    if any(not any(map(_is_open, group)) for group in _short_groups(assignment)):
        return PreemptionExplanation(PreemptionOutlook.POINTLESS)
    if queue.policies.within_queue == NEVER and (queue.node.parent is None or queue.policies.reclaim == NEVER):
        return PreemptionExplanation(PreemptionOutlook.OFF)
    if assignment.mode is FitMode.NO_FIT:
        return PreemptionExplanation(PreemptionOutlook.BORROWING)
    return _Census(engine, workload, queue, assignment).result()


def _with_victims(engine: "Engine", workload: WorkloadInfo, assignment: Assignment) -> PreemptionExplanation:
    victims = tuple(
        Victim(
            target.workload.key,
            target.workload.queue.name if target.workload.queue else "",
            target.workload.priority,
            target.reason,
            engine.context.is_leaving(target.workload),
        )
        for target in assignment.targets
    )
    if engine.settings.cycle.honours_gates and workload.has_closed_gate:
        return PreemptionExplanation(PreemptionOutlook.GATED, victims)
    return PreemptionExplanation(
        PreemptionOutlook.UNDER_WAY if all(each.is_leaving for each in victims) else PreemptionOutlook.POSSIBLE, victims
    )


def _short_groups(assignment: Assignment) -> Iterator[list[FlavorAttempt]]:
    """The flavors tried for each group of resources that does not fit."""
    for pod_set in assignment.pod_sets:
        if pod_set.mode is not FitMode.FIT:
            yield from pod_set.short


def _is_open(attempt: FlavorAttempt) -> bool:
    """Whether the flavor would fit if less of it were used."""
    if attempt.placement is not None and attempt.mode is FitMode.NO_FIT:
        return False
    return not attempt.obstacle and not any(verdict.exceeds_maximum for verdict in attempt.verdicts)


class _Census:
    """The holders of what is needed, by whether they may be preempted (SCH-602 to SCH-613, SCH-720)."""

    def __init__(
        self, engine: "Engine", workload: WorkloadInfo, queue: ClusterQueueInfo, assignment: Assignment
    ) -> None:
        self.engine = engine
        self.workload = workload
        self.queue = queue
        self.request = assignment.request
        self.needs = self.request.needs
        self._may_preempt = engine.store.preemption_policy.may_preempt
        self.allowed: list[WorkloadInfo] = []

    def result(self) -> PreemptionExplanation:
        own = self._count(self.queue.policies.within_queue, [self.queue], ())
        cohort = self._of_cohort()
        return PreemptionExplanation(self._help(own, cohort), own=own, cohort=cohort)

    def _of_cohort(self) -> QuotaHolders | None:
        if self.queue.node.parent is None:
            return None
        lenders: list[ClusterQueueInfo] = []
        sheltered: list[str] = []
        for leaf in self.queue.node.parent.root().all_queues():
            other = self.engine.context.queue_at(leaf)
            if other is None or leaf is self.queue.node or not self._is_used(leaf):
                continue
            if self._is_sheltered(leaf):
                sheltered.append(leaf.name)
            else:
                lenders.append(other)
        return self._count(self.queue.policies.reclaim, lenders, sheltered)

    def _is_used(self, leaf: ClusterQueueNode) -> bool:
        return any(fr in leaf.cells and leaf.cells[fr].usage > 0 for fr in self.needs)

    def _is_sheltered(self, leaf: ClusterQueueNode) -> bool:
        """Whether the queue, or by the classical rules a cohort above it, borrows nothing of what is needed."""
        if is_within_nominal(leaf, self.needs):
            return True
        return self.engine.settings.fair is None and any(
            is_within_nominal(cohort, self.needs) for cohort in self._cohorts_apart(leaf)
        )

    def _cohorts_apart(self, leaf: ClusterQueueNode) -> Iterator[CohortNode]:
        """Cohorts above the other queue and not above this one."""
        shared = {cohort.name for cohort in self.queue.node.ancestors()}
        return (cohort for cohort in leaf.ancestors() if cohort.name not in shared)

    def _count(self, policy: str, queues: Iterable[ClusterQueueInfo], sheltered: Iterable[str]) -> QuotaHolders:
        allowed, spared = 0, []
        for queue in queues:
            for holder in queue.holders.values():
                if self.needs.isdisjoint(holder.usage):
                    continue
                if policy != NEVER and self._may_preempt(policy, self.workload, holder):
                    self.allowed.append(holder)
                    allowed += 1
                else:
                    spared.append(holder.priority)
        return QuotaHolders(policy, allowed, len(spared), min(spared, default=None), tuple(sorted(sheltered)))

    def _help(self, own: QuotaHolders, cohort: QuotaHolders | None) -> PreemptionOutlook:
        kinds = [own] if cohort is None else [own, cohort]
        if any(kind.allowed for kind in kinds):
            return self._help_of_all()
        if any(kind.spared and kind.policy != NEVER for kind in kinds):
            return PreemptionOutlook.PRIORITY
        if cohort is not None and cohort.sheltered and cohort.policy != NEVER:
            return PreemptionOutlook.WITHIN_NOMINAL
        return (
            PreemptionOutlook.OFF
            if any(kind.spared or kind.sheltered for kind in kinds)
            else PreemptionOutlook.NO_CANDIDATES
        )

    def _help_of_all(self) -> PreemptionOutlook:
        """Why the allowed candidates do not help: they hold too little, or a rule prevents its use."""
        with released(self.allowed):
            enough = fits(self.queue, self.request)
            within_nominal = fits_within_nominal(self.queue, self.request)
        if not enough:
            return PreemptionOutlook.TOO_LITTLE
        if self.engine.settings.fair is not None:
            return PreemptionOutlook.SHARE
        if within_nominal:
            return PreemptionOutlook.WITHIN_NOMINAL
        may_borrow = may_borrow_while_preempting(self.queue)
        return PreemptionOutlook.RANK_WHILE_BORROWING if may_borrow else PreemptionOutlook.BORROWING
