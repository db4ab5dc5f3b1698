"""Nodes as placements read them (TAS-19)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kohort.api.amounts import to_amount
from kohort.api.core.nodes import Node
from kohort.api.markers import RawQuantity, ResourceList
from kohort.api.meta import Taint
from kohort.api.quantity import QuantityError
from kohort.api.taints import BLOCKING_EFFECTS


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
    return TopologyNode(node.metadata.name, node.metadata.labels, taints, _capacity(node.status.allocatable))


def invalid_quantities(node: Node) -> dict[str, str]:
    """Allocatable resources that are not quantities, with the reason; they count as absent."""
    return {name: problem for name, raw in node.status.allocatable.items() if (problem := _problem(name, raw))}


def _capacity(allocatable: ResourceList) -> dict[str, int]:
    """In internal units, without what is not a quantity: one node must not keep others from being used."""
    try:
        return {name: to_amount(name, raw) for name, raw in allocatable.items()}
    except QuantityError:
        return {name: to_amount(name, raw) for name, raw in allocatable.items() if not _problem(name, raw)}


def _problem(name: str, raw: RawQuantity) -> str:
    try:
        to_amount(name, raw)
    except QuantityError as error:
        return str(error)
    return ""


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
