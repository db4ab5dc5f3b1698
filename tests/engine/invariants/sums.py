"""Sums of the trees and the limits on them: SCH-410 to SCH-432, from nothing but quotas and what the workloads hold."""

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from kohort.api.amounts import add, subtract
from kohort.engine.cycle_context import EngineCycleContext
from kohort.engine.engine import Engine
from kohort.engine.hierarchy import CohortNode, HierarchyNode
from kohort.engine.quota import NO_QUOTA, FlavorResource, QuotaCell
from kohort.engine.records import ClusterQueueInfo, WorkloadInfo
from kohort.engine.state.store import EngineStore

Holders = Mapping[str, Collection[WorkloadInfo]]
"""Workloads that count, by the name of their queue."""


def all_holders(store: EngineStore) -> Holders:
    """All workloads with quota (SCH-420)."""
    return {name: queue.holders.values() for name, queue in store.queues.items()}


def staying(context: EngineCycleContext) -> Holders:
    """All workloads with quota that are not being evicted; victims do not count (SCH-331)."""
    return {
        name: [holder for holder in holders if not context.is_leaving(holder)]
        for name, holders in all_holders(context.store).items()
    }


class Sums(NamedTuple):
    """What a node has and uses of one flavor-resource."""

    subtree: int
    local: int
    usage: int


class NodeSums:
    """Sums of nodes with certain workloads; each is computed once, as those above need it again."""

    def __init__(self, holders: Holders) -> None:
        self._holders = holders
        self._computed: dict[tuple[int, FlavorResource], Sums] = {}

    def of(self, node: HierarchyNode, fr: FlavorResource) -> Sums:
        """The sums of a node (SCH-410, SCH-411, SCH-420, SCH-421)."""
        key = (id(node), fr)
        found = self._computed.get(key)
        if found is None:
            found = self._computed[key] = self._compute(node, fr)
        return found

    def _compute(self, node: HierarchyNode, fr: FlavorResource) -> Sums:
        quota = node.quotas.get(fr, NO_QUOTA)
        subtree, usage = quota.nominal, 0
        if isinstance(node, CohortNode):
            for child in (self.of(member, fr) for member in node.members()):
                subtree = add(subtree, subtract(child.subtree, child.local))
                usage += max(0, child.usage - child.local)
        else:
            usage = sum(holder.usage.get(fr, 0) for holder in self._holders.get(node.name, ()))
        local = 0 if quota.lending_limit is None else max(0, subtract(subtree, quota.lending_limit))
        return Sums(subtree, local, usage)

    def potential_of(self, node: HierarchyNode, fr: FlavorResource) -> int:
        """The most that a node could ever hold (SCH-412)."""
        subtree, local, _ = self.of(node, fr)
        if node.parent is None:
            return subtree
        limit = node.quotas.get(fr, NO_QUOTA).borrowing_limit
        most = add(local, self.potential_of(node.parent, fr))
        return most if limit is None else min(most, add(subtree, limit))


def wrong_cells(engine: Engine) -> Iterator[str]:
    """Cells that differ from the recomputation. Sums of a changed tree are due at the next run."""
    hierarchy, sums = engine.store.hierarchy, NodeSums(all_holders(engine.store))
    for node in (*hierarchy.queues.values(), *hierarchy.cohorts.values()):
        if node.is_cyclic:
            continue
        for fr, cell in node.cells.items():
            if hierarchy.is_settled:
                yield from _wrong_sums(node, fr, cell, sums)
            elif not isinstance(node, CohortNode):
                yield from _wrong_usage(node, fr, cell, sums)


def _wrong_usage(node: HierarchyNode, fr: FlavorResource, cell: QuotaCell, sums: NodeSums) -> Iterator[str]:
    usage = sums.of(node, fr).usage
    if cell.usage != usage:
        yield f"{node.name} counts {cell.usage} of {flavor_resource_text(fr)} as used, and it is {usage}"


def _wrong_sums(node: HierarchyNode, fr: FlavorResource, cell: QuotaCell, sums: NodeSums) -> Iterator[str]:
    yield from _wrong_usage(node, fr, cell, sums)
    actual = (cell.subtree, cell.local, cell.potential)
    true = (*sums.of(node, fr)[:2], sums.potential_of(node, fr))
    if actual != true:
        yield f"{node.name} has {actual} of {flavor_resource_text(fr)}, and should have {true} (all, local, potential)"
    children = list(node.members()) if isinstance(node, CohortNode) else []
    borrowing = {child.cells[fr] for child in children if fr in child.cells and child.cells[fr].borrows_with(0)}
    if cell.borrowers.keys() != borrowing:
        name = flavor_resource_text(fr)
        yield f"{node.name} lists {len(cell.borrowers)} borrowing children of {name}, and {len(borrowing)} borrow"
    if cell.parent is not (node.parent.cells.get(fr) if node.parent else None):
        yield f"{node.name} passes {flavor_resource_text(fr)} on to a cell that is not its parent's"


def flavor_resource_text(fr: FlavorResource) -> str:
    """A flavor-resource in words."""
    return f"{fr.flavor}/{fr.resource}"


# Limits


def broken_limits(
    context: EngineCycleContext, queue: ClusterQueueInfo, gained: Mapping[FlavorResource, int]
) -> Iterator[str]:
    """Limits that a use, now counted, has broken on its way to the root (SCH-404, SCH-431, SCH-432).

    A node that the use did not reach may be in debt since its quota was lowered (SCH-434).
    """
    holding = NodeSums(staying(context))
    for fr, amount in gained.items():
        if fr not in queue.node.quotas:
            yield f"{queue.name} does not offer {flavor_resource_text(fr)}"
        node: HierarchyNode | None = queue.node
        while node is not None and amount > 0:
            sums = holding.of(node, fr)
            most = _most(node, fr, sums.subtree)
            if most is not None and sums.usage > most:
                yield f"{node.name} uses {sums.usage} of {flavor_resource_text(fr)}, and may use {most}"
            amount -= max(0, sums.local - (sums.usage - amount))
            node = node.parent


def _most(node: HierarchyNode, fr: FlavorResource, subtree: int) -> int | None:
    """What a node has and may borrow; None where nothing limits it but its parent."""
    if node.parent is None:
        return subtree
    limit = node.quotas.get(fr, NO_QUOTA).borrowing_limit
    return None if limit is None else add(subtree, limit)
