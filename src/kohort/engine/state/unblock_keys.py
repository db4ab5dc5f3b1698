"""Keys of what workloads compete for: an event unblocks keys, and a key maps to the queues that it concerns.

Queues of different cohort trees share no quota, so that most events unblock the key of one tree. A capacity that
several trees share is keyed by flavor; capacity of nodes concerns only queues with workloads that wait for placement.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from kohort.engine.hierarchy import CohortNode, Hierarchy, HierarchyNode
from kohort.engine.records import ClusterQueueInfo

COHORT_TREE: Final = "cohort tree"
CLUSTER_QUEUE: Final = "cluster queue"
FLAVOR: Final = "flavor"
PLACES: Final = "places"


class UnblockKey(NamedTuple):
    """What may have become free: quota of a tree, by its root, nodes of a flavor, or capacity of its nodes."""

    kind: str
    name: str


def tree_key(node: HierarchyNode) -> UnblockKey:
    """The key of the tree of a node outside cycles."""
    root = node.top()
    return UnblockKey(COHORT_TREE if isinstance(root, CohortNode) else CLUSTER_QUEUE, root.name)


def flavor_key(flavor: str) -> UnblockKey:
    """The key of a capacity that all queues with a flavor share."""
    return UnblockKey(FLAVOR, flavor)


def places_key(flavor: str) -> UnblockKey:
    """The key of places that pods have left on the nodes of a flavor."""
    return UnblockKey(PLACES, flavor)


def queues_of(key: UnblockKey, hierarchy: Hierarchy, queues: Iterable[ClusterQueueInfo]) -> list[str]:
    """The ClusterQueues whose workloads a key can unblock."""
    if key.kind == CLUSTER_QUEUE:
        return [key.name]
    if key.kind in (FLAVOR, PLACES):
        return [queue.name for queue in queues if any(key.name in group.flavors for group in queue.groups)]
    root = hierarchy.cohorts.get(key.name)
    return queues_in_tree(root) if root is not None else []


def queues_in_tree(node: HierarchyNode) -> list[str]:
    """The ClusterQueues of the tree of a node; none if the cohorts form a cycle."""
    if node.is_cyclic:
        return []
    root = node.top()
    return [leaf.name for leaf in root.all_queues()] if isinstance(root, CohortNode) else [root.name]
