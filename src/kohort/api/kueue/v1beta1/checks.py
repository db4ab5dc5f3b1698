"""AdmissionCheck, ProvisioningRequestConfig, MultiKueueConfig and MultiKueueCluster, version v1beta1."""

from dataclasses import replace
from typing import Annotated, ClassVar, Literal

from kohort.api.kinds import CustomObject, KindInfo
from kohort.api.kueue.v1beta1.info import like
from kohort.api.kueue.v1beta1.queues import Conditions
from kohort.api.kueue.v1beta2 import checks as v2
from kohort.api.markers import (
    LABEL_REGEX,
    SET,
    SUBDOMAIN_REGEX,
    Bounds,
    Int64,
    NoSchemaDefault,
    OneOf,
    Pattern,
    Required,
)
from kohort.api.struct import Struct

# AdmissionCheck


class AdmissionCheckParameters(Struct):
    """The object that configures a check."""

    api_group: Annotated[str, Bounds(max_length=253), Pattern(SUBDOMAIN_REGEX)]
    """API group of the object."""
    kind: Annotated[str, Bounds(max_length=63), Pattern(v2.KIND_NAME_REGEX)]
    """Kind of the object."""
    name: Annotated[str, Bounds(max_length=63), Pattern(LABEL_REGEX)]
    """Name of the object."""


class AdmissionCheckSpec(Struct):
    """Who answers the check, and with which parameters."""

    controller_name: Annotated[str, v2.CONTROLLER_IS_FIXED]
    """Controller that answers: a built-in one, or any other that watches workloads."""
    retry_delay_minutes: Int64 = 15
    """Without effect."""
    parameters: AdmissionCheckParameters | None = None
    """Object with settings for the controller."""


class AdmissionCheckStatus(Struct):
    """Whether the check can be used."""

    conditions: Conditions = ()
    """Active tells whether the controller is ready to answer."""


class AdmissionCheck(CustomObject):
    """A question that must be answered before a workload with quota may start."""

    info: ClassVar[KindInfo] = like(v2.AdmissionCheck)

    spec: AdmissionCheckSpec | None = None
    """Who answers."""
    status: Annotated[AdmissionCheckStatus, NoSchemaDefault()] = AdmissionCheckStatus()
    """Whether the check can be used."""


# ProvisioningRequestConfig


class ProvisioningPodSetUpdates(Struct):
    """What admitted pods get from the provisioner's answer."""

    node_selector: Annotated[tuple[v2.ProvisioningNodeSelector, ...], Bounds(max_items=8)] = ()
    """Node labels to add to the pods' node selector."""


class ProvisioningRequestConfigSpec(v2.ProvisioningRequestConfigSpec):
    """How capacity is asked for."""

    provisioning_class_name: Annotated[str, Bounds(max_length=253), Pattern(SUBDOMAIN_REGEX)]
    """Class of the provisioning requests."""
    pod_set_updates: ProvisioningPodSetUpdates | None = None  # type: ignore[assignment]
    """What admitted pods get from the answer."""


class ProvisioningRequestConfig(CustomObject):
    """Settings for admission checks that ask an autoscaler for capacity."""

    info: ClassVar[KindInfo] = like(v2.ProvisioningRequestConfig)

    spec: ProvisioningRequestConfigSpec | None = None
    """How capacity is asked for."""


# MultiKueue


class MultiKueueConfigSpec(Struct):
    """The worker clusters of a check."""

    clusters: Annotated[tuple[str, ...], SET, Bounds(min_items=1, max_items=20)]
    """Names of MultiKueueClusters."""


class MultiKueueConfig(CustomObject):
    """The worker clusters that an admission check dispatches to."""

    info: ClassVar[KindInfo] = replace(like(v2.MultiKueueConfig), deprecation="")

    spec: MultiKueueConfigSpec | None = None
    """The worker clusters."""


class KubeConfig(Struct):
    """Where the kubeconfig of a worker cluster is."""

    location: Annotated[str, Required()] = ""
    """Name of a Secret with key `kubeconfig` in the manager's namespace, or a file path."""
    location_type: Annotated[Literal["Secret", "Path", ""], OneOf(("Secret", "Path"))] = "Secret"
    """What `location` names."""


class MultiKueueClusterSpec(Struct):
    """How to reach a worker cluster."""

    kube_config: KubeConfig
    """Where the kubeconfig is."""
    cluster_profile_ref: v2.ClusterProfileReference | None = None
    """Kept so that a v1beta2 object survives the way through this version."""


class MultiKueueClusterStatus(Struct):
    """Whether the worker cluster is reached."""

    conditions: Conditions = ()
    """Active tells whether there is a connection."""


class MultiKueueCluster(CustomObject):
    """A worker cluster."""

    info: ClassVar[KindInfo] = like(v2.MultiKueueCluster)

    spec: MultiKueueClusterSpec | None = None
    """How to reach it."""
    status: Annotated[MultiKueueClusterStatus, NoSchemaDefault()] = MultiKueueClusterStatus()
    """Whether it is reached."""
