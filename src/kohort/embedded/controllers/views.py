"""Pods as all controllers see them: one lean view, so that one cache of pods serves every controller.

What containers run is not here: pods are made from the JSON of a template, and never written back whole.
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
    """Where a pod is, and what it puts up with there."""

    node_name: str = ""
    restart_policy: str = ""
    tolerations: tuple[Toleration, ...] = ()


class ControllerPod(ObjectView):
    """A pod, as far as controllers look at it."""

    resource: ClassVar = Pod.resource

    spec: ControllerPodSpec = ControllerPodSpec()
    status: PodStatus = PodStatus()

    @property
    def key(self) -> ObjectKey:
        """Namespace and name."""
        return key_of(self.metadata)

    @property
    def is_finished(self) -> bool:
        """Whether its containers have ended for good."""
        return self.status.phase in FINISHED

    @property
    def is_leaving(self) -> bool:
        """Whether it has been deleted and is on its way out."""
        return self.metadata.deletion_timestamp is not None

    @property
    def is_active(self) -> bool:
        """Whether it counts among the replicas of its owner."""
        return not self.is_finished and not self.is_leaving

    @property
    def is_ready(self) -> bool:
        """Whether it is ready to serve."""
        return is_true(self.status.conditions, "Ready")

    def ready_since(self) -> float | None:
        """When it became ready, in seconds of the epoch; None while it is not."""
        ready = find(self.status.conditions, "Ready")
        if ready is None or ready.status != "True" or ready.last_transition_time is None:
            return None
        return ready.last_transition_time.timestamp()


def key_of(metadata: ObjectMeta) -> ObjectKey:
    """The place of an object."""
    return ObjectKey(metadata.namespace, metadata.name)


def controller_of(metadata: ObjectMeta) -> OwnerReference | None:
    """The one owner that manages an object."""
    return next((reference for reference in metadata.owner_references if reference.controller), None)


def reference_to(found: ObjectView) -> ObjectReference:
    """An object as events name it."""
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
    """The informer of all pods, which finds them by their node."""
    pods = informers.of(ControllerPod)
    pods.index(BY_NODE, _node)
    return pods


def pods_on(cache: Indexer[ControllerPod], node: str) -> list[ControllerPod]:
    """The pods bound to a node."""
    return cache.find(BY_NODE, node)
