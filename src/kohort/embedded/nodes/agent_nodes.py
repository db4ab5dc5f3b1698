"""The agent's partial view of nodes: fields for admission and readiness."""

from collections.abc import Container
from dataclasses import dataclass

import msgspec

from kohort.api.amounts import to_amount
from kohort.api.codec import decode
from kohort.api.core.nodes import Node
from kohort.api.errors import ApiError
from kohort.api.meta import ObjectKey, Taint
from kohort.api.resource import Resource
from kohort.embedded.nodes.runtime import RuntimeValue
from kohort.kube.resource_types import Data, ObjectIdentity, ResourceType


class AgentNode(RuntimeValue):
    """A node; only the name if it belongs to another agent."""

    key: ObjectKey
    uid: str
    version: str
    labels: dict[str, str] = {}
    taints: tuple[Taint, ...] = ()
    allocatable: dict[str, int] = {}
    ready: str = ""
    """Status of the Ready condition."""


@dataclass(frozen=True)
class AgentNodeResource(ResourceType[AgentNode]):
    """Reads nodes for their agent; they cannot be written back."""

    resource: Resource = Node.resource
    ours: Container[str] = ()

    def read(self, data: Data) -> AgentNode:
        """The part of the node that its agent needs."""
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
        """Taken from its fields."""
        return ObjectIdentity(obj.key, obj.uid, obj.version)

    def body(self, obj: AgentNode) -> bytes:
        """Not supported."""
        raise ApiError(f"node {obj.key} cannot be written from a partial view: patch it")
