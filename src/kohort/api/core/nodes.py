"""Nodes, and the RuntimeClasses and PriorityClasses that pods name.

All three are cluster-scoped facts that scheduling reads and Kohort hardly ever writes.
"""

from typing import Any, ClassVar, Final

import msgspec

from kohort.api.core.objects import ObjectView, StatusCondition
from kohort.api.markers import ResourceList
from kohort.api.meta import Taint, Toleration
from kohort.api.resource import Resource
from kohort.api.struct import View

HOSTNAME: Final = "kubernetes.io/hostname"
"""Label with the host name of a node."""


class NodeSpec(View):
    """Spec of a node."""

    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    provider_id: str = msgspec.field(default="", name="providerID")


class NodeAddress(View):
    """One name or address of a node."""

    type: str = ""
    address: str = ""


class DaemonEndpoint(View):
    """A port on which a daemon of the node listens."""

    port: int = msgspec.field(default=0, name="Port")


class NodeDaemonEndpoints(View):
    """Endpoints of the daemons of a node."""

    kubelet_endpoint: DaemonEndpoint = DaemonEndpoint()


class NodeStatus(View):
    """Status of a node."""

    capacity: ResourceList = {}
    allocatable: ResourceList = {}
    conditions: tuple[StatusCondition, ...] = ()
    addresses: tuple[NodeAddress, ...] = ()
    node_info: Any = None
    daemon_endpoints: NodeDaemonEndpoints = NodeDaemonEndpoints()


class Node(ObjectView):
    """A node."""

    resource: ClassVar = Resource("", "v1", "Node", "nodes", namespaced=False)

    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class RuntimeClassOverhead(View):
    """Overhead of the runtime per pod."""

    pod_fixed: ResourceList = {}


class RuntimeClassScheduling(View):
    """Scheduling constraints of the runtime."""

    node_selector: dict[str, str] = {}
    tolerations: tuple[Toleration, ...] = ()


class RuntimeClass(ObjectView):
    """A container runtime, with its overhead (SCH-120)."""

    resource: ClassVar = Resource("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", namespaced=False)

    handler: str = ""
    overhead: RuntimeClassOverhead = RuntimeClassOverhead()
    scheduling: RuntimeClassScheduling = RuntimeClassScheduling()


class PriorityClass(ObjectView):
    """A named priority of pods (JOB-43)."""

    resource: ClassVar = Resource("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", namespaced=False)

    value: int = 0
    global_default: bool = False
    description: str = ""
    preemption_policy: str = ""
