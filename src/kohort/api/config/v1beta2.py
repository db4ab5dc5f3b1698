"""Configuration, version v1beta2: the form that the manager works with (API-137, docs/spec section 10.1)."""

from typing import Annotated

from kohort.api.config.common import (
    GROUP,
    KIND,
    CommonConfiguration,
    CommonDeviceClassMapping,
    CommonMetrics,
    CommonMultiKueue,
    CommonResources,
    CustomLabelSource,
    Flag,
    Integrations,
    RequeuingStrategy,
    Span,
    Text,
)
from kohort.api.gates import FeatureGates, Gate
from kohort.api.markers import (
    ATOMIC,
    SET,
    SUBDOMAIN_REGEX,
    Bounds,
    Int32,
    Label,
    NoSchemaDefault,
    OneOf,
    Pattern,
    keyed,
)
from kohort.api.struct import Struct

API_VERSION = f"{GROUP}/v1beta2"
INCREMENTAL_DISPATCHER = "kueue.x-k8s.io/multikueue-dispatcher-incremental"
NonEmpty = Annotated[str, Bounds(min_length=1)]
Driver = Annotated[str, Bounds(max_length=63), Pattern(SUBDOMAIN_REGEX)]
CapacityName = Annotated[
    str, Bounds(max_length=96), Pattern(r"^([a-zA-Z0-9]([-.a-zA-Z0-9]*[a-zA-Z0-9])?/)?[a-zA-Z_][a-zA-Z0-9_]{0,31}$")
]
SOURCE_KINDS = ("Cohort", "LocalQueue", "ClusterQueue", "Workload")


class CustomLabel(CustomLabelSource):
    """A label or annotation of an object that becomes a label of metrics."""

    source_kind: Annotated[str, NoSchemaDefault(), OneOf(SOURCE_KINDS)] = "ClusterQueue"
    """Kind of the object that has the label; ClusterQueue if not given."""
    tracked_values: Annotated[tuple[str, ...], SET] = ()
    """Values to report as they are, all others as one; Workload labels need such a list."""

    @property
    def source_key(self) -> str:
        """The key to read, of a label or of an annotation."""
        return self.source_annotation_key or self.source_label_key or self.name


class Metrics(CommonMetrics):
    """What is measured and where it is served."""

    custom_labels: Annotated[tuple[CustomLabel, ...], Bounds(max_items=20), keyed("name")] = ()
    """Labels and annotations that become labels of metrics; needs feature gate CustomMetricLabels."""


class WaitForPodsReady(Struct):
    """Give a workload a time to get all its pods ready, and take its quota back if it does not (API-140)."""

    timeout: Span = "30m0s"
    """Time from admission until all pods must be ready; zero means the default."""
    block_admission: bool = False
    """Whether nothing else is admitted until the pods of what was admitted are ready."""
    recovery_timeout: Annotated[Span, NoSchemaDefault()] = "30m0s"
    """Time for a pod that was lost to be ready again; by default the timeout, zero means no limit."""
    requeuing_strategy: RequeuingStrategy = RequeuingStrategy()
    """How the workload comes back."""


class IncrementalDispatcherConfig(Struct):
    """How the incremental dispatcher proceeds."""

    step_size: Annotated[Int32, Bounds(minimum=1)] = 3
    """How many more worker clusters each round nominates."""


class ExecEnvVar(Struct):
    """A variable in the environment of a credential plugin."""

    name: NonEmpty
    """Name of the variable."""
    value: Text = ""
    """Its value."""


class ExecConfig(Struct):
    """A program that prints credentials, as in a kubeconfig."""

    command: NonEmpty
    """The program."""
    api_version: NonEmpty
    """Version of the exchange with it, e.g. client.authentication.k8s.io/v1."""
    interactive_mode: Annotated[str, OneOf(("Never", "IfAvailable", "Always"))]
    """Whether it may use standard input."""
    args: Annotated[tuple[str, ...], ATOMIC] = ()
    """Its arguments."""
    env: Annotated[tuple[ExecEnvVar, ...], ATOMIC] = ()
    """Variables to add to its environment."""
    install_hint: Text = ""
    """What to tell the user when the program is missing."""
    provide_cluster_info: Flag = False
    """Whether it is told which cluster it is for."""


class AccessProvider(Struct):
    """A way to get access to a worker cluster that a ClusterProfile describes."""

    name: NonEmpty
    """Name by which a ClusterProfile refers to it."""
    exec_config: ExecConfig
    """The program that prints the credentials."""


