"""Partial views of the API objects that the scheduler watches, which reduce decoding cost and memory."""

from functools import lru_cache
from typing import ClassVar, Final

from msgspec.structs import replace

from kohort.api.codec import decode, encode
from kohort.api.core.affinity import Affinity, NodeSelector
from kohort.api.core.containers import ContainerPort, ResourceRequirements
from kohort.api.core.namespaces import Namespace
from kohort.api.core.nodes import Node, NodeSpec
from kohort.api.core.objects import ObjectView
from kohort.api.core.pods import Pod, SchedulingGate
from kohort.api.markers import ResourceList
from kohort.api.meta import LabelSelector, Time, Toleration
from kohort.api.resource import Resource
from kohort.api.struct import View
from kohort.kube.resource_types import TypedResource

FINISHED = ("Succeeded", "Failed")
MAX_SPECS = 4096
NO_RESOURCES = ResourceRequirements()


class SchedulerContainer(View):
    """Resources and ports of a container."""

    resources: ResourceRequirements = NO_RESOURCES
    ports: tuple[ContainerPort, ...] = ()
    restart_policy: str = ""


class SpreadConstraint(View):
    """A topology spread constraint."""

    max_skew: int = 1
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str = ""
    node_taints_policy: str = ""
    match_label_keys: tuple[str, ...] = ()


class ClaimSource(View):
    """A volume that refers to a claim."""

    claim_name: str = ""


class EphemeralSource(View):
    """A volume whose claim is created for the pod."""


class SchedulerVolume(View):
    """A pod volume that may restrict nodes."""

    name: str = ""
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: EphemeralSource | None = None


class SchedulerPodSpec(View):
    """Scheduling fields of a pod spec."""

    containers: tuple[SchedulerContainer, ...] = ()
    init_containers: tuple[SchedulerContainer, ...] = ()
    overhead: ResourceList = {}
    resources: ResourceRequirements | None = None
    node_name: str = ""
    node_selector: dict[str, str] = {}
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[SpreadConstraint, ...] = ()
    volumes: tuple[SchedulerVolume, ...] = ()
    scheduler_name: str = ""
    scheduling_gates: tuple[SchedulingGate, ...] = ()
    priority: int | None = None
    preemption_policy: str = ""


class SchedulerCondition(View):
    """A pod condition."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class SchedulerPodStatus(View):
    """Scheduling fields of a pod status."""

    phase: str = ""
    conditions: tuple[SchedulerCondition, ...] = ()
    nominated_node_name: str = ""
    start_time: Time | None = None


class SchedulerPod(ObjectView):
    """A pod."""

    resource: ClassVar = Pod.resource

    spec: SchedulerPodSpec = SchedulerPodSpec()
    status: SchedulerPodStatus = SchedulerPodStatus()


@lru_cache(maxsize=MAX_SPECS)
def _shared(spec: bytes) -> SchedulerPodSpec:
    """One instance for all pods with an equal spec; the node name is set separately."""
    return decode(spec, SchedulerPodSpec)


def strip_unused(pod: SchedulerPod) -> SchedulerPod:
    """Removes unused fields and shares equal specs, which more than halves memory."""
    volumes = tuple(each for each in pod.spec.volumes if each.persistent_volume_claim or each.ephemeral)
    spec = _shared(encode(replace(pod.spec, node_name="", volumes=volumes)))
    if pod.spec.node_name:
        spec = replace(spec, node_name=pod.spec.node_name)
    metadata = replace(pod.metadata, annotations={}, owner_references=(), finalizers=())
    return replace(pod, metadata=metadata, spec=spec)


PODS: Final = TypedResource(SchedulerPod.resource, SchedulerPod, strip_unused)


class SchedulerNodeStatus(View):
    """Allocatable resources of a node."""

    allocatable: ResourceList = {}


class SchedulerNode(ObjectView):
    """A node."""

    resource: ClassVar = Node.resource

    spec: NodeSpec = NodeSpec()
    status: SchedulerNodeStatus = SchedulerNodeStatus()


class SchedulerNamespace(ObjectView):
    """A namespace with its labels."""

    resource: ClassVar = Namespace.resource


class SchedulerBudgetSpec(View):
    """Selector of a PodDisruptionBudget."""

    selector: LabelSelector | None = None


class SchedulerBudgetStatus(View):
    """Allowed disruptions of a PodDisruptionBudget."""

    disruptions_allowed: int = 0
    disrupted_pods: dict[str, Time] = {}


class SchedulerDisruptionBudget(ObjectView):
    """A PodDisruptionBudget."""

    resource: ClassVar = Resource("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", namespaced=True)

    spec: SchedulerBudgetSpec = SchedulerBudgetSpec()
    status: SchedulerBudgetStatus = SchedulerBudgetStatus()


class ClaimSpec(View):
    """Binding fields of a PersistentVolumeClaim."""

    volume_name: str = ""
    storage_class_name: str | None = None


class ClaimStatus(View):
    """Phase of a PersistentVolumeClaim."""

    phase: str = ""


class SchedulerClaim(ObjectView):
    """A PersistentVolumeClaim."""

    resource: ClassVar = Resource("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", namespaced=True)

    spec: ClaimSpec = ClaimSpec()
    status: ClaimStatus = ClaimStatus()


class VolumeNodeAffinity(View):
    """Nodes from which a volume is accessible."""

    required: NodeSelector | None = None


class VolumeSpec(View):
    """Spec of a PersistentVolume."""

    node_affinity: VolumeNodeAffinity | None = None


class SchedulerPersistentVolume(ObjectView):
    """A PersistentVolume."""

    resource: ClassVar = Resource("", "v1", "PersistentVolume", "persistentvolumes", namespaced=False)

    spec: VolumeSpec = VolumeSpec()


class SchedulerStorageClass(ObjectView):
    """A StorageClass with its volume binding mode."""

    resource: ClassVar = Resource("storage.k8s.io", "v1", "StorageClass", "storageclasses", namespaced=False)

    volume_binding_mode: str = ""
