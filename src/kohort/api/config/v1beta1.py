"""Configuration, version v1beta1: read, defaulted by its own rules, and converted (docs/spec section 10.2).

Its structs only describe the file format; the manager uses v1beta2.
"""

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
    DurationText,
    Integrations,
    RequeuingStrategy,
)
from kohort.api.markers import ATOMIC, Int32, NoSchemaDefault
from kohort.api.meta import LabelSelector
from kohort.api.struct import Struct

API_VERSION = f"{GROUP}/v1beta1"


class Metrics(CommonMetrics):
    """Metrics and the server that exports them."""

    custom_labels: Annotated[tuple[CustomLabelSource, ...], ATOMIC] = ()
    """Labels and annotations that are exported as metric labels; requires feature gate CustomMetricLabels."""


class WaitForPodsReady(Struct):
    """Timeout for all pods of a workload to become ready, after which it is evicted."""

    enable: bool = False
    """Whether the timeout is enabled; if not, the rest is ignored."""
    timeout: DurationText = "5m0s"
    """Time from admission until all pods must be ready."""
    block_admission: bool = True
    """Whether further admissions wait until all pods of admitted workloads are ready."""
    recovery_timeout: DurationText | None = None
    """Time for a lost pod to become ready again; defaults to the timeout, zero means no limit."""
    requeuing_strategy: RequeuingStrategy = RequeuingStrategy()
    """Requeuing strategy after a timeout."""


class PodIntegrationOptions(Struct):
    """Obsolete settings of the pod integration; accepted and ignored."""

    namespace_selector: LabelSelector | None = None
    """Replaced by managedJobsNamespaceSelector."""
    pod_selector: LabelSelector | None = None
    """Replaced by managedJobsNamespaceSelector."""


class IntegrationsWithPodOptions(Integrations):
    """Job integrations."""

    pod_options: PodIntegrationOptions | None = None
    """Obsolete settings of the pod integration; accepted and ignored."""


class ClusterQueueVisibility(Struct):
    """Obsolete settings of pending workloads in the status of ClusterQueues."""

    max_count: Int32 = 10
    """Number of listed pending workloads."""


class QueueVisibility(Struct):
    """Obsolete visibility settings; accepted and ignored."""

    cluster_queues: ClusterQueueVisibility | None = None
    """For ClusterQueues."""
    update_interval_seconds: Int32 = 5
    """Update interval of the lists."""


class FairSharing(Struct):
    """Fair sharing of borrowed quota by weight."""

    enable: bool = False
    """Whether fair sharing is enabled; if not, the rest is ignored."""
    preemption_strategies: Annotated[tuple[str, ...], ATOMIC] = ("LessThanOrEqualToFinalShare", "LessThanInitialShare")
    """Conditions for preempting workloads of queues with a larger share, tried in this order."""


class Resources(CommonResources):
    """How requests are counted against quota."""

    device_class_mappings: Annotated[tuple[CommonDeviceClassMapping, ...], ATOMIC] = ()
    """Device classes that are counted against quota."""


class Configuration(CommonConfiguration):
    """Configuration of the manager, version v1beta1."""

    api_version: str = API_VERSION
    """API version of the file."""
    kind: str = KIND
    """Always Configuration."""
    metrics: Metrics = Metrics()
    """Metrics."""
    wait_for_pods_ready: WaitForPodsReady = WaitForPodsReady()
    """Timeout for pods to become ready; disabled by default."""
    integrations: IntegrationsWithPodOptions = IntegrationsWithPodOptions()
    """Job integrations."""
    queue_visibility: QueueVisibility | None = None
    """Accepted and ignored."""
    multi_kueue: CommonMultiKueue = CommonMultiKueue()
    """Dispatch of workloads to worker clusters."""
    fair_sharing: FairSharing = FairSharing()
    """Fair sharing; disabled by default."""
    resources: Annotated[Resources, NoSchemaDefault()] = Resources()
    """How requests are counted against quota."""
