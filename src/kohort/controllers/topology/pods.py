"""Pods, reduced to what topologies depend on: their node, their request or their Workload (TAS-27, TAS-101).

A cluster may have a hundred thousand pods: of each a few hundred bytes are kept, with texts and requests shared.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from sys import intern
from typing import Any, Final

import msgspec

from kohort.api.codec import decode
from kohort.api.core.objects import StatusCondition
from kohort.api.core.pods import Pod, SchedulingGate
from kohort.api.errors import ApiError, DecodeError
from kohort.api.kueue.keys import (
    PREFERRED_TOPOLOGY_ANNOTATION,
    REQUIRED_TOPOLOGY_ANNOTATION,
    SLICE_CONSTRAINTS_ANNOTATION,
    SLICE_NAME_ANNOTATION,
    SLICE_REQUIRED_TOPOLOGY_ANNOTATION,
    TOPOLOGY_GATE,
    UNCONSTRAINED_TOPOLOGY_ANNOTATION,
    WORKLOAD_ANNOTATION,
)
from kohort.api.kueue.v1beta2.flavors import HOSTNAME_LABEL
from kohort.api.meta import ObjectKey
from kohort.api.struct import View
from kohort.controllers.topology.pod_requests import PodRequestTexts, ResourceTexts, effective_amounts
from kohort.kube.options import ListScope
from kohort.kube.resource_types import Data, ObjectIdentity, ResourceType

SCOPE: Final = ListScope(fields="status.phase!=Succeeded,status.phase!=Failed")
"""Pods that have not terminated: when one terminates, the watch reports it as deleted."""
TOPOLOGY_ANNOTATIONS: Final = frozenset(
    {
        REQUIRED_TOPOLOGY_ANNOTATION,
        PREFERRED_TOPOLOGY_ANNOTATION,
        UNCONSTRAINED_TOPOLOGY_ANNOTATION,
        SLICE_REQUIRED_TOPOLOGY_ANNOTATION,
        SLICE_CONSTRAINTS_ANNOTATION,
    }
)
"""Annotations of TAS pods (TAS-27)."""
TERMINATED: Final = frozenset({"Succeeded", "Failed"})
NODE: Final = "node of topology pod"
SELECTED_HOST: Final = "selected host"
"""Names of indices: TAS pods by node, and by host that they select while they have no node."""
_NONE: Final = msgspec.Raw(b"")


class TopologyPod(msgspec.Struct, frozen=True, gc=False):
    """What failure detection reads from a TAS pod."""

    workload: str
    """Name of its Workload."""
    slice: str
    """Name of its slice, which several Workloads of an elastic job have in common; else that of its Workload."""
    host: str
    """The host that its node selector names."""
    is_stuck: bool
    """Whether it is Pending without a node and without the topology gate (TAS-104)."""
    is_progressing: bool
    """Whether it is neither terminating nor terminated (TAS-104)."""


class PodRecord(msgspec.Struct, frozen=True, gc=False):
    """A pod."""

    identity: ObjectIdentity
    node: str = ""
    amounts: Mapping[str, int] | None = None
    """Its request, if it uses a node and is not a TAS pod (TAS-27)."""
    topology: TopologyPod | None = None
    """Set for TAS pods."""


class _Metadata(View):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    deletion_timestamp: Any = None
    annotations: dict[str, str] = {}


class _Container(View):
    name: str = ""
    resources: msgspec.Raw = _NONE
    restart_policy: str = ""


class _ContainerStatus(View):
    name: str = ""
    resources: msgspec.Raw = _NONE
    allocated_resources: msgspec.Raw = _NONE


class _Spec(View):
    containers: tuple[_Container, ...] = ()
    init_containers: tuple[_Container, ...] = ()
    overhead: msgspec.Raw = _NONE
    resources: msgspec.Raw = _NONE
    node_name: str = ""
    node_selector: dict[str, str] = {}
    scheduling_gates: tuple[SchedulingGate, ...] = ()


class _Status(View):
    phase: str = ""
    conditions: tuple[StatusCondition, ...] = ()
    container_statuses: tuple[_ContainerStatus, ...] = ()
    init_container_statuses: tuple[_ContainerStatus, ...] = ()


class _Pod(View):
    metadata: _Metadata = _Metadata()
    spec: _Spec = _Spec()
    status: _Status = _Status()


@dataclass(frozen=True)
class PodRecordResource(ResourceType[PodRecord]):
    """Pods as records; they are never written."""

    def read(self, data: Data) -> PodRecord:
        """Decode and reduce a pod."""
        try:
            return _record(decode(data, _Pod))
        except DecodeError:
            raise
        except ApiError as error:
            raise DecodeError(str(error)) from None

    def identity(self, obj: PodRecord) -> ObjectIdentity:
        """Which pod it is."""
        return obj.identity

    def body(self, obj: PodRecord) -> bytes:
        """A record has too little to be written."""
        raise ApiError(f"pod {obj.identity.key}: a reduced pod cannot be written: patch it")


PODS: Final = PodRecordResource(Pod.resource)
"""The resource of informers of reduced pods."""


def _record(pod: _Pod) -> PodRecord:
    head = pod.metadata
    key = ObjectKey(intern(head.namespace), head.name)
    identity = ObjectIdentity(key, head.uid, head.resource_version)
    node = intern(pod.spec.node_name)
    if not TOPOLOGY_ANNOTATIONS.isdisjoint(head.annotations):
        return PodRecord(identity, node, topology=_topology_pod(pod))
    if not node or pod.status.phase in TERMINATED:
        return PodRecord(identity)
    return PodRecord(identity, node, effective_amounts(_texts(pod)))


def _topology_pod(pod: _Pod) -> TopologyPod:
    annotations, spec = pod.metadata.annotations, pod.spec
    workload = intern(annotations.get(WORKLOAD_ANNOTATION, ""))
    is_gated = any(gate.name == TOPOLOGY_GATE for gate in spec.scheduling_gates)
    return TopologyPod(
        workload=workload,
        slice=intern(annotations.get(SLICE_NAME_ANNOTATION, workload)),
        host=intern(spec.node_selector.get(HOSTNAME_LABEL, "")),
        is_stuck=pod.status.phase == "Pending" and not spec.node_name and not is_gated,
        is_progressing=pod.metadata.deletion_timestamp is None and pod.status.phase not in TERMINATED,
    )


def _texts(pod: _Pod) -> PodRequestTexts:
    spec, status = pod.spec, pod.status
    return PodRequestTexts(
        _container_texts(spec.containers, status.container_statuses),
        _container_texts(spec.init_containers, status.init_container_statuses),
        bytes(spec.overhead),
        bytes(spec.resources),
        any(each.type == "PodResizePending" and each.reason == "Infeasible" for each in status.conditions),
    )


def _container_texts(
    containers: Iterable[_Container], statuses: Iterable[_ContainerStatus]
) -> tuple[ResourceTexts, ...]:
    states = {each.name: each for each in statuses}
    nothing = _ContainerStatus()
    return tuple(
        ResourceTexts(
            bytes(each.resources),
            each.restart_policy,
            bytes(states.get(each.name, nothing).resources),
            bytes(states.get(each.name, nothing).allocated_resources),
        )
        for each in containers
    )


def node_of_topology_pod(pod: PodRecord) -> Iterable[str]:
    """The node of a TAS pod, for an index."""
    return (pod.node,) if pod.topology is not None and pod.node else ()


def selected_host(pod: PodRecord) -> Iterable[str]:
    """The host that a TAS pod without a node selects, for an index."""
    return (pod.topology.host,) if pod.topology is not None and not pod.node and pod.topology.host else ()
