"""Pods and pod templates.

The schema of pod templates in Workloads is derived from `QuotaPodTemplate`, so that its fields have descriptions and
merge keys. An API server goes through all of it in every write of a Workload: what only nodes read stays out of it.
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
    """A directory with the lifetime of the pod."""
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
    """A scheduling gate of a pod."""

    name: str
    """Name of the gate; removed by the controller that set it."""


class PodResourceClaim(View):
    """A claim on devices that the pod's containers share."""

    name: str
    """Name by which containers refer to the claim."""
    resource_claim_name: str = ""
    """An existing ResourceClaim."""
    resource_claim_template_name: str = ""
    """A template from which a claim is made for this pod."""


class QuotaPodSpec(View):
    """The pod spec as far as quota and scheduling depend on it."""

    containers: Annotated[tuple[QuotaContainer, ...], keyed("name")]
    """Containers that run side by side; at least one."""
    init_containers: Annotated[tuple[QuotaContainer, ...], keyed("name")] = ()
    """Containers that run one after the other before these, and sidecars."""
    restart_policy: str = ""
    """Always, OnFailure or Never."""
    node_selector: Annotated[dict[str, str], ATOMIC] = {}
    """Labels that the node must have."""
    affinity: Affinity | None = None
    """Affinity of the pod."""
    tolerations: Annotated[tuple[Toleration, ...], ATOMIC] = ()
    """Tolerations of the pod."""
    topology_spread_constraints: tuple[Any, ...] = ()
    """Topology spread constraints."""
    priority: Int32 | None = None
    """Value of the pod's PriorityClass, filled in by the API server."""
    runtime_class_name: str = ""
    """RuntimeClass that runs the pod."""
    overhead: ResourceList = {}
    """Overhead of the RuntimeClass."""
    resources: ResourceRequirements | None = None
    """Pod-level requests, instead of the sum over its containers."""
    resource_claims: Annotated[tuple[PodResourceClaim, ...], keyed("name")] = ()
    """Claims on devices."""


class PodSpec(QuotaPodSpec):
    """The complete pod spec."""

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
    """Node of the pod, once scheduled."""
    scheduler_name: str = ""
    """Scheduler of the pod."""
    scheduling_gates: Annotated[tuple[SchedulingGate, ...], keyed("name")] = ()
    """Gates that must be removed before the pod is scheduled."""
    priority_class_name: str = ""
    """PriorityClass of the pod."""
    preemption_policy: str = ""
    """Preemption policy: PreemptLowerPriority or Never."""
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
    """Additional conditions for readiness."""


NO_PODS = PodSpec(containers=())
"""Default of an absent pod spec."""
NO_ASKING_PODS = QuotaPodSpec(containers=())
"""The same, for the quota view."""


class TemplateMeta(View):
    """The metadata of objects created from a template."""

    labels: dict[str, str] = {}
    """Labels of each object."""
    annotations: dict[str, str] = {}
    """Annotations of each object."""


class QuotaPodTemplate(View):
    """Template of pods, as stored in a Workload."""

    foreign_name: ClassVar = "PodTemplateSpec"

    metadata: TemplateMeta = TemplateMeta()
    """Labels and annotations of each pod."""
    spec: QuotaPodSpec = NO_ASKING_PODS
    """The pod spec, as far as quota and scheduling depend on it."""


class PodTemplateSpec(QuotaPodTemplate):
    """Template of pods."""

    spec: PodSpec = NO_PODS
    """The pod spec."""


class ContainerStateWaiting(View):
    """State of a waiting container."""

    reason: str = ""
    message: str = ""


class ContainerStateRunning(View):
    """State of a running container."""

    started_at: Time | None = None


class ContainerStateTerminated(View):
    """State of a terminated container."""

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
    """Status of a container."""

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
    """Status of a pod."""

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
