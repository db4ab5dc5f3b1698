"""The partial view of pods that all controllers share, so that one cache serves every controller.

Containers are omitted: pods are created from a template's JSON and never written back whole.
"""

from typing import ClassVar

from kohort.api.conditions import find, is_true
from kohort.api.core.objects import ObjectReference, ObjectView
from kohort.api.core.pods import Pod, PodStatus
from kohort.api.meta import ObjectKey, ObjectMeta, OwnerReference, Toleration
from kohort.api.struct import View
from kohort.kube.indexer import Indexer
from kohort.kube.informer import Informer, SharedInformerFactory

FINISHED = ("Succeeded", "Failed")


class ControllerPodSpec(View):
    """Node name, tolerations and related fields of a pod spec."""

    node_name: str = ""
    restart_policy: str = ""
    tolerations: tuple[Toleration, ...] = ()


class ControllerPod(ObjectView):
    """The controllers' view of a pod."""

    resource: ClassVar = Pod.resource

    spec: ControllerPodSpec = ControllerPodSpec()
    status: PodStatus = PodStatus()

    @property
    def is_finished(self) -> bool:
        """Whether the phase is Succeeded or Failed."""
        return self.status.phase in FINISHED

    @property
    def is_active(self) -> bool:
        """Whether it counts as a replica of its owner."""
        return not self.is_finished and not self.is_terminating

    @property
    def is_ready(self) -> bool:
        """Whether the pod is ready."""
        return is_true(self.status.conditions, "Ready")

    def ready_since(self) -> float | None:
        """When the pod became ready, in seconds of the epoch; None if it is not."""
        ready = find(self.status.conditions, "Ready")
        if ready is None or ready.status != "True" or ready.last_transition_time is None:
            return None
        return ready.last_transition_time.timestamp()


def key_of(metadata: ObjectMeta) -> ObjectKey:
    """Namespace and name of an object."""
    return ObjectKey(metadata.namespace, metadata.name)


def controller_of(metadata: ObjectMeta) -> OwnerReference | None:
    """The controller owner reference of an object."""
    return next((reference for reference in metadata.owner_references if reference.controller), None)


def reference_to(found: ObjectView) -> ObjectReference:
    """The object reference for events."""
    metadata = found.metadata
    return ObjectReference(
        api_version=found.resource.api_version,
        kind=found.resource.kind,
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        resource_version=metadata.resource_version,
    )


BY_NODE = "node"


def _node(pod: ControllerPod) -> tuple[str, ...]:
    return (pod.spec.node_name,) if pod.spec.node_name else ()


def pods_by_node(informers: SharedInformerFactory) -> Informer[ControllerPod]:
    """The shared pod informer, indexed by node."""
    pods = informers.of(ControllerPod)
    pods.index(BY_NODE, _node)
    return pods


def pods_on(cache: Indexer[ControllerPod], node: str) -> list[ControllerPod]:
    """The pods assigned to a node."""
    return cache.find(BY_NODE, node)
