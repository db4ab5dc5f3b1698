"""Configuration, version v1beta2, which the manager uses (API-137, docs/spec section 10.1)."""

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
    NonNegativeDuration,
    OptionalText,
    RequeuingStrategy,
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
    """A label or annotation of an object that is exported as a metric label."""

    source_kind: Annotated[str, NoSchemaDefault(), OneOf(SOURCE_KINDS)] = "ClusterQueue"
    """Kind of the object with the label; ClusterQueue by default."""
    tracked_values: Annotated[tuple[str, ...], SET] = ()
    """Values that are exported as they are, all others as one; required for labels of Workloads."""

    @property
    def source_key(self) -> str:
        """The key of the label or annotation."""
        return self.source_annotation_key or self.source_label_key or self.name


class Metrics(CommonMetrics):
    """Metrics and the server that exports them."""

    custom_labels: Annotated[tuple[CustomLabel, ...], Bounds(max_items=20), keyed("name")] = ()
    """Labels and annotations that are exported as metric labels; requires feature gate CustomMetricLabels."""


class WaitForPodsReady(Struct):
    """Timeout for all pods of a workload to become ready, after which it is evicted (API-140)."""

    timeout: NonNegativeDuration = "30m0s"
    """Time from admission until all pods must be ready; zero means the default."""
    block_admission: bool = False
    """Whether further admissions wait until all pods of admitted workloads are ready."""
    recovery_timeout: Annotated[NonNegativeDuration, NoSchemaDefault()] = "30m0s"
    """Time for a lost pod to become ready again; defaults to the timeout, zero means no limit."""
    requeuing_strategy: RequeuingStrategy = RequeuingStrategy()
    """Requeuing strategy after a timeout."""


class IncrementalDispatcherConfig(Struct):
    """Settings of the incremental dispatcher."""

    step_size: Annotated[Int32, Bounds(minimum=1)] = 3
    """Number of worker clusters that each step adds to the nominated ones."""


class ExecEnvVar(Struct):
    """An environment variable of an exec plugin."""

    name: NonEmpty
    """Name of the variable."""
    value: OptionalText = ""
    """Its value."""


class ExecConfig(Struct):
    """An exec plugin, as in a kubeconfig."""

    command: NonEmpty
    """The executable."""
    api_version: NonEmpty
    """API version of the plugin, e.g. client.authentication.k8s.io/v1."""
    interactive_mode: Annotated[str, OneOf(("Never", "IfAvailable", "Always"))]
    """Whether the plugin may use standard input."""
    args: Annotated[tuple[str, ...], ATOMIC] = ()
    """Arguments of the plugin."""
    env: Annotated[tuple[ExecEnvVar, ...], ATOMIC] = ()
    """Additional environment variables."""
    install_hint: OptionalText = ""
    """Shown if the executable is missing."""
    provide_cluster_info: Flag = False
    """Whether the plugin gets the cluster information."""


class AccessProvider(Struct):
    """An access provider for worker clusters with a ClusterProfile."""

    name: NonEmpty
    """Name by which a ClusterProfile refers to it."""
    exec_config: ExecConfig
    """The exec plugin."""


class ClusterProfile(Struct):
    """Access to worker clusters through ClusterProfile objects."""

    access_providers: Annotated[tuple[AccessProvider, ...], ATOMIC] = ()
    """Access providers."""
    credentials_providers: Annotated[tuple[AccessProvider, ...], ATOMIC] = ()
    """The old name of accessProviders; set one or the other."""


class MultiKueue(CommonMultiKueue):
    """Dispatch of workloads to worker clusters."""

    incremental_dispatcher_config: IncrementalDispatcherConfig | None = None
    """Settings of the incremental dispatcher; allowed only with it."""
    cluster_profile: ClusterProfile | None = None
    """Access through ClusterProfile objects; requires feature gate MultiKueueClusterProfile."""


class FairSharing(Struct):
    """Fair sharing of borrowed quota by weight; enabled by the presence of this object."""

    preemption_strategies: Annotated[tuple[str, ...], ATOMIC] = ()
    """Conditions for preempting workloads of queues with a larger share, tried in this order."""


class CelSelector(Struct):
    """A CEL expression."""

    expression: NonEmpty
    """Expression over a device that is true for selected devices."""


class DeviceSelector(Struct):
    """A selector of devices."""

    cel: CelSelector
    """The CEL expression."""


class CounterSource(Struct):
    """A counter that partitions of a device consume."""

    name: Label
    """Name of the counter."""
    driver: Driver
    """Driver of the device."""
    device_selector: DeviceSelector
    """Selector of the driver's devices."""


class CapacitySource(Struct):
    """A consumable capacity of a device."""

    name: CapacityName
    """Name of the capacity with an optional domain: `memory`, `example.com/memory`."""
    driver: Driver
    """Driver of the device."""
    device_selector: DeviceSelector
    """Selector of the driver's devices."""


class DeviceClassSource(Struct):
    """What is counted of a device: exactly one member is set."""

    counter: CounterSource | None = None
    """A counter; requires feature gate KueueDRAIntegrationPartitionableDevices."""
    capacity: CapacitySource | None = None
    """A capacity; requires feature gate KueueDRAIntegrationConsumableCapacity."""


class DeviceClassMapping(CommonDeviceClassMapping):
    """Device classes that are counted as one resource."""

    sources: Annotated[tuple[DeviceClassSource, ...], ATOMIC] = ()
    """What is counted of a device; without sources each device counts 1."""


class Resources(CommonResources):
    """How requests are counted against quota."""

    quota_check_strategy: Annotated[str, NoSchemaDefault(), OneOf(("BlockUndeclared", "IgnoreUndeclared"))] = (
        "BlockUndeclared"
    )
    """Whether a resource that a ClusterQueue does not declare blocks admission or is ignored."""
    device_class_mappings: Annotated[tuple[DeviceClassMapping, ...], Bounds(max_items=16), keyed("name")] = ()
    """Device classes that are counted against quota."""


class VisibilityServer(Struct):
    """Server of the visibility API."""

    bind_address: str | None = None
    """IP address to bind to; absent means all interfaces."""
    bind_port: Annotated[Int32, Bounds(minimum=1, maximum=65535)] = 8082
    """Port of the server."""


class Configuration(CommonConfiguration):
    """Configuration of the manager."""

    api_version: str = API_VERSION
    """API version of the file."""
    kind: str = KIND
    """Always Configuration."""
    metrics: Metrics = Metrics()
    """Metrics."""
    wait_for_pods_ready: WaitForPodsReady | None = None
    """Timeout for pods to become ready; enabled by default in v1beta2, absent only if converted from v1beta1."""
    integrations: Integrations = Integrations()
    """Job integrations."""
    multi_kueue: MultiKueue = MultiKueue()
    """Dispatch of workloads to worker clusters."""
    fair_sharing: FairSharing | None = None
    """Fair sharing; absent means disabled."""
    resources: Annotated[Resources, NoSchemaDefault()] = Resources()
    """How requests are counted against quota."""
    visibility_server: VisibilityServer | None = None
    """Server of the visibility API; absent, from v1beta1, means its defaults."""

    def waits_for_pods_ready(self, gates: FeatureGates) -> bool:
        """Whether workloads have a timeout for their pods to become ready (API-140)."""
        return self.wait_for_pods_ready is not None and not gates.enabled(Gate.DisableWaitForPodsReady)
