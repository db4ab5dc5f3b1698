"""The parts of a Configuration that are the same in both versions (docs/spec, section 10.1).

A default marked with `NoSchemaDefault` is used but not printed: it belongs to the program and not to the file, or it
depends on other settings and is set when the file is loaded.
"""

from typing import Annotated

from kohort.api.markers import (
    ATOMIC,
    SET,
    Bounds,
    Default,
    Format,
    Int32,
    Int64,
    NoSchemaDefault,
    OneOf,
    Pattern,
    ResourceList,
    keyed,
)
from kohort.api.meta import LabelSelector, LabelSelectorRequirement
from kohort.api.struct import Struct

GROUP = "config.kueue.x-k8s.io"
KIND = "Configuration"
DEFAULT_NAMESPACE = "kueue-system"
NAMESPACE_NAME_LABEL = "kubernetes.io/metadata.name"
SYSTEM_NAMESPACE = "kube-system"

DURATION_FORMAT = "duration"
DurationText = Annotated[str, Format(DURATION_FORMAT)]
"""A duration as Go prints it: `1h30m`, `15s`, `250ms`."""
NonNegativeDuration = Annotated[DurationText, Bounds(minimum=0)]
"""A duration that may not be negative."""
OptionalText = Annotated[str, NoSchemaDefault()]
"""A string that is omitted if empty."""
Flag = Annotated[bool, NoSchemaDefault()]
"""A boolean that is omitted if false."""
NonNegativeInt = Annotated[Int32, Bounds(minimum=0)]


def all_but(*namespaces: str) -> LabelSelector:
    """The selector of every namespace except these."""
    requirement = LabelSelectorRequirement(key=NAMESPACE_NAME_LABEL, operator="NotIn", values=namespaces)
    return LabelSelector(match_expressions=(requirement,))


class Webhook(Struct):
    """Webhook server."""

    port: Int32 = 9443
    """Port of the webhook server."""
    host: OptionalText = ""
    """Address to bind to; empty means all interfaces."""
    cert_dir: str = "/tmp/k8s-webhook-server/serving-certs"  # noqa: S108  the path that upstream's manifests mount
    """Directory with the serving certificate (tls.crt) and its key (tls.key)."""


class LeaderElection(Struct):
    """Leader election of the replicas."""

    leader_elect: bool = True
    """Whether replicas elect a leader; disable it only for a single replica."""
    resource_name: str = "c1f6bfd2.kueue.x-k8s.io"
    """Name of the Lease."""
    resource_namespace: Annotated[str, Default("")] = ""
    """Namespace of the Lease; empty means the namespace of the manager."""
    resource_lock: str = "leases"
    """Kind of the lock object."""
    lease_duration: DurationText = "15s"
    """How long other replicas wait before they take a lease that is not renewed."""
    renew_deadline: DurationText = "10s"
    """How long the leader retries to renew its lease before it loses leadership."""
    retry_period: DurationText = "2s"
    """Interval between attempts to acquire or renew the lease."""


class Health(Struct):
    """Health probe endpoint."""

    health_probe_bind_address: str = ":8081"
    """Address of the health probe server; `0` disables it."""
    readiness_endpoint_name: OptionalText = "readyz"
    """Path of the readiness probe; `readyz` by default."""
    liveness_endpoint_name: OptionalText = "healthz"
    """Path of the liveness probe; `healthz` by default."""


class ControllerSettings(Struct):
    """Settings of all controllers."""

    group_kind_concurrency: dict[str, Int32] = {}
    """Number of concurrent reconciles per kind; a key is `Kind.group`, e.g. `Workload.kueue.x-k8s.io`."""
    cache_sync_timeout: Annotated[Int64, NoSchemaDefault()] = 120_000_000_000
    """How long to wait for caches to sync, in nanoseconds; two minutes by default."""


class Tls(Struct):
    """TLS settings of all servers of the manager: webhooks, metrics, visibility."""

    min_version: Annotated[
        str, NoSchemaDefault(), OneOf(("", "VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13"))
    ] = ""
    """Minimum TLS version, e.g. VersionTLS12; empty uses the default of the TLS library."""
    cipher_suites: Annotated[tuple[str, ...], ATOMIC] = ()
    """Cipher suites by IANA name; not configurable for TLS 1.3."""
    curve_preferences: Annotated[tuple[Int32, ...], ATOMIC] = ()
    """Key exchange groups in order of preference, by IANA number."""


