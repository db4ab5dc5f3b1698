"""AdmissionCheck, ProvisioningRequestConfig and the MultiKueue kinds, version v1beta2 (API-42, API-43)."""

from typing import Annotated, ClassVar, Literal

from kohort.api.kinds import AGE, CustomObject, KindInfo, PrinterColumn
from kohort.api.kueue.group import cluster_scoped
from kohort.api.kueue.v1beta2.queues import Conditions
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
    """Who answers the check, and with which parameters."""

    controller_name: Annotated[str, Bounds(min_length=1, max_length=253), CONTROLLER_IS_FIXED]
    """Controller that answers: a built-in one, or any other that watches workloads."""
    parameters: AdmissionCheckParameters | None = None
    """Object with settings for the controller."""


class AdmissionCheckStatus(Struct):
    """Whether the check can be used."""

    conditions: Conditions = ()
    """Active tells whether the controller is ready to answer."""


class AdmissionCheck(CustomObject):
    """A question that must be answered before a workload with quota may start."""

    info: ClassVar[KindInfo] = KindInfo(
        cluster_scoped("v1beta2", "AdmissionCheck", "admissionchecks"),
        short_names=("ac",),
        has_status=True,
        is_storage=True,
    )

    spec: AdmissionCheckSpec | None = None
    """Who answers."""
    status: Annotated[AdmissionCheckStatus, NoSchemaDefault()] = AdmissionCheckStatus()
    """Whether the check can be used."""


# ProvisioningRequestConfig


class ProvisioningRetryStrategy(Struct):
    """What happens after a failed provisioning request."""

    backoff_limit_count: Int32 = 3
    """How often to try again; 0 for never."""
    backoff_base_seconds: Int32 = 60
    """Wait before the first new try; each further one waits twice as long."""
    backoff_max_seconds: Int32 = 1800
    """Longest wait."""


class ProvisioningNodeSelector(Struct):
    """A node label whose value the provisioner reports."""

    key: Annotated[str, Bounds(min_length=1, max_length=317), Pattern(QUALIFIED_NAME_REGEX)]
    """Key of the node label."""
    value_from_provisioning_class_detail: Annotated[str, Bounds(min_length=1, max_length=32768)]
    """Detail of the provisioning request that holds the value."""


class ProvisioningPodSetUpdates(Struct):
    """What admitted pods get from the provisioner's answer."""

    node_selector: Annotated[tuple[ProvisioningNodeSelector, ...], keyed("key"), Bounds(max_items=8)] = ()
    """Node labels to add to the pods' node selector."""


ParameterValue = Annotated[str, Bounds(max_length=255)]


class ProvisioningRequestConfigSpec(Struct):
    """How capacity is asked for."""

    provisioning_class_name: Annotated[str, Bounds(min_length=1, max_length=253), Pattern(SUBDOMAIN_REGEX)]
    """Class of the provisioning requests."""
    parameters: Annotated[dict[str, ParameterValue], Bounds(max_properties=100)] = {}
    """Parameters handed to the provisioner."""
    managed_resources: Annotated[tuple[str, ...], SET, Bounds(max_items=100)] = ()
    """Resources for which capacity is asked; empty means all."""
    retry_strategy: ProvisioningRetryStrategy = ProvisioningRetryStrategy()
    """What happens after a failure."""
    pod_set_updates: ProvisioningPodSetUpdates | None = None
    """What admitted pods get from the answer."""
    pod_set_merge_policy: Literal["IdenticalPodTemplates", "IdenticalWorkloadSchedulingRequirements"] | None = None
    """Which pod sets share one entry in the request; absent keeps them apart."""


class ProvisioningRequestConfig(CustomObject):
    """Settings for admission checks that ask an autoscaler for capacity."""

    info: ClassVar[KindInfo] = KindInfo(
        cluster_scoped("v1beta2", "ProvisioningRequestConfig", "provisioningrequestconfigs"),
        short_names=("prc",),
        is_storage=True,
    )

    spec: ProvisioningRequestConfigSpec | None = None
    """How capacity is asked for."""


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
    """Names of MultiKueueClusters, the preferred ones first."""
    quota_management: Literal["Manual", "Automated"] | None = None
    """Automated makes the manager's quota follow the workers'; absent means Manual."""


class MultiKueueConfig(CustomObject):
    """The worker clusters that an admission check dispatches to."""

    info: ClassVar[KindInfo] = KindInfo(
        cluster_scoped("v1beta2", "MultiKueueConfig", "multikueueconfigs"), short_names=("mkconf",), is_storage=True
    )

    spec: MultiKueueConfigSpec | None = None
    """The worker clusters."""


class KubeConfig(Struct):
    """Where the kubeconfig of a worker cluster is."""

    location: Annotated[str, Bounds(min_length=1, max_length=256)]
    """Name of a Secret with key `kubeconfig` in the manager's namespace, or a file path."""
    location_type: Literal["Secret", "Path"] = "Secret"
    """What `location` names."""


class ClusterProfileReference(Struct):
    """A ClusterProfile in the manager's namespace."""

    name: Annotated[str, Bounds(min_length=1, max_length=256)]
    """Name of the ClusterProfile."""


class ClusterSource(Struct):
    """Where the access to a worker cluster comes from: one of the two."""

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
    """How to reach a worker cluster."""

    cluster_source: ClusterSource
    """Where the access comes from."""


class MultiKueueClusterStatus(Struct):
    """Whether the worker cluster is reached."""

    conditions: Conditions = ()
    """Active tells whether there is a connection."""


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
    """How to reach it."""
    status: Annotated[MultiKueueClusterStatus, NoSchemaDefault()] = MultiKueueClusterStatus()
    """Whether it is reached."""
