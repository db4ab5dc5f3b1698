"""Equal nodes in the racks of one block, with the Topology and the flavor for workloads that are placed on them."""

from collections.abc import Iterator
from dataclasses import dataclass

from kohort.api.core.nodes import HOSTNAME, Node, NodeStatus
from kohort.api.core.objects import StatusCondition
from kohort.api.kueue.v1beta2 import Topology
from kohort.api.kueue.v1beta2.flavors import ResourceFlavorSpec, TopologyLevel, TopologySpec
from kohort.api.markers import ResourceList
from kohort.api.meta import ObjectMeta

TOPOLOGY = "racks"
BLOCK, RACK = "cloud.provider.com/topology-block", "cloud.provider.com/topology-rack"
NODE_GROUP = {"tas-node-group": "tas"}


@dataclass(frozen=True)
class Racks:
    """So many racks of so many nodes."""

    racks: int
    nodes: int
    """Per rack."""
    cores: int
    """Per node."""

    @property
    def flavor(self) -> ResourceFlavorSpec:
        """Spec of the flavor that consists of these nodes."""
        return ResourceFlavorSpec(node_labels=NODE_GROUP, topology_name=TOPOLOGY)

    def objects(self) -> Iterator[Topology | Node]:
        levels = tuple(TopologyLevel(node_label=level) for level in (BLOCK, RACK, HOSTNAME))
        yield Topology(metadata=ObjectMeta(name=TOPOLOGY), spec=TopologySpec(levels=levels))
        capacity: ResourceList = {"cpu": str(self.cores), "memory": "256Gi", "pods": "110"}
        for rack in range(self.racks):
            for number in range(self.nodes):
                name = f"node-r{rack}-n{number}"
                labels = {BLOCK: "block-0", RACK: f"rack-{rack}", HOSTNAME: name, **NODE_GROUP}
                yield sample_node(name, labels, capacity)


def sample_node(name: str, labels: dict[str, str], allocatable: ResourceList, ready: str = "True") -> Node:
    condition = StatusCondition(type="Ready", status=ready)
    return Node(
        metadata=ObjectMeta(name=name, labels=labels),
        status=NodeStatus(allocatable=allocatable, conditions=(condition,)),
    )
