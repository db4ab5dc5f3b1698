"""Nodes as an agent's cache has them: what its pods are checked against, and whether somebody took them for dead."""

from collections.abc import Container
from dataclasses import dataclass

import msgspec

from kohort.api.amounts import to_amount
from kohort.api.codec import decode
from kohort.api.core.nodes import Node
from kohort.api.errors import ApiError
from kohort.api.meta import ObjectKey, Taint
from kohort.api.resource import Resource
from kohort.embedded.nodes.runtime import Value
from kohort.kube.resource_types import Data, ObjectIdentity, ResourceType


class AgentNode(Value):
    """A node, or the name of somebody else's."""

    key: ObjectKey
    uid: str
    version: str
    labels: dict[str, str] = {}
    taints: tuple[Taint, ...] = ()
    allocatable: dict[str, int] = {}
    ready: str = ""
    """The status of its condition Ready."""


@dataclass(frozen=True)
class SeenNodes(ResourceType[AgentNode]):
    """Nodes read for their agent; they can't be written back."""

    resource: Resource = Node.resource
    ours: Container[str] = ()

    def read(self, data: Data) -> AgentNode:
        """As much of the node as its agent needs."""
        node = decode(data, Node)
        metadata, status = node.metadata, node.status
        seen = AgentNode(ObjectKey("", metadata.name), metadata.uid, metadata.resource_version)
        if metadata.name not in self.ours:
            return seen
        return msgspec.structs.replace(
            seen,
            labels=dict(metadata.labels),
            taints=node.spec.taints,
            allocatable={name: to_amount(name, amount) for name, amount in status.allocatable.items()},
            ready=next((each.status for each in status.conditions if each.type == "Ready"), ""),
        )

    def identity(self, obj: AgentNode) -> ObjectIdentity:
        """As its fields say."""
        return ObjectIdentity(obj.key, obj.uid, obj.version)

    def body(self, obj: AgentNode) -> bytes:
        """Never."""
        raise ApiError(f"node {obj.key} is known in part and can't be written whole: patch it")

    def _item(self, data: msgspec.Raw) -> AgentNode:
        return self.read(data)
