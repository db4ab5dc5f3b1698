"""Quota and usage of all cohort trees of an engine: one frozen tree node per Cohort and ClusterQueue."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kohort.api.amounts import UNLIMITED, add
from kohort.engine.engine import Engine
from kohort.engine.hierarchy import CohortNode, HierarchyNode
from kohort.engine.quota import FlavorResource, QuotaCell


@dataclass(frozen=True, slots=True)
class QuotaUsage:
    """One flavor-resource at one tree node, in internal units."""

    fr: FlavorResource
    quota: int
    """Its nominal quota; of a Cohort including what its members lend."""
    used: int
    borrowed: int
    """Usage above the quota."""
    lendable: int
    """Unused quota that others of the tree may use, whether they do or not."""
    waiting: int
    """Pending requests, counted at the first flavor with the resource."""

    @property
    def is_unlimited(self) -> bool:
        """Whether the quota is unlimited."""
        return self.quota >= UNLIMITED


@dataclass(frozen=True, slots=True)
class QuotaTreeNode:
    """A Cohort or ClusterQueue with its members."""

    kind: str
    """`cohort` or `queue`."""
    name: str
    usages: tuple[QuotaUsage, ...]
    running: int
    waiting: int
    is_active: bool
    children: tuple["QuotaTreeNode", ...] = ()

    def walk(self) -> Iterator["QuotaTreeNode"]:
        """The node and all its descendants."""
        yield self
        for child in self.children:
            yield from child.walk()


def quota_trees(engine: Engine) -> tuple[QuotaTreeNode, ...]:
    """All trees, cohorts first; cohorts in a cycle have no sums and are listed separately."""
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
            tuple(_usages(node, {})),
            sum(each.running for each in below),
            sum(each.waiting for each in below),
            not node.is_cyclic,
            below,
        )
    queue, pending = engine.read.cluster_queues[node.name], engine.read.pending[node.name]
    requested = _requested(engine, node.name)
    return QuotaTreeNode(
        "queue", node.name, tuple(_usages(node, requested)), len(queue.holders), sum(pending.counts), queue.is_active
    )


def _members(node: CohortNode) -> Iterator[HierarchyNode]:
    """The members of a cohort; of one in a cycle only its queues."""
    return iter(node.queues.values()) if node.is_cyclic else node.members()


def _usages(node: HierarchyNode, requested: Mapping[str, int]) -> Iterator[QuotaUsage]:
    left = dict(requested)
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
    """Unused quota, except what is withheld by the lending limit."""
    return max(0, cell.subtree - max(cell.usage, cell.local))


def _requested(engine: Engine, name: str) -> dict[str, int]:
    """Requests of all pending Workloads of a queue, by resource."""
    pending = engine.read.pending[name]
    total: dict[str, int] = {}
    for workload in pending.first(sum(pending.counts)):
        for pod_set in workload.pod_sets:
            for resource, amount in pod_set.total.items():
                total[resource] = add(total.get(resource, 0), amount)
    return total
