"""AdmissionCheck, ProvisioningRequestConfig and the MultiKueue kinds, version v1beta2 (API-42, API-43)."""

from typing import Annotated, ClassVar, Literal

from kohort.api.kinds import AGE, CustomObject, KindInfo, PrinterColumn
from kohort.api.kueue.group import cluster_scoped
from kohort.api.kueue.v1beta2.queues import ConditionList
from kohort.api.markers import (
    ATOMIC,
    LABEL_REGEX,
    QUALIFIED_NAME_REGEX,
    SET,
    SUBDOMAIN_REGEX,
    Bounds,
    Int32,
    NoSchemaDefault,
    Pattern,
    keyed,
)
from kohort.api.rules import Rule
from kohort.api.struct import Struct

# AdmissionCheck

PROVISIONING_CONTROLLER = "kueue.x-k8s.io/provisioning-request"
MULTIKUEUE_CONTROLLER = "kueue.x-k8s.io/multikueue"

KIND_NAME_REGEX = r"^[A-Za-z]([-A-Za-z0-9]*[A-Za-z0-9])?$"


class AdmissionCheckParameters(Struct):
    """The object that configures a check."""

    api_group: Annotated[str, Bounds(min_length=1, max_length=253), Pattern(SUBDOMAIN_REGEX)]
    """API group of the object."""
    kind: Annotated[str, Bounds(min_length=1, max_length=63), Pattern(KIND_NAME_REGEX)]
    """Kind of the object."""
    name: Annotated[str, Bounds(min_length=1, max_length=63), Pattern(LABEL_REGEX)]
    """Name of the object."""


CONTROLLER_IS_FIXED = Rule(
    "API-42",
    "self == oldSelf",
    "controllerName can't be changed: create another AdmissionCheck",
    lambda name, old: bool(name == old),
)


class AdmissionCheckSpec(Struct):
    """Controller and parameters of the check."""

    controller_name: Annotated[str, Bounds(min_length=1, max_length=253), CONTROLLER_IS_FIXED]
    """Name of the controller that handles the check, built in or external."""
    parameters: AdmissionCheckParameters | None = None
    """Object with settings for the controller."""


class AdmissionCheckStatus(Struct):
    """Whether the check is active."""

    conditions: ConditionList = ()
    """Active: whether the controller is ready to handle the check."""


class AdmissionCheck(CustomObject):
    """A check that a workload with reserved quota must pass before it is admitted."""

    info: ClassVar[KindInfo] = KindInfo(
        cluster_scoped("v1beta2", "AdmissionCheck", "admissionchecks"),
        short_names=("ac",),
        has_status=True,
        is_storage=True,
    )

    spec: AdmissionCheckSpec | None = None
    """Controller and parameters of the check."""
    status: Annotated[AdmissionCheckStatus, NoSchemaDefault()] = AdmissionCheckStatus()
    """Whether the check is active."""


# ProvisioningRequestConfig


class ProvisioningRetryStrategy(Struct):
    """Retries after a failed ProvisioningRequest."""

    backoff_limit_count: Int32 = 3
    """Number of retries; 0 disables them."""
    backoff_base_seconds: Int32 = 60
    """Backoff before the first retry; each further one is twice as long."""
    backoff_max_seconds: Int32 = 1800
    """Maximum backoff."""


class ProvisioningNodeSelector(Struct):
    """A node label whose value is reported in the ProvisioningRequest."""

    key: Annotated[str, Bounds(min_length=1, max_length=317), Pattern(QUALIFIED_NAME_REGEX)]
    """Key of the node label."""
    value_from_provisioning_class_detail: Annotated[str, Bounds(min_length=1, max_length=32768)]
    """Provisioning class detail that contains the value."""


class ProvisioningPodSetUpdates(Struct):
    """Updates of the pods from the provisioned ProvisioningRequest."""

    node_selector: Annotated[tuple[ProvisioningNodeSelector, ...], keyed("key"), Bounds(max_items=8)] = ()
    """Node labels to add to the node selector of the pods."""


ParameterValue = Annotated[str, Bounds(max_length=255)]


