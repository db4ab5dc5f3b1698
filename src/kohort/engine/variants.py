"""Variants of one workload that compete for different flavors (SCH-330, SCH-1110 to SCH-1113).

A flavor is the better the earlier it stands in the ClusterQueue. Here is what a cycle must know of variants; what
follows for them and their parent is in `lifecycle.variants`, and making them is the controllers' work.
"""

from collections.abc import Iterable

from kohort.engine.records import Queue, Workload

WORSE_THAN_ACCEPTABLE = "Target flavor is below LastAcceptableFlavorName"
BETTER_IS_ADMITTED = "A more favorable variant is already admitted"


class Variants:
    """Which workloads are variants of the same parent."""

    def __init__(self) -> None:
        self._by_parent: dict[str, dict[str, Workload]] = {}
        self._parent_of: dict[str, str] = {}

    def note(self, workload: Workload, parent: str) -> None:
        """The workload is a variant of a parent, or of none."""
        former = self._parent_of.get(workload.uid, "")
        if former == parent:
            return
        self.forget(workload)
        if parent:
            self._parent_of[workload.uid] = parent
            self._by_parent.setdefault(parent, {})[workload.uid] = workload

    def forget(self, workload: Workload) -> None:
        """The workload is gone."""
        parent = self._parent_of.pop(workload.uid, None)
        if parent is not None:
            siblings = self._by_parent[parent]
            del siblings[workload.uid]
            if not siblings:
                del self._by_parent[parent]

    def admitted_sibling(self, workload: Workload) -> Workload | None:
        """Another variant of the same parent that holds quota."""
        siblings = self._by_parent.get(self._parent_of.get(workload.uid, ""), {})
        return next((each for each in siblings.values() if each is not workload and each.has_quota), None)


def rank(queue: Queue, flavors: Iterable[str]) -> int:
    """Place of the best of these flavors in the queue's order; behind all others when it has none of them."""
    order = [flavor for group in queue.groups for flavor in group.flavors]
    return min((order.index(flavor) for flavor in flavors if flavor in order), default=len(order))


def held_rank(queue: Queue, workload: Workload) -> int:
    """Place of the flavor in which a workload holds quota."""
    return rank(queue, {fr.flavor for fr in workload.usage})
