"""Nodes, reduced to what placement and failure detection read (TAS-19, TAS-20, TAS-25).

A heartbeat changes only fields that are dropped here: the reduced node is equal to the one before.
"""

from collections.abc import Iterable, Mapping
from sys import intern
from typing import Final

from kohort.api.conditions import find
from kohort.api.core.nodes import Node, NodeSpec, NodeStatus
from kohort.api.core.objects import StatusCondition
from kohort.api.kueue.v1beta2.flavors import HOSTNAME_LABEL
from kohort.api.meta import ObjectMeta
from kohort.kube.informer import Informer
from kohort.kube.resource_types import TypedResource

HOST: Final = "host"
"""Name of an index: nodes by host."""
READY: Final = "Ready"


def reduced(node: Node) -> Node:
    """The node with name, labels, taints, allocatable resources and readiness."""
    head = node.metadata
    ready = find(node.status.conditions, READY)
    return Node(
        api_version=node.api_version,
        kind=node.kind,
        metadata=ObjectMeta(
            name=head.name, uid=head.uid, resource_version=head.resource_version, labels=_interned(head.labels)
        ),
        spec=NodeSpec(taints=node.spec.taints, unschedulable=node.spec.unschedulable),
        status=NodeStatus(
            allocatable=node.status.allocatable, conditions=(_without_heartbeat(ready),) if ready else ()
        ),
    )


def _without_heartbeat(ready: StatusCondition) -> StatusCondition:
    return StatusCondition(type=READY, status=intern(ready.status), last_transition_time=ready.last_transition_time)


def _interned(labels: Mapping[str, str]) -> dict[str, str]:
    """Nodes of a pool have the same labels: each text is kept once."""
    return {intern(key): intern(value) for key, value in labels.items()}


NODES: Final = TypedResource(Node.resource, Node, reduced)
"""The resource of informers of reduced nodes."""


def is_same(old: Node, new: Node) -> bool:
    """Whether two reduced nodes differ in nothing that placement or failure detection reads (TAS-20)."""
    return old.status == new.status and old.spec == new.spec and old.metadata.labels == new.metadata.labels


def host_of(node: Node) -> str:
    """The value of the hostname label, by which assignments name the node; else its name (TAS-25)."""
    return node.metadata.labels.get(HOSTNAME_LABEL) or node.metadata.name


def hosts_of(node: Node) -> Iterable[str]:
    """The host of a node, for an index."""
    return (host_of(node),)


def ready_condition(node: Node) -> StatusCondition | None:
    """The condition Ready."""
    return find(node.status.conditions, READY)


def is_ready(node: Node) -> bool:
    """Whether the condition Ready is True."""
    ready = ready_condition(node)
    return ready is not None and ready.status == "True"


def is_usable(node: Node) -> bool:
    """Whether pods may be placed on the node (TAS-19)."""
    return is_ready(node) and not node.spec.unschedulable


class HostMap:
    """Nodes by host, and hosts by node name: the two are usually equal, and may differ (TAS-25)."""

    def __init__(self, nodes: Informer[Node]) -> None:
        self._nodes = nodes
        nodes.index(HOST, hosts_of)

    def node_of(self, host: str) -> Node | None:
        """The node of a host: by hostname label, a Ready one first, else by name."""
        found = self._nodes.cache.find(HOST, host)
        if found:
            return min(found, key=lambda node: (not is_ready(node), node.metadata.name))
        return self._nodes.cache.get(("", host))

    def host_of(self, node_name: str) -> str:
        """The host of a node; its name if the node does not exist."""
        node = self._nodes.cache.get(("", node_name))
        return node_name if node is None else host_of(node)

    def node_names(self, host: str) -> set[str]:
        """The names of the nodes of a host, and the host itself, by which pods of deleted nodes are found."""
        return {host, *(node.metadata.name for node in self._nodes.cache.find(HOST, host))}
