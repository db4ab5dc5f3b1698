"""Quota and its use over all cohort trees, as an engine sees it: one frozen branch per Cohort and ClusterQueue."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kohort.api.amounts import UNLIMITED, add
from kohort.engine.engine import Engine
from kohort.engine.hierarchy import CohortNode, HierarchyNode
from kohort.engine.quota import FlavorResource, QuotaCell


@dataclass(frozen=True, slots=True)
class QuotaUsage:
    """One flavor-resource at one node, in internal units."""

    fr: FlavorResource
    quota: int
    """What the node has: its own, and of a Cohort what those below it lend."""
    used: int
    borrowed: int
    """What is used beyond the quota."""
    lendable: int
    """What it does not use itself and leaves to others of the tree, whether they use it already or not."""
    waiting: int
    """What those who wait ask for, told at the first flavor that has the resource."""

    @property
    def is_unlimited(self) -> bool:
        """Whether the quota has no bound."""
        return self.quota >= UNLIMITED


@dataclass(frozen=True, slots=True)
class QuotaTreeNode:
    """A node of a tree."""

    kind: str
    """`cohort` or `queue`."""
    name: str
    figures: tuple[QuotaUsage, ...]
    running: int
    waiting: int
    is_active: bool
    children: tuple["QuotaTreeNode", ...] = ()

    def walk(self) -> Iterator["QuotaTreeNode"]:
        """Itself and all below it."""
        yield self
        for child in self.children:
            yield from child.walk()


def quota_trees(engine: Engine) -> tuple[QuotaTreeNode, ...]:
    """All trees, cohorts first; those whose parents run in a circle have no sums and stand alone."""
    read = engine.read
    cohorts = [node for node in read.cohorts.values() if node.parent is None or node.is_cyclic]
    queues = [node for node in read.cluster_queue_nodes.values() if node.parent is None]
    return tuple(_branch(engine, node) for node in (*sorted(cohorts, key=_name), *sorted(queues, key=_name)))


def _name(node: HierarchyNode) -> str:
    return node.name


def _branch(engine: Engine, node: HierarchyNode) -> QuotaTreeNode:
    if isinstance(node, CohortNode):
        members = sorted(_members(node), key=lambda each: (isinstance(each, CohortNode), each.name))
        below = tuple(_branch(engine, member) for member in members)
        return QuotaTreeNode(
            "cohort",
            node.name,
            tuple(_figures(node, {})),
            sum(each.running for each in below),
            sum(each.waiting for each in below),
            not node.is_cyclic,
            below,
        )
    queue, pending = engine.read.cluster_queues[node.name], engine.read.pending[node.name]
    asked = _asked(engine, node.name)
    return QuotaTreeNode(
        "queue", node.name, tuple(_figures(node, asked)), len(queue.holders), sum(pending.counts), queue.is_active
    )


def _members(node: CohortNode) -> Iterator[HierarchyNode]:
    """What hangs below a cohort; of one in a circle, only its queues, as the rest would never end."""
    return iter(node.queues.values()) if node.is_cyclic else node.members()


def _figures(node: HierarchyNode, asked: Mapping[str, int]) -> Iterator[QuotaUsage]:
    left = dict(asked)
    for fr in sorted(node.cells):
        cell = node.cells[fr]
        if not cell.is_listed and not cell.usage:
            continue
        yield QuotaUsage(
            fr,
            cell.subtree,
            cell.usage,
            max(0, cell.usage - cell.subtree) if node.parent is not None else 0,
            _lendable(cell) if node.parent is not None else 0,
            left.pop(fr.resource, 0),
        )


def _lendable(cell: QuotaCell) -> int:
    """What is free of it beyond what it keeps to itself."""
    return max(0, cell.subtree - max(cell.usage, cell.local))


def _asked(engine: Engine, name: str) -> dict[str, int]:
    """What all who wait in a queue ask for, per resource."""
    pending = engine.read.pending[name]
    total: dict[str, int] = {}
    for workload in pending.first(sum(pending.counts)):
        for pod_set in workload.pod_sets:
            for resource, amount in pod_set.total.items():
                total[resource] = add(total.get(resource, 0), amount)
    return total
