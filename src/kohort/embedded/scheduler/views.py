"""Objects as the scheduler sees them: lean views, so that a watch event costs little to read and to keep."""

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
from kohort.api.meta import LabelSelector, ObjectKey, Time, Toleration
from kohort.api.resource import Resource
from kohort.api.struct import View
from kohort.kube.resource_types import TypedResource

FINISHED = ("Succeeded", "Failed")
MOST_SPECS = 4096
NOTHING_ASKED = ResourceRequirements()


class SeenContainer(View):
    """What one container takes of a node."""

    resources: ResourceRequirements = NOTHING_ASKED
    ports: tuple[ContainerPort, ...] = ()
    restart_policy: str = ""


class SpreadConstraint(View):
    """How evenly pods are to lie over the values of a node label."""

    max_skew: int = 1
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str = ""
    node_taints_policy: str = ""
    match_label_keys: tuple[str, ...] = ()


class ClaimSource(View):
    """A volume that is a claim."""

    claim_name: str = ""


class EphemeralSource(View):
    """A volume whose claim is made for the pod."""


class SeenVolume(View):
    """A volume of a pod, as far as it ties the pod to a node."""

    name: str = ""
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: EphemeralSource | None = None


class SchedulerPodSpec(View):
    """What a pod asks of a node."""

    containers: tuple[SeenContainer, ...] = ()
    init_containers: tuple[SeenContainer, ...] = ()
    overhead: ResourceList = {}
    resources: ResourceRequirements | None = None
    node_name: str = ""
    node_selector: dict[str, str] = {}
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[SpreadConstraint, ...] = ()
    volumes: tuple[SeenVolume, ...] = ()
    scheduler_name: str = ""
    scheduling_gates: tuple[SchedulingGate, ...] = ()
    priority: int | None = None
    preemption_policy: str = ""


class SeenCondition(View):
    """One condition of a pod."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class SeenPodStatus(View):
    """How far the placing of a pod has come."""

    phase: str = ""
    conditions: tuple[SeenCondition, ...] = ()
    nominated_node_name: str = ""
    start_time: Time | None = None


class SchedulerPod(ObjectView):
    """A pod."""

    resource: ClassVar = Pod.resource

    spec: SchedulerPodSpec = SchedulerPodSpec()
    status: SeenPodStatus = SeenPodStatus()

    @property
    def key(self) -> ObjectKey:
        """Namespace and name."""
        return ObjectKey(self.metadata.namespace, self.metadata.name)

    @property
    def is_leaving(self) -> bool:
        """Whether it was deleted and is on its way out."""
        return self.metadata.deletion_timestamp is not None


@lru_cache(maxsize=MOST_SPECS)
def _shared(spec: bytes) -> SchedulerPodSpec:
    """One spec for all pods that have the same; a pod's node is its own."""
    return decode(spec, SchedulerPodSpec)


def lean(pod: SchedulerPod) -> SchedulerPod:
    """The pod without what nobody looks at, sharing what it has in common with others: less than half of the memory."""
    volumes = tuple(each for each in pod.spec.volumes if each.persistent_volume_claim or each.ephemeral)
    spec = _shared(encode(replace(pod.spec, node_name="", volumes=volumes)))
    if pod.spec.node_name:
        spec = replace(spec, node_name=pod.spec.node_name)
    metadata = replace(pod.metadata, annotations={}, owner_references=(), finalizers=())
    return replace(pod, metadata=metadata, spec=spec)


PODS: Final = TypedResource(SchedulerPod.resource, SchedulerPod, lean)


class SeenNodeStatus(View):
    """What a node has for pods."""

    allocatable: ResourceList = {}


class SchedulerNode(ObjectView):
    """A node."""

    resource: ClassVar = Node.resource

    spec: NodeSpec = NodeSpec()
    status: SeenNodeStatus = SeenNodeStatus()


class SeenNamespace(ObjectView):
    """A namespace: its labels."""

    resource: ClassVar = Namespace.resource


class SchedulerBudgetSpec(View):
    """Which pods a disruption budget is about."""

    selector: LabelSelector | None = None


class SchedulerBudgetStatus(View):
    """How many of them may go."""

    disruptions_allowed: int = 0
    disrupted_pods: dict[str, Time] = {}


class SeenBudget(ObjectView):
    """A disruption budget."""

    resource: ClassVar = Resource("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", namespaced=True)

    spec: SchedulerBudgetSpec = SchedulerBudgetSpec()
    status: SchedulerBudgetStatus = SchedulerBudgetStatus()


class ClaimSpec(View):
    """What a claim is bound to."""

    volume_name: str = ""
    storage_class_name: str | None = None


class ClaimStatus(View):
    """How a claim fares."""

    phase: str = ""


class SchedulerClaim(ObjectView):
    """A claim on storage."""

    resource: ClassVar = Resource("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", namespaced=True)

    spec: ClaimSpec = ClaimSpec()
    status: ClaimStatus = ClaimStatus()


class VolumeNodeAffinity(View):
    """From where a volume can be reached."""

    required: NodeSelector | None = None


class VolumeSpec(View):
    """Where a volume is."""

    node_affinity: VolumeNodeAffinity | None = None


class SeenPersistentVolume(ObjectView):
    """A piece of storage."""

    resource: ClassVar = Resource("", "v1", "PersistentVolume", "persistentvolumes", namespaced=False)

    spec: VolumeSpec = VolumeSpec()


class SeenStorageClass(ObjectView):
    """A kind of storage: whether its volumes wait for a pod."""

    resource: ClassVar = Resource("storage.k8s.io", "v1", "StorageClass", "storageclasses", namespaced=False)

    volume_binding_mode: str = ""