class ClusterProfile(Struct):
    """Access to worker clusters through ClusterProfile objects."""

    access_providers: Annotated[tuple[AccessProvider, ...], ATOMIC] = ()
    """Ways to get access."""
    credentials_providers: Annotated[tuple[AccessProvider, ...], ATOMIC] = ()
    """The former name of accessProviders; give one or the other."""

    @property
    def providers(self) -> tuple[AccessProvider, ...]:
        """The providers, under whichever name they were given."""
        return self.access_providers or self.credentials_providers


class MultiKueue(CommonMultiKueue):
    """Dispatch to worker clusters."""

    incremental_dispatcher_config: IncrementalDispatcherConfig | None = None
    """Settings of the incremental dispatcher, allowed only with it."""
    cluster_profile: ClusterProfile | None = None
    """Access through ClusterProfile objects; needs feature gate MultiKueueClusterProfile."""


class FairSharing(Struct):
    """Share what is borrowed by weight; the presence of this object turns it on."""

    preemption_strategies: Annotated[tuple[str, ...], ATOMIC] = ()
    """When a workload may take quota from a queue with a larger share, in the order in which it is tried."""


class CelSelector(Struct):
    """A condition in CEL."""

    expression: NonEmpty
    """Expression over a device that is true for the devices meant."""


class DeviceSelector(Struct):
    """Which devices are meant."""

    cel: CelSelector
    """The condition."""


class CounterSource(Struct):
    """A counter that partitions of a device consume."""

    name: Label
    """Name of the counter."""
    driver: Driver
    """Driver of the device."""
    device_selector: DeviceSelector
    """Which of the driver's devices."""


class CapacitySource(Struct):
    """A capacity of a device that requests share."""

    name: CapacityName
    """Name of the capacity, if need be with a domain: `memory`, `example.com/memory`."""
    driver: Driver
    """Driver of the device."""
    device_selector: DeviceSelector
    """Which of the driver's devices."""


class DeviceClassSource(Struct):
    """What of a device counts: one of the two members."""

    counter: CounterSource | None = None
    """A counter; needs feature gate KueueDRAIntegrationPartitionableDevices."""
    capacity: CapacitySource | None = None
    """A capacity; needs feature gate KueueDRAIntegrationConsumableCapacity."""


class DeviceClassMapping(CommonDeviceClassMapping):
    """Device classes that count as one resource of quota."""

    sources: Annotated[tuple[DeviceClassSource, ...], ATOMIC] = ()
    """What of a device counts; without sources each device counts 1."""


class Resources(CommonResources):
    """How requests become amounts of quota."""

    quota_check_strategy: Annotated[str, NoSchemaDefault(), OneOf(("BlockUndeclared", "IgnoreUndeclared"))] = (
        "BlockUndeclared"
    )
    """Whether a resource that a ClusterQueue does not declare keeps a workload out or is ignored."""
    device_class_mappings: Annotated[tuple[DeviceClassMapping, ...], Bounds(max_items=16), keyed("name")] = ()
    """Device classes that count against quota."""


class VisibilityServer(Struct):
    """Where the lists of pending workloads are served."""

    bind_address: str | None = None
    """IP address to bind to; absent means every interface."""
    bind_port: Annotated[Int32, Bounds(minimum=1, maximum=65535)] = 8082
    """Port of the server."""


class Configuration(CommonConfiguration):
    """The manager's settings."""

    api_version: str = API_VERSION
    """Version of this form."""
    kind: str = KIND
    """Always Configuration."""
    metrics: Metrics = Metrics()
    """Metrics."""
    wait_for_pods_ready: WaitForPodsReady | None = None
    """Deadline for pods to become ready; on by default in v1beta2, absent only where v1beta1 did not turn it on."""
    integrations: Integrations = Integrations()
    """Kinds of jobs."""
    multi_kueue: MultiKueue = MultiKueue()
    """Dispatch to worker clusters."""
    fair_sharing: FairSharing | None = None
    """Sharing by weight; absent means off."""
    resources: Annotated[Resources, NoSchemaDefault()] = Resources()
    """Requests and quota."""
    visibility_server: VisibilityServer | None = None
    """The server of pending workloads; absent, from v1beta1, means its defaults."""

    def waits_for_pods_ready(self, gates: FeatureGates) -> bool:
        """Whether workloads have a deadline to get their pods ready (API-140)."""
        return self.wait_for_pods_ready is not None and not gates.enabled(Gate.DisableWaitForPodsReady)
