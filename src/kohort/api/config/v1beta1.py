"""Configuration, version v1beta1: read, defaulted by its own rules, and converted (docs/spec section 10.2).

Its structs are only the schema of what may be written; the manager never sees them.
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
    Duration,
    Integrations,
    RequeuingStrategy,
)
from kohort.api.markers import ATOMIC, Int32, NoSchemaDefault
from kohort.api.meta import LabelSelector
from kohort.api.struct import Struct

API_VERSION = f"{GROUP}/v1beta1"


class Metrics(CommonMetrics):
    """What is measured and where it is served."""

    custom_labels: Annotated[tuple[CustomLabelSource, ...], ATOMIC] = ()
    """Labels and annotations that become labels of metrics; needs feature gate CustomMetricLabels."""


class WaitForPodsReady(Struct):
    """Give a workload a time to get all its pods ready, and take its quota back if it does not."""

    enable: bool = False
    """Whether there is a deadline at all; without it the rest is ignored."""
    timeout: Duration = "5m0s"
    """Time from admission until all pods must be ready."""
    block_admission: bool = True
    """Whether nothing else is admitted until the pods of what was admitted are ready."""
    recovery_timeout: Duration | None = None
    """Time for a pod that was lost to be ready again; by default the timeout, zero means no limit."""
    requeuing_strategy: RequeuingStrategy = RequeuingStrategy()
    """How the workload comes back."""


class PodIntegrationOptions(Struct):
    """Former settings of the pod framework; accepted and ignored."""

    namespace_selector: LabelSelector | None = None
    """Replaced by managedJobsNamespaceSelector."""
    pod_selector: LabelSelector | None = None
    """Replaced by managedJobsNamespaceSelector."""


class IntegrationsWithPodOptions(Integrations):
    """Which kinds of jobs are queued."""

    pod_options: PodIntegrationOptions | None = None
    """Former settings of the pod framework; accepted and ignored."""


class ClusterQueueVisibility(Struct):
    """Former settings of the pending workloads in a ClusterQueue's status."""

    max_count: Int32 = 10
    """How many pending workloads were listed."""


class QueueVisibility(Struct):
    """Former settings of visibility; accepted and ignored."""

    cluster_queues: ClusterQueueVisibility | None = None
    """For ClusterQueues."""
    update_interval_seconds: Int32 = 5
    """How often the lists were renewed."""


class FairSharing(Struct):
    """Share what is borrowed by weight."""

    enable: bool = False
    """Whether it is on; without it the rest is ignored."""
    preemption_strategies: Annotated[tuple[str, ...], ATOMIC] = ("LessThanOrEqualToFinalShare", "LessThanInitialShare")
    """When a workload may take quota from a queue with a larger share, in the order in which it is tried."""


class Resources(CommonResources):
    """How requests become amounts of quota."""

    device_class_mappings: Annotated[tuple[CommonDeviceClassMapping, ...], ATOMIC] = ()
    """Device classes that count against quota."""


class Configuration(CommonConfiguration):
    """The manager's settings in their former shape."""

    api_version: str = API_VERSION
    """Version of this form."""
    kind: str = KIND
    """Always Configuration."""
    metrics: Metrics = Metrics()
    """Metrics."""
    wait_for_pods_ready: WaitForPodsReady = WaitForPodsReady()
    """Deadline for pods to become ready; off unless enabled."""
    integrations: IntegrationsWithPodOptions = IntegrationsWithPodOptions()
    """Kinds of jobs."""
    queue_visibility: QueueVisibility | None = None
    """Accepted and ignored."""
    multi_kueue: CommonMultiKueue = CommonMultiKueue()
    """Dispatch to worker clusters."""
    fair_sharing: FairSharing = FairSharing()
    """Sharing by weight; off unless enabled."""
    resources: Annotated[Resources, NoSchemaDefault()] = Resources()
    """Requests and quota."""
