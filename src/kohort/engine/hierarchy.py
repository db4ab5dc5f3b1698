"""Cohort trees: parents and members of each tree node, and the sums of their quota (SCH-401 to SCH-404).

Quota cells exist as long as their tree node, so that workloads can refer to them. A change of quota or of a parent
marks the tree; its sums are recomputed before the next read.
"""

from collections.abc import Iterable, Iterator, Mapping

from kohort.api.amounts import add
from kohort.engine.quota import NO_QUOTA, FlavorResource, Quota, QuotaCell

Quotas = Mapping[FlavorResource, Quota]


class HierarchyNode:
    """A ClusterQueue or a Cohort in the tree."""

    __slots__ = ("cells", "name", "parent", "quotas", "weight")

    def __init__(self, name: str) -> None:
        self.name = name
        self.parent: CohortNode | None = None
        self.quotas: Quotas = {}
        self.weight = 1.0
        self.cells: dict[FlavorResource, QuotaCell] = {}

    def ancestors(self) -> Iterator["CohortNode"]:
        """Cohorts from the parent to the root."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    def top(self) -> "HierarchyNode":
        """The root of its tree; itself without a parent."""
        node = self
        while node.parent is not None:
            node = node.parent
        return node

    def cell(self, fr: FlavorResource) -> QuotaCell:
        """The cell of a flavor-resource; a new one without quota if there is none yet.

        In a cycle of parents it has no parent cell, because sums are not computed there (SCH-402).
        """
        cell = self.cells.get(fr)
        if cell is None:
            cell = self.cells[fr] = QuotaCell(self)
            if self.parent is not None and not self.is_cyclic:
                cell.parent = self.parent.cell(fr)
                cell.settle_potential()
        return cell

    @property
    def is_cyclic(self) -> bool:
        """Whether its parents form a cycle (SCH-402)."""
        cohort = self if isinstance(self, CohortNode) else self.parent
        if cohort is None or cohort.parent is None:
            return False
        seen = set()
        while cohort is not None:
            if cohort.name in seen:
                return True
            seen.add(cohort.name)
            cohort = cohort.parent
        return False

    @property
    def path(self) -> str:
        """`/root/…/parent/name` (SCH-651)."""
        return "/" + "/".join([*reversed([node.name for node in self.ancestors()]), self.name])


class ClusterQueueNode(HierarchyNode):
    """The leaf of a ClusterQueue."""

    __slots__ = ("generation",)

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.generation = 0
        """Incremented when capacity may have become free or quotas changed (SCH-554)."""


class CohortNode(HierarchyNode):
    """An inner node; implicit without a Cohort object."""

    __slots__ = ("children", "height", "is_explicit", "lendable", "queues")

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.is_explicit = False
        self.children: dict[str, CohortNode] = {}
        self.queues: dict[str, ClusterQueueNode] = {}
        self.height = 0
        """SCH-440."""
        self.lendable: dict[str, int] = {}
        """Per resource, the most that the subtree could ever hold, over all flavors of the tree (SCH-701)."""

    def members(self) -> Iterator[HierarchyNode]:
        """Child cohorts and queues."""
        yield from self.children.values()
        yield from self.queues.values()

    def borrowers(self, needs: Iterable[FlavorResource]) -> list[HierarchyNode]:
        """Child cohorts and queues that use more of any of these than they have."""
        cells = [cell for fr in needs if fr in self.cells for cell in self.cells[fr].borrowers]
        return [owner for owner in dict.fromkeys(cell.owner for cell in cells) if isinstance(owner, HierarchyNode)]

    def borrowing_queues(self, needs: Iterable[FlavorResource]) -> Iterator[ClusterQueueNode]:
        """Every queue of the subtree that uses more of any of these than it has."""
        for member in self.borrowers(needs):
            if isinstance(member, ClusterQueueNode):
                yield member
        for child in self.children.values():
            yield from child.borrowing_queues(needs)

    def all_queues(self) -> Iterator[ClusterQueueNode]:
        """Every queue of the subtree."""
        yield from self.queues.values()
        for child in self.children.values():
            yield from child.all_queues()

    def root(self) -> "CohortNode":
        """The top of this node's tree."""
        node = self
        while node.parent is not None:
            node = node.parent
        return node