class InternalCertManagement(Struct):
    """Certificates that the manager issues itself."""

    enable: bool = True
    """Whether the manager issues and rotates the certificates of its servers; if not, they must be mounted."""
    webhook_service_name: OptionalText = ""
    """Service of the webhooks; `kueue-webhook-service` by default if certificates are issued."""
    webhook_secret_name: OptionalText = ""
    """Secret of the certificate; `kueue-webhook-server-cert` by default if certificates are issued."""


class RequeuingStrategy(Struct):
    """Requeuing strategy after a PodsReady timeout."""

    timestamp: Annotated[str, OneOf(("Eviction", "Creation"))] = "Eviction"
    """The timestamp that orders the requeued workload in its queue: that of its eviction or its creation."""
    backoff_limit_count: NonNegativeInt | None = None
    """Number of times a workload is requeued before it is deactivated; absent means without limit."""
    backoff_base_seconds: NonNegativeInt = 60
    """The first backoff; each further one is twice as long."""
    backoff_max_seconds: NonNegativeInt = 3600
    """The maximum backoff."""


class ClientConnection(Struct):
    """Client-side rate limit of requests to the API server."""

    qps: float = 300
    """Average requests per second; negative means no limit."""
    burst: Int32 = 500
    """Maximum burst of requests."""


class ExternalFramework(Struct):
    """A job kind that is dispatched by the generic adapter."""

    name: str
    """The kind as `Kind.version.group`."""


class AdmissionFairSharing(Struct):
    """Admission fair sharing: orders workloads by decayed past usage of their LocalQueues."""

    usage_half_life_time: NonNegativeDuration = "0s"
    """Half-life of past usage; zero ignores past usage."""
    usage_sampling_interval: NonNegativeDuration = "5m0s"
    """Sampling interval of usage."""
    resource_weights: dict[str, Annotated[float, Bounds(minimum=0)]] = {}
    """Weights of resources in the usage; 1 by default."""


class ResourceTransformation(Struct):
    """A rule that transforms a requested resource into others before quota is counted."""

    input: str
    """The resource whose requests are transformed."""
    strategy: Annotated[str, OneOf(("Retain", "Replace"))] = "Retain"
    """Whether the input resource is still counted (Retain) or not (Replace)."""
    multiply_by: OptionalText = ""
    """A resource whose requested amount multiplies the outputs."""
    outputs: ResourceList = {}
    """The outputs per unit of the input; empty, with Replace, ignores the input."""


class WorkloadRetention(Struct):
    """Retention of Workloads."""

    after_finished: NonNegativeDuration | None = None
    """Time after which a finished Workload is deleted; zero means immediately, absent means never."""
    after_deactivated_by_kueue: NonNegativeDuration | None = None
    """Time after which a Workload that Kohort deactivated is deleted with its job; absent means never."""


class ObjectRetentionPolicies(Struct):
    """Retention of finished objects."""

    workloads: Annotated[WorkloadRetention, NoSchemaDefault()] = WorkloadRetention()
    """For Workloads."""


class CustomLabelSource(Struct):
    """A label or annotation of an object that is exported as a metric label."""

    name: Annotated[str, Pattern(r"^[a-zA-Z][a-zA-Z0-9_]*$")]
    """Name of the metric label; exported as `custom_<name>`."""
    source_label_key: OptionalText = ""
    """Key of the label; defaults to the name if neither source key is set."""
    source_annotation_key: OptionalText = ""
    """Key of the annotation, instead of a label."""


class LocalQueueMetrics(Struct):
    """Metrics per LocalQueue."""

    enable: Flag = False
    """Whether they are exported; false by default if this object is set."""
    local_queue_selector: LabelSelector | None = None
    """Selector of the LocalQueues; absent means all."""


