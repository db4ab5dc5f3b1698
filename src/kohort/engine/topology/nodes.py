"""Nodes as placements read them (TAS-19)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kohort.api.core.nodes import Node
from kohort.api.meta import Taint
from kohort.api.taints import BLOCKING_EFFECTS
from kohort.engine.requests.lists import amounts_of


@dataclass(frozen=True, slots=True)
class TopologyNode:
    """A usable node: Ready and schedulable (TAS-19)."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    """Only those that keep pods away; PreferNoSchedule is ignored (TAS-45)."""
    allocatable: Mapping[str, int]
    """In internal units."""


def topology_node(node: Node) -> TopologyNode | None:
    """The node, if it is usable (TAS-19)."""
    if node.spec.unschedulable or not _is_ready(node):
        return None
    taints = tuple(taint for taint in node.spec.taints if taint.effect in BLOCKING_EFFECTS)
    return TopologyNode(node.metadata.name, node.metadata.labels, taints, amounts_of(node.status.allocatable))


def _is_ready(node: Node) -> bool:
    return any(each.type == "Ready" and each.status == "True" for each in node.status.conditions)


@dataclass(slots=True)
class NodeInventory:
    """Usable nodes, and what pods outside TAS use of all nodes (TAS-19, TAS-27)."""

    nodes: dict[str, TopologyNode] = field(default_factory=dict)
    non_tas: dict[str, Mapping[str, int]] = field(default_factory=dict)

    def free(self, nodes: Iterable[TopologyNode]) -> dict[str, int]:
        """What nodes have together for TAS pods (TAS-26)."""
        free: dict[str, int] = {}
        for node in nodes:
            for resource, amount in node.allocatable.items():
                free[resource] = free.get(resource, 0) + amount
            for resource, amount in self.non_tas.get(node.name, {}).items():
                free[resource] = free.get(resource, 0) - amount
        return free