class Hierarchy:
    """All ClusterQueues and Cohorts, as trees."""

    def __init__(self) -> None:
        self.queues: dict[str, ClusterQueueNode] = {}
        self.cohorts: dict[str, CohortNode] = {}
        self.generation = 0
        """Incremented when a node comes, goes, moves or has other quotas."""
        self._stale: dict[str, HierarchyNode] = {}

    def set_queue(self, name: str, cohort: str | None, quotas: Quotas, weight: float = 1.0) -> ClusterQueueNode:
        """Add a ClusterQueue or change its parent, quotas or weight."""
        node = self.queues.get(name)
        if node is None:
            node = self.queues[name] = ClusterQueueNode(name)
        node.quotas, node.weight = quotas, weight
        self._mark(node)
        self._move(node, cohort)
        return node

    def remove_queue(self, name: str) -> None:
        """Remove a ClusterQueue from its tree."""
        node = self.queues.pop(name)
        self._mark(node)
        self._move(node, None)

    def set_cohort(self, name: str, parent: str | None, quotas: Quotas, weight: float = 1.0) -> CohortNode:
        """Add a Cohort object or change it."""
        node = self._cohort(name)
        node.quotas, node.weight, node.is_explicit = quotas, weight, True
        self._mark(node)
        self._move(node, parent)
        return node

    def remove_cohort(self, name: str) -> None:
        """Remove a Cohort object; the node remains, implicit, while others reference it (SCH-401)."""
        node = self.cohorts[name]
        node.quotas, node.weight, node.is_explicit = {}, 1.0, False
        self._mark(node)
        self._move(node, None)
        self._forget_if_empty(node)

    @property
    def is_settled(self) -> bool:
        """Whether all sums are current."""
        return not self._stale

    def refresh(self) -> bool:
        """Recompute the sums of every changed tree; whether there was one."""
        if not self._stale:
            return False
        stale, self._stale = self._stale, {}
        roots: dict[int, HierarchyNode] = {}
        for node in stale.values():
            if node.is_cyclic:
                continue
            top = node.top()
            roots[id(top)] = top
        for top in roots.values():
            _settle(top)
        return bool(roots)

    def _cohort(self, name: str) -> CohortNode:
        node = self.cohorts.get(name)
        if node is None:
            node = self.cohorts[name] = CohortNode(name)
        return node

    def _mark(self, node: HierarchyNode) -> None:
        self.generation += 1
        kind = "cohort" if isinstance(node, CohortNode) else "queue"
        self._stale[f"{kind}/{node.name}"] = node

    def _move(self, node: HierarchyNode, parent_name: str | None) -> None:
        former = node.parent
        parent = self._cohort(parent_name) if parent_name else None
        if former is parent:
            return
        if former is not None:
            _siblings(former, node).pop(node.name, None)
            self._mark(former)
            self._forget_if_empty(former)
            # If the new parents form a cycle, no sums are computed, and nothing may count at the old parents.
            for cell in node.cells.values():
                cell.parent = None
        node.parent = parent
        if parent is not None:
            _siblings(parent, node)[node.name] = node
            self._mark(parent)

    def _forget_if_empty(self, node: CohortNode) -> None:
        if not node.is_explicit and not node.children and not node.queues:
            self.cohorts.pop(node.name, None)
            self._stale.pop(f"cohort/{node.name}", None)


def _siblings(parent: CohortNode, node: HierarchyNode) -> dict[str, HierarchyNode]:
    return parent.children if isinstance(node, CohortNode) else parent.queues  # type: ignore[return-value]


def _settle(top: HierarchyNode) -> None:
    """All sums of a tree: up from the leaves, then potential capacity down from the root."""
    resources = _collect(top)
    for fr in resources:
        _settle_up(top, fr)
        _settle_down(top, fr)
    _settle_heights(top)
    _settle_lendable(top, dict.fromkeys(resources, 0))
    for queue in (
        [top] if isinstance(top, ClusterQueueNode) else list(top.all_queues()) if isinstance(top, CohortNode) else []
    ):
        queue.generation += 1


def _collect(top: HierarchyNode) -> set[FlavorResource]:
    """Every flavor-resource for which a node of the tree has a cell."""
    found = {*top.quotas, *top.cells}
    if isinstance(top, CohortNode):
        for member in top.members():
            found |= _collect(member)
    return found


def _settle_up(node: HierarchyNode, fr: FlavorResource) -> QuotaCell | None:
    """Compute the sums of one flavor-resource at a node and below; None if the subtree has no cell for it."""
    below = [] if isinstance(node, ClusterQueueNode) else [_settle_up(member, fr) for member in _members(node)]
    known = [cell for cell in below if cell is not None]
    if fr not in node.cells and fr not in node.quotas and not known and node.parent is not None:
        return None
    cell = node.cells.get(fr)
    if cell is None:
        cell = node.cells[fr] = QuotaCell(node)
    cell.take_quota(node.quotas.get(fr, NO_QUOTA))
    cell.is_listed = fr in node.quotas or any(child.is_listed for child in known)
    if isinstance(node, CohortNode):
        cell.usage = 0
    for child in known:
        child.parent = cell
        cell.take_child(child)
    cell.settle_local()
    if node.parent is None:
        cell.parent = None
    return cell


def _settle_down(node: HierarchyNode, fr: FlavorResource) -> None:
    cell = node.cells.get(fr)
    if cell is None:
        return
    cell.settle_potential()
    if isinstance(node, CohortNode):
        for member in node.members():
            _settle_down(member, fr)


def _settle_lendable(node: HierarchyNode, potential: dict[FlavorResource, int]) -> None:
    """The potential of a cohort without a cell for a flavor-resource is that of its parent."""
    if not isinstance(node, CohortNode):
        return
    potential = {fr: node.cells[fr].potential if fr in node.cells else above for fr, above in potential.items()}
    node.lendable = {}
    for fr, amount in potential.items():
        node.lendable[fr.resource] = add(node.lendable.get(fr.resource, 0), amount)
    for child in node.children.values():
        _settle_lendable(child, potential)


def _members(node: HierarchyNode) -> Iterator[HierarchyNode]:
    return node.members() if isinstance(node, CohortNode) else iter(())


def _settle_heights(node: HierarchyNode) -> int:
    """SCH-440: 0 without children, 1 with queues only, else one more than the highest child cohort."""
    if not isinstance(node, CohortNode):
        return 0
    heights = [_settle_heights(child) for child in node.children.values()]
    node.height = 1 + max(heights, default=0) if heights or node.queues else 0
    return node.height