class CommonMetrics(Struct):
    """Metrics and the server that exports them."""

    bind_address: str = ":8443"
    """Address of the metrics server; `0` disables it."""
    enable_cluster_queue_resources: Flag = False
    """Whether quota and usage of all ClusterQueues are exported, which adds many series."""
    local_queue_metrics: LocalQueueMetrics = LocalQueueMetrics(enable=True)
    """Metrics per LocalQueue."""


class Integrations(Struct):
    """Job integrations."""

    frameworks: Annotated[tuple[str, ...], ATOMIC] = ("batch/job",)
    """Frameworks to enable, by name (API-139)."""
    external_frameworks: Annotated[tuple[str, ...], ATOMIC] = ()
    """Kinds that other controllers manage through Workloads, as `Kind.version.group`."""
    label_keys_to_copy: Annotated[tuple[str, ...], ATOMIC] = ()
    """Labels of a job that are copied to its Workload on creation."""


class CommonMultiKueue(Struct):
    """Dispatch of workloads to worker clusters."""

    gc_interval: NonNegativeDuration = "1m0s"
    """Interval of garbage collection of orphans in the worker clusters; zero disables it."""
    origin: str = "multikueue"
    """Label value that marks remote objects as created by this manager."""
    worker_lost_timeout: NonNegativeDuration = "15m0s"
    """How long a workload stays assigned to an unreachable worker cluster."""
    dispatcher_name: str = "kueue.x-k8s.io/multikueue-dispatcher-all-at-once"
    """The dispatcher that nominates worker clusters; a name that is not built in is an external dispatcher."""
    external_frameworks: Annotated[tuple[ExternalFramework, ...], ATOMIC] = ()
    """Further kinds to dispatch."""


class CommonDeviceClassMapping(Struct):
    """Device classes that are counted as one resource."""

    name: Annotated[str, Bounds(max_length=253)]
    """Name of the resource in quotas."""
    device_class_names: Annotated[
        tuple[Annotated[str, Bounds(max_length=253)], ...], Bounds(min_items=1, max_items=8), SET
    ]
    """The device classes."""


class CommonResources(Struct):
    """How requests are counted against quota."""

    exclude_resource_prefixes: Annotated[tuple[str, ...], ATOMIC] = ()
    """Resources with these name prefixes are ignored."""
    transformations: Annotated[tuple[ResourceTransformation, ...], keyed("input")] = ()
    """Rules that transform requested resources."""


class CommonConfiguration(Struct):
    """Settings that both versions have in common."""

    namespace: OptionalText = DEFAULT_NAMESPACE
    """Namespace of the manager; by default that of its service account, or kueue-system."""
    manage_jobs_without_queue_name: bool = False
    """Whether jobs without a queue name are suspended too, until they have one and are admitted."""
    managed_jobs_namespace_selector: Annotated[LabelSelector, NoSchemaDefault()] = all_but(
        SYSTEM_NAMESPACE, DEFAULT_NAMESPACE
    )
    """Namespaces whose jobs are managed; kube-system and the namespace of the manager are always excluded."""
    webhook: Webhook = Webhook()
    """The webhook server."""
    leader_election: LeaderElection = LeaderElection()
    """Leader election of the replicas."""
    health: Health = Health()
    """Health probes."""
    pprof_bind_address: OptionalText = ""
    """Address of the profiling server; empty or `0` disables it."""
    controller: Annotated[ControllerSettings, NoSchemaDefault()] = ControllerSettings()
    """Settings of all controllers."""
    tls: Annotated[Tls, NoSchemaDefault()] = Tls()
    """TLS of all servers."""
    internal_cert_management: InternalCertManagement = InternalCertManagement()
    """Certificates that the manager issues itself."""
    client_connection: ClientConnection = ClientConnection()
    """Client-side rate limit of requests to the API server."""
    admission_fair_sharing: AdmissionFairSharing | None = None
    """Order of workloads by past usage of their LocalQueues; absent means disabled."""
    feature_gates: dict[str, bool] = {}
    """Feature gates to enable or disable; cannot be combined with the --feature-gates flag."""
    object_retention_policies: Annotated[ObjectRetentionPolicies, NoSchemaDefault()] = ObjectRetentionPolicies()
    """Retention of finished objects."""
