"""AdmissionCheck, ProvisioningRequestConfig, MultiKueueConfig and MultiKueueCluster, version v1beta1."""

from dataclasses import replace
from typing import Annotated, ClassVar, Literal

from kohort.api.kinds import CustomObject, KindInfo
from kohort.api.kueue.v1beta1.info import like
from kohort.api.kueue.v1beta1.queues import ConditionList
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
    """Controller and parameters of the check."""

    controller_name: Annotated[str, v2.CONTROLLER_IS_FIXED]
    """Name of the controller that handles the check, built in or external."""
    retry_delay_minutes: Int64 = 15
    """No effect."""
    parameters: AdmissionCheckParameters | None = None
    """Object with settings for the controller."""


class AdmissionCheckStatus(Struct):
    """Whether the check is active."""

    conditions: ConditionList = ()
    """Active: whether the controller is ready to handle the check."""


class AdmissionCheck(CustomObject):
    """A check that a workload with reserved quota must pass before it is admitted."""

    info: ClassVar[KindInfo] = like(v2.AdmissionCheck)

    spec: AdmissionCheckSpec | None = None
    """Controller and parameters of the check."""
    status: Annotated[AdmissionCheckStatus, NoSchemaDefault()] = AdmissionCheckStatus()
    """Whether the check is active."""


# ProvisioningRequestConfig


class ProvisioningPodSetUpdates(Struct):
    """Updates of the pods from the provisioned ProvisioningRequest."""

    node_selector: Annotated[tuple[v2.ProvisioningNodeSelector, ...], Bounds(max_items=8)] = ()
    """Node labels to add to the node selector of the pods."""


class ProvisioningRequestConfigSpec(v2.ProvisioningRequestConfigSpec):
    """How capacity is requested."""

    provisioning_class_name: Annotated[str, Bounds(max_length=253), Pattern(SUBDOMAIN_REGEX)]
    """Provisioning class of the ProvisioningRequests."""
    pod_set_updates: ProvisioningPodSetUpdates | None = None  # type: ignore[assignment]
    """Updates of the pods from the provisioned ProvisioningRequest."""


class ProvisioningRequestConfig(CustomObject):
    """Settings of admission checks that request capacity from an autoscaler."""

    info: ClassVar[KindInfo] = like(v2.ProvisioningRequestConfig)

    spec: ProvisioningRequestConfigSpec | None = None
    """How capacity is requested."""


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
    """Location of the kubeconfig of a worker cluster."""

    location: Annotated[str, Required()] = ""
    """Name of a Secret with key `kubeconfig` in the manager's namespace, or a file path."""
    location_type: Annotated[Literal["Secret", "Path", ""], OneOf(("Secret", "Path"))] = "Secret"
    """Type of `location`."""


class MultiKueueClusterSpec(Struct):
    """Access to a worker cluster."""

    kube_config: KubeConfig
    """Location of the kubeconfig."""
    cluster_profile_ref: v2.ClusterProfileReference | None = None
    """Preserves the field of v1beta2 in conversion."""


class MultiKueueClusterStatus(Struct):
    """Whether the worker cluster is connected."""

    conditions: ConditionList = ()
    """Active: whether the worker cluster is connected."""


class MultiKueueCluster(CustomObject):
    """A worker cluster."""

    info: ClassVar[KindInfo] = like(v2.MultiKueueCluster)

    spec: MultiKueueClusterSpec | None = None
    """Access to the worker cluster."""
    status: Annotated[MultiKueueClusterStatus, NoSchemaDefault()] = MultiKueueClusterStatus()
    """Whether the worker cluster is connected."""
