"""Pods and pod templates: the part of every job that Kohort counts, starts and stops.

The Workload's lean schema is made from `AskingTemplate`, so its fields carry descriptions and merge keys. An API server
goes through all of it in every write of a Workload: what only nodes read stays out of it.
"""

from typing import Annotated, Any, ClassVar

import msgspec

from kohort.api.core.affinity import Affinity
from kohort.api.core.containers import Container, QuotaContainer, ResourceRequirements
from kohort.api.core.objects import ObjectView, StatusCondition
from kohort.api.markers import ATOMIC, Int32, Int64, ResourceList, keyed
from kohort.api.meta import Time, Toleration
from kohort.api.resource import Resource
from kohort.api.struct import View


class Volume(View):
    """Storage that containers of the pod can mount."""

    name: str
    """Name of the volume, unique within the pod."""
    empty_dir: Any = None
    """A directory that lives as long as the pod."""
    host_path: Any = None
    """A file or directory of the node."""
    config_map: Any = None
    """Files from a ConfigMap."""
    secret: Any = None
    """Files from a Secret."""
    projected: Any = None
    """Files from several sources."""
    persistent_volume_claim: Any = None
    """A claim in the same namespace."""
    downward_api: Any = msgspec.field(default=None, name="downwardAPI")
    """Files about the pod itself."""


class SchedulingGate(View):
    """A lock on the placing of a pod."""

    name: str
    """Name of the gate; who set it removes it."""


class PodResourceClaim(View):
    """A claim on devices that the pod's containers share."""

    name: str
    """Name by which containers refer to the claim."""
    resource_claim_name: str = ""
    """An existing ResourceClaim."""
    resource_claim_template_name: str = ""
    """A template from which a claim is made for this pod."""


class QuotaPodSpec(View):
    """What a pod asks for and where it may run: all that a queue wants to know of it."""

    containers: Annotated[tuple[QuotaContainer, ...], keyed("name")]
    """Containers that run side by side; at least one."""
    init_containers: Annotated[tuple[QuotaContainer, ...], keyed("name")] = ()
    """Containers that run one after the other before these, and sidecars."""
    restart_policy: str = ""
    """Always, OnFailure or Never."""
    node_selector: Annotated[dict[str, str], ATOMIC] = {}
    """Labels that the node must have."""
    affinity: Affinity | None = None
    """Where the pod needs or would like to run."""
    tolerations: Annotated[tuple[Toleration, ...], ATOMIC] = ()
    """Taints of nodes that do not keep the pod away."""
    topology_spread_constraints: tuple[Any, ...] = ()
    """How pods are to be spread over nodes, zones and the like."""
    priority: Int32 | None = None
    """Value of the pod's PriorityClass, filled in by the API server."""
    runtime_class_name: str = ""
    """RuntimeClass that runs the pod."""
    overhead: ResourceList = {}
    """What running the pod costs beyond its containers."""
    resources: ResourceRequirements | None = None
    """What the pod asks for as a whole, in place of the sum over its containers."""
    resource_claims: Annotated[tuple[PodResourceClaim, ...], keyed("name")] = ()
    """Claims on devices."""


class PodSpec(QuotaPodSpec):
    """All that a node has to know to run a pod."""

    containers: Annotated[tuple[Container, ...], keyed("name")]
    """Containers that run side by side; at least one."""
    init_containers: Annotated[tuple[Container, ...], keyed("name")] = ()
    """Containers that run one after the other before these, and sidecars."""
    volumes: Annotated[tuple[Volume, ...], keyed("name")] = ()
    """Storage that the containers can mount."""
    termination_grace_period_seconds: Int64 | None = None
    """Time between the request to stop and the kill."""
    active_deadline_seconds: Int64 | None = None
    """Time after which the pod is failed."""
    node_name: str = ""
    """Node on which the pod runs, once placed."""
    scheduler_name: str = ""
    """Scheduler that places the pod."""
    scheduling_gates: Annotated[tuple[SchedulingGate, ...], keyed("name")] = ()
    """Locks that must all be gone before the pod is placed."""
    priority_class_name: str = ""
    """PriorityClass of the pod."""
    preemption_policy: str = ""
    """Whether the pod may push out others: PreemptLowerPriority or Never."""
    service_account_name: str = ""
    """Identity of the pod towards the API server."""
    host_network: bool = False
    """Whether the pod uses the node's network."""
    hostname: str = ""
    """Host name of the pod; empty means its own name."""
    subdomain: str = ""
    """Domain under which the pod is known, below its namespace's."""
    security_context: Any = None
    """User, groups and the like for all containers."""
    readiness_gates: tuple[Any, ...] = ()
    """Conditions that others set before the pod counts as ready."""


NO_PODS = PodSpec(containers=())
"""Stands for a pod spec that is not there."""
NO_ASKING_PODS = QuotaPodSpec(containers=())
"""The same, where only what it asks for counts."""


class TemplateMeta(View):
    """The metadata that each object made from a template gets."""

    labels: dict[str, str] = {}
    """Labels of each object."""
    annotations: dict[str, str] = {}
    """Annotations of each object."""


class QuotaPodTemplate(View):
    """The pattern of which pods are made, as a Workload keeps it."""

    foreign_name: ClassVar = "PodTemplateSpec"

    metadata: TemplateMeta = TemplateMeta()
    """Labels and annotations of each pod."""
    spec: QuotaPodSpec = NO_ASKING_PODS
    """What each pod asks for and where it may run."""


class PodTemplateSpec(QuotaPodTemplate):
    """The pattern of which pods are made."""

    spec: PodSpec = NO_PODS
    """What each pod runs and asks for."""


class ContainerStateWaiting(View):
    """Why a container has not started."""

    reason: str = ""
    message: str = ""


class ContainerStateRunning(View):
    """Since when a container runs."""

    started_at: Time | None = None


class ContainerStateTerminated(View):
    """How a container ended."""

    exit_code: int = 0
    signal: int = 0
    reason: str = ""
    message: str = ""
    started_at: Time | None = None
    finished_at: Time | None = None
    container_id: str = msgspec.field(default="", name="containerID")


class ContainerState(View):
    """Exactly one of the three states; none of them means waiting."""

    waiting: ContainerStateWaiting | None = None
    running: ContainerStateRunning | None = None
    terminated: ContainerStateTerminated | None = None


class ContainerStatus(View):
    """How one container fares."""

    name: str = ""
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()
    ready: bool = False
    started: bool | None = None
    restart_count: int = 0
    image: str = ""
    image_id: str = msgspec.field(default="", name="imageID")
    container_id: str = msgspec.field(default="", name="containerID")


class PodStatus(View):
    """How a pod fares."""

    phase: str = ""
    reason: str = ""
    message: str = ""
    conditions: tuple[StatusCondition, ...] = ()
    start_time: Time | None = None
    host_ip: str = msgspec.field(default="", name="hostIP")
    pod_ip: str = msgspec.field(default="", name="podIP")
    pod_ips: tuple[Any, ...] = msgspec.field(default=(), name="podIPs")
    nominated_node_name: str = ""
    qos_class: str = ""
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    observed_generation: int | None = None


class Pod(ObjectView):
    """A pod."""

    resource: ClassVar = Resource("", "v1", "Pod", "pods", namespaced=True)

    spec: PodSpec = NO_PODS
    status: PodStatus = PodStatus()


class PodTemplate(ObjectView):
    """A stored pod template, as ProvisioningRequests refer to it."""

    resource: ClassVar = Resource("", "v1", "PodTemplate", "podtemplates", namespaced=True)

    template: PodTemplateSpec = PodTemplateSpec()
