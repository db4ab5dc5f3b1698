"""Variants of one workload that compete for different flavors (SCH-330, SCH-1110 to SCH-1113).

Flavors listed earlier in the ClusterQueue are preferred. This module has what a cycle needs; `lifecycle.variants` has
the status changes of variants and parents, and controllers create variants.
"""

from collections.abc import Iterable

from kohort.engine.records import ClusterQueueInfo, WorkloadInfo

WORSE_THAN_ACCEPTABLE = "Target flavor is below LastAcceptableFlavorName"
BETTER_IS_ADMITTED = "A more favorable variant is already admitted"


class Variants:
    """Which workloads are variants of the same parent."""

    def __init__(self) -> None:
        self._by_parent: dict[str, dict[str, WorkloadInfo]] = {}
        self._parent_of: dict[str, str] = {}
        self._expected: set[str] = set()
        """UIDs of variants that will be admitted as soon as their reservation is written (SCH-906)."""

    def note(self, workload: WorkloadInfo, parent: str) -> None:
        """The workload is a variant of a parent, or of none."""
        former = self._parent_of.get(workload.uid, "")
        if former == parent:
            return
        self.forget(workload)
        if parent:
            self._parent_of[workload.uid] = parent
            self._by_parent.setdefault(parent, {})[workload.uid] = workload

    def forget(self, workload: WorkloadInfo) -> None:
        """Remove a deleted workload."""
        parent = self._parent_of.pop(workload.uid, None)
        self._expected.discard(workload.uid)
        if parent is not None:
            siblings = self._by_parent[parent]
            del siblings[workload.uid]
            if not siblings:
                del self._by_parent[parent]

    def expect(self, workload: WorkloadInfo, *, admitted: bool) -> None:
        """The workload got quota; whether that admits it, or checks are still to decide."""
        if admitted and workload.uid in self._parent_of:
            self._expected.add(workload.uid)
        else:
            self._expected.discard(workload.uid)

    def admitted_sibling(self, workload: WorkloadInfo) -> WorkloadInfo | None:
        """Another variant of the same parent that is admitted; while checks decide, variants race (SCH-330)."""
        parent = self._parent_of.get(workload.uid)
        if parent is None:
            return None
        siblings = self._by_parent[parent].values()
        return next((each for each in siblings if each is not workload and self._is_admitted(each)), None)

    def _is_admitted(self, workload: WorkloadInfo) -> bool:
        return workload.has_quota and (workload.is_admitted or workload.uid in self._expected)


def rank(queue: ClusterQueueInfo, flavors: Iterable[str]) -> int:
    """Index of the best of these flavors in the queue's order; after all others if it has none of them."""
    order = [flavor for group in queue.groups for flavor in group.flavors]
    return min((order.index(flavor) for flavor in flavors if flavor in order), default=len(order))


def held_rank(queue: ClusterQueueInfo, workload: WorkloadInfo) -> int:
    """Index of the flavor in which a workload holds quota."""
    return rank(queue, {fr.flavor for fr in workload.usage})