class ProvisioningRequestConfigSpec(Struct):
    """How capacity is requested."""

    provisioning_class_name: Annotated[str, Bounds(min_length=1, max_length=253), Pattern(SUBDOMAIN_REGEX)]
    """Provisioning class of the ProvisioningRequests."""
    parameters: Annotated[dict[str, ParameterValue], Bounds(max_properties=100)] = {}
    """Parameters of the ProvisioningRequests."""
    managed_resources: Annotated[tuple[str, ...], SET, Bounds(max_items=100)] = ()
    """Resources for which capacity is requested; empty means all."""
    retry_strategy: ProvisioningRetryStrategy = ProvisioningRetryStrategy()
    """Retries after a failure."""
    pod_set_updates: ProvisioningPodSetUpdates | None = None
    """Updates of the pods from the provisioned ProvisioningRequest."""
    pod_set_merge_policy: Literal["IdenticalPodTemplates", "IdenticalWorkloadSchedulingRequirements"] | None = None
    """Which pod sets are merged in the request; absent means none."""


class ProvisioningRequestConfig(CustomObject):
    """Settings of admission checks that request capacity from an autoscaler."""

    info: ClassVar[KindInfo] = KindInfo(
        cluster_scoped("v1beta2", "ProvisioningRequestConfig", "provisioningrequestconfigs"),
        short_names=("prc",),
        is_storage=True,
    )

    spec: ProvisioningRequestConfigSpec | None = None
    """How capacity is requested."""


# MultiKueue

CLUSTERS_ARE_UNIQUE = Rule(
    "API-5",
    "self.all(a, self.filter(b, a == b).size() == 1)",
    "each cluster may be listed once",
    lambda clusters, _old: len(set(clusters)) == len(clusters),
)


class MultiKueueConfigSpec(Struct):
    """The worker clusters of a check."""

    clusters: Annotated[
        tuple[Annotated[str, Bounds(max_length=256)], ...],
        ATOMIC,
        Bounds(min_items=1, max_items=20),
        CLUSTERS_ARE_UNIQUE,
    ]
    """Names of MultiKueueClusters, in order of preference."""
    quota_management: Literal["Manual", "Automated"] | None = None
    """Automated derives the manager's quota from that of the workers; absent means Manual."""


class MultiKueueConfig(CustomObject):
    """The worker clusters that an admission check dispatches to."""

    info: ClassVar[KindInfo] = KindInfo(
        cluster_scoped("v1beta2", "MultiKueueConfig", "multikueueconfigs"), short_names=("mkconf",), is_storage=True
    )

    spec: MultiKueueConfigSpec | None = None
    """The worker clusters."""


class KubeConfig(Struct):
    """Location of the kubeconfig of a worker cluster."""

    location: Annotated[str, Bounds(min_length=1, max_length=256)]
    """Name of a Secret with key `kubeconfig` in the manager's namespace, or a file path."""
    location_type: Literal["Secret", "Path"] = "Secret"
    """Type of `location`."""


class ClusterProfileReference(Struct):
    """A ClusterProfile in the manager's namespace."""

    name: Annotated[str, Bounds(min_length=1, max_length=256)]
    """Name of the ClusterProfile."""


class ClusterSource(Struct):
    """Source of the credentials of a worker cluster; exactly one is set."""

    kube_config: KubeConfig | None = None
    """A kubeconfig."""
    cluster_profile_ref: ClusterProfileReference | None = None
    """A ClusterProfile."""

    schema_rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "API-5",
            "has(self.kubeConfig) != has(self.clusterProfileRef)",
            "give exactly one of kubeConfig and clusterProfileRef",
            lambda source, _old: ("kubeConfig" in source) != ("clusterProfileRef" in source),
        ),
    )


class MultiKueueClusterSpec(Struct):
    """Access to a worker cluster."""

    cluster_source: ClusterSource
    """Source of the credentials."""


class MultiKueueClusterStatus(Struct):
    """Whether the worker cluster is connected."""

    conditions: ConditionList = ()
    """Active: whether the worker cluster is connected."""


MULTIKUEUE_CLUSTER_COLUMNS = (PrinterColumn("Connected", ".status.conditions[?(@.type=='Active')].status"), AGE)


class MultiKueueCluster(CustomObject):
    """A worker cluster."""

    info: ClassVar[KindInfo] = KindInfo(
        cluster_scoped("v1beta2", "MultiKueueCluster", "multikueueclusters"),
        short_names=("mkc",),
        has_status=True,
        is_storage=True,
        columns=MULTIKUEUE_CLUSTER_COLUMNS,
    )

    spec: MultiKueueClusterSpec | None = None
    """Access to the worker cluster."""
    status: Annotated[MultiKueueClusterStatus, NoSchemaDefault()] = MultiKueueClusterStatus()
    """Whether the worker cluster is connected."""
