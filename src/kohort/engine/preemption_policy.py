"""Preemption policies: which workloads may be preempted, in which order, and how many.

The searches find the targets; a policy decides on candidates, order and limits. The default has Kueue's rules.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final, Protocol

import msgspec

from kohort.engine.hierarchy import HierarchyNode
from kohort.engine.quota import FlavorResource
from kohort.engine.records import ClusterQueueInfo, WorkloadInfo

FAR_FUTURE: Final = float("inf")
SortKey = Callable[[WorkloadInfo], tuple[object, ...]]


class PreemptionTarget(msgspec.Struct, frozen=True):
    """A workload to preempt, and the reason."""

    workload: WorkloadInfo
    reason: str


class PreemptionContext(Protocol):
    """What a search for victims reads from the engine."""

    @property
    def preemption_policy(self) -> "PreemptionPolicy":
        """The configured policy."""

    def queue_at(self, node: HierarchyNode) -> ClusterQueueInfo | None:
        """The queue of a leaf, unless it is inactive (SCH-1052)."""

    def usage_of(self, workload: WorkloadInfo) -> float | None:
        """Past usage of the workload's LocalQueue, where admission fair sharing applies (SCH-620)."""

    def is_leaving(self, workload: WorkloadInfo) -> bool:
        """Whether an eviction of the workload was issued, observed or not (SCH-650)."""


class PreemptionPolicy(Protocol):
    """Candidates, their order, and limits on targets."""

    def may_preempt(self, rule: str, preemptor: WorkloadInfo, candidate: WorkloadInfo) -> bool:
        """Whether a rule of `spec.preemption` lets the preemptor preempt the candidate."""

    def candidates(
        self, rule: str, preemptor: WorkloadInfo, queue: ClusterQueueInfo, needs: frozenset[FlavorResource]
    ) -> list[WorkloadInfo]:
        """Workloads of a queue that use a needed flavor-resource and that a rule lets the preemptor preempt."""

    def order(self, own: ClusterQueueInfo, context: PreemptionContext) -> SortKey:
        """The sort key of candidates; its first part is whether a candidate is not yet being evicted."""

    def accepts(self, preemptor: WorkloadInfo, targets: Sequence[PreemptionTarget]) -> bool:
        """Whether these targets may be preempted together.

        The targets for quota alone are tested first; if they are refused, none are searched that free nodes too.
        """


class KueuePreemptionPolicy:
    """Kueue's rules: by priority and age, those that hold quota for the shortest time first, without limits."""

    def may_preempt(self, rule: str, preemptor: WorkloadInfo, candidate: WorkloadInfo) -> bool:
        """SCH-603."""
        if rule == "Any":
            return True
        if preemptor.priority > candidate.priority:
            return rule in ("LowerPriority", "LowerOrNewerEqualPriority")
        return (
            rule == "LowerOrNewerEqualPriority"
            and preemptor.priority == candidate.priority
            and _before(preemptor.queued_at, candidate.queued_at)
        )

    def candidates(
        self, rule: str, preemptor: WorkloadInfo, queue: ClusterQueueInfo, needs: frozenset[FlavorResource]
    ) -> list[WorkloadInfo]:
        """SCH-602, SCH-603."""
        if not _may_have_candidates(rule, preemptor, queue):
            return []
        found = [each for each in queue.holders.values() if not needs.isdisjoint(each.usage)]
        if rule != "Any":
            found = [each for each in found if self.may_preempt(rule, preemptor, each)]
        replaced = preemptor.replaces
        # A slice is finished by its successor's admission and never preempted for it (SCH-1104).
        return found if replaced is None else [each for each in found if each is not replaced]

    def order(self, own: ClusterQueueInfo, context: PreemptionContext) -> SortKey:
        """SCH-620.

        Past usage compares only workloads of one queue; since workloads of other queues come first and differ by
        priority before anything else in practice, it enters the key as a part that is equal across queues.
        """

        def key(workload: WorkloadInfo) -> tuple[object, ...]:
            is_own = workload.queue is own
            usage = context.usage_of(workload) if is_own else None
            reserved = workload.reserved_at.timestamp() if workload.reserved_at else FAR_FUTURE
            return (
                not context.is_leaving(workload),
                is_own,
                -(usage or 0.0),
                workload.priority,
                -reserved,
                workload.uid,
            )

        return key

    def accepts(self, _preemptor: WorkloadInfo, _targets: Sequence[PreemptionTarget]) -> bool:
        """Kueue has no limits."""
        return True


def _before(left: datetime | None, right: datetime | None) -> bool:
    return left is not None and right is not None and left < right


def _may_have_candidates(rule: str, preemptor: WorkloadInfo, queue: ClusterQueueInfo) -> bool:
    """False if every holder of the queue has too high a priority, which avoids an iteration over all of them."""
    if rule == "Never" or not queue.priorities:
        return False
    if rule == "Any":
        return True
    lowest = min(queue.priorities)
    return lowest < preemptor.priority or (rule == "LowerOrNewerEqualPriority" and lowest == preemptor.priority)
