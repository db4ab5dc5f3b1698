"""The parts of a Configuration that are the same in both versions (docs/spec, section 10.1).

A default that `NoSchemaDefault` marks is used but not printed: it belongs to the program and not to the file, or it
depends on other settings and is filled in when the file is loaded.
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
Duration = Annotated[str, Format(DURATION_FORMAT)]
"""A span of time as Go writes it: `1h30m`, `15s`, `250ms`."""
Span = Annotated[Duration, Bounds(minimum=0)]
"""A duration that may not be negative."""
Text = Annotated[str, NoSchemaDefault()]
"""A text that is left out where it is empty."""
Flag = Annotated[bool, NoSchemaDefault()]
"""A switch that is left out where it is off."""
Count = Annotated[Int32, Bounds(minimum=0)]


def all_but(*namespaces: str) -> LabelSelector:
    """The selector of every namespace except these."""
    requirement = LabelSelectorRequirement(key=NAMESPACE_NAME_LABEL, operator="NotIn", values=namespaces)
    return LabelSelector(match_expressions=(requirement,))


class Webhook(Struct):
    """Where the admission webhooks are served."""

    port: Int32 = 9443
    """Port of the webhook server."""
    host: Text = ""
    """Address to bind to; empty means every interface."""
    cert_dir: str = "/tmp/k8s-webhook-server/serving-certs"  # noqa: S108  the path that upstream's manifests mount
    """Directory with the serving certificate as tls.crt and its key as tls.key."""


class LeaderElection(Struct):
    """How replicas agree on the one that acts."""

    leader_elect: bool = True
    """Whether replicas elect a leader; switch it off only for a single replica."""
    resource_name: str = "c1f6bfd2.kueue.x-k8s.io"
    """Name of the lock object."""
    resource_namespace: Annotated[str, Default("")] = ""
    """Namespace of the lock object; empty means the one the manager runs in."""
    resource_lock: str = "leases"
    """Kind of the lock object."""
    lease_duration: Duration = "15s"
    """How long others wait before they take over from a silent leader."""
    renew_deadline: Duration = "10s"
    """How long the leader tries to renew its lease before it gives up."""
    retry_period: Duration = "2s"
    """Pause between two attempts to get or renew the lease."""


class Health(Struct):
    """Where health is told."""

    health_probe_bind_address: str = ":8081"
    """Address of the probe server; `0` switches it off."""
    readiness_endpoint_name: Text = "readyz"
    """Path of the readiness probe; `readyz` if not given."""
    liveness_endpoint_name: Text = "healthz"
    """Path of the liveness probe; `healthz` if not given."""


class ControllerSettings(Struct):
    """Settings of all controllers."""

    group_kind_concurrency: dict[str, Int32] = {}
    """How many objects of a kind are reconciled at once; a key is `Kind.group`, e.g. `Workload.kueue.x-k8s.io`."""
    cache_sync_timeout: Annotated[Int64, NoSchemaDefault()] = 120_000_000_000
    """How long to wait for caches to fill, in nanoseconds; two minutes if not given."""


class Tls(Struct):
    """TLS of every server of the manager: webhooks, metrics, visibility."""

    min_version: Annotated[
        str, NoSchemaDefault(), OneOf(("", "VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13"))
    ] = ""
    """Oldest version to accept, e.g. VersionTLS12; empty leaves the choice to the TLS library."""
    cipher_suites: Annotated[tuple[str, ...], ATOMIC] = ()
    """Cipher suites to offer, by IANA name; TLS 1.3 has no choice of them."""
    curve_preferences: Annotated[tuple[Int32, ...], ATOMIC] = ()
    """Key exchange groups to offer, best first, by IANA number."""


class InternalCertManagement(Struct):
    """Certificates that the manager makes for itself."""

    enable: bool = True
    """Whether the manager issues and renews the certificates of its servers; if not, they must be mounted."""
    webhook_service_name: Text = ""
    """Service in front of the webhooks; `kueue-webhook-service` when certificates are issued."""
    webhook_secret_name: Text = ""
    """Secret that keeps the certificate; `kueue-webhook-server-cert` when certificates are issued."""


class RequeuingStrategy(Struct):
    """How a workload comes back after its pods were not ready in time."""

    timestamp: Annotated[str, OneOf(("Eviction", "Creation"))] = "Eviction"
    """Which time orders the returning workload in its queue: that of its eviction or that of its creation."""
    backoff_limit_count: Count | None = None
    """How often a workload may return before it is deactivated; absent means without end."""
    backoff_base_seconds: Count = 60
    """The first pause before a return; each further one is twice as long."""
    backoff_max_seconds: Count = 3600
    """The longest pause."""


class ClientConnection(Struct):
    """How fast the manager may talk to the API server."""

    qps: float = 300
    """Requests per second on average; a negative number means no limit."""
    burst: Int32 = 500
    """Requests that may be sent at once."""


class ExternalFramework(Struct):
    """A kind of job that is dispatched without an adapter of its own."""

    name: str
    """The kind as `Kind.version.group`."""


class AdmissionFairSharing(Struct):
    """Order by past usage: who used less lately goes first."""

    usage_half_life_time: Span = "0s"
    """After what time past usage counts half; zero forgets it at once."""
    usage_sampling_interval: Span = "5m0s"
    """How often usage is sampled."""
    resource_weights: dict[str, Annotated[float, Bounds(minimum=0)]] = {}
    """How much a unit of a resource counts; 1 for resources that are not named."""


class ResourceTransformation(Struct):
    """A rule that turns one requested resource into others before quota is counted."""

    input: str
    """The resource whose requests are transformed."""
    strategy: Annotated[str, OneOf(("Retain", "Replace"))] = "Retain"
    """Whether the input itself still counts (Retain) or not (Replace)."""
    multiply_by: Text = ""
    """A resource whose requested amount multiplies the outputs."""
    outputs: ResourceList = {}
    """What one unit of the input becomes; none, with Replace, means that the input is ignored."""


class WorkloadRetention(Struct):
    """How long Workloads are kept."""

    after_finished: Span | None = None
    """Time after which a finished Workload is deleted; zero means at once, absent means never."""
    after_deactivated_by_kueue: Span | None = None
    """Time after which a Workload that Kohort deactivated is deleted with its job; absent means never."""


class ObjectRetentionPolicies(Struct):
    """How long objects are kept that have served their purpose."""

    workloads: Annotated[WorkloadRetention, NoSchemaDefault()] = WorkloadRetention()
    """For Workloads."""


class CustomLabelSource(Struct):
    """A label or annotation of an object that becomes a label of metrics."""

    name: Annotated[str, Pattern(r"^[a-zA-Z][a-zA-Z0-9_]*$")]
    """Name of the metric label, which is exported as `custom_<name>`."""
    source_label_key: Text = ""
    """Key of the object's label; without any source key the name itself is the key."""
    source_annotation_key: Text = ""
    """Key of the object's annotation, instead of a label."""


class LocalQueueMetrics(Struct):
    """Metrics per LocalQueue."""

    enable: Flag = False
    """Whether they are exported; where the object is given, silence means no."""
    local_queue_selector: LabelSelector | None = None
    """Which LocalQueues, by their labels; absent means all."""


class CommonMetrics(Struct):
    """What is measured and where it is served."""

    bind_address: str = ":8443"
    """Address of the metrics server; `0` switches it off."""
    enable_cluster_queue_resources: Flag = False
    """Whether quota and usage of every ClusterQueue are exported, which makes many series."""
    local_queue_metrics: LocalQueueMetrics = LocalQueueMetrics(enable=True)
    """Metrics per LocalQueue."""


class Integrations(Struct):
    """Which kinds of jobs are queued."""

    frameworks: Annotated[tuple[str, ...], ATOMIC] = ("batch/job",)
    """Frameworks to manage, by name (API-139)."""
    external_frameworks: Annotated[tuple[str, ...], ATOMIC] = ()
    """Kinds that other controllers manage through Workloads, as `Kind.version.group`."""
    label_keys_to_copy: Annotated[tuple[str, ...], ATOMIC] = ()
    """Labels of a job that its Workload gets too when it is created."""


class CommonMultiKueue(Struct):
    """Dispatch to worker clusters."""

    gc_interval: Span = "1m0s"
    """Pause between two searches for orphans in the worker clusters; zero means no search."""
    origin: str = "multikueue"
    """Label value that marks remote objects as made by this manager."""
    worker_lost_timeout: Span = "15m0s"
    """How long a workload stays with a worker cluster that can't be reached."""
    dispatcher_name: str = "kueue.x-k8s.io/multikueue-dispatcher-all-at-once"
    """Who nominates worker clusters; a name that is not built in stands for an external dispatcher."""
    external_frameworks: Annotated[tuple[ExternalFramework, ...], ATOMIC] = ()
    """Further kinds to dispatch."""


class CommonDeviceClassMapping(Struct):
    """Device classes that count as one resource of quota."""

    name: Annotated[str, Bounds(max_length=253)]
    """The resource in quotas."""
    device_class_names: Annotated[
        tuple[Annotated[str, Bounds(max_length=253)], ...], Bounds(min_items=1, max_items=8), SET
    ]
    """The device classes."""


class CommonResources(Struct):
    """How requests become amounts of quota."""

    exclude_resource_prefixes: Annotated[tuple[str, ...], ATOMIC] = ()
    """Resources whose names begin so are ignored."""
    transformations: Annotated[tuple[ResourceTransformation, ...], keyed("input")] = ()
    """Rules that turn one requested resource into others."""


class CommonConfiguration(Struct):
    """The settings that both versions spell alike."""

    namespace: Text = DEFAULT_NAMESPACE
    """Where the manager runs; by default the namespace of its service account, else kueue-system."""
    manage_jobs_without_queue_name: bool = False
    """Whether jobs that name no queue are held back too, until they name one and are admitted."""
    managed_jobs_namespace_selector: Annotated[LabelSelector, NoSchemaDefault()] = all_but(
        SYSTEM_NAMESPACE, DEFAULT_NAMESPACE
    )
    """Namespaces whose jobs are managed; by default all but kube-system and the manager's own, which are never."""
    webhook: Webhook = Webhook()
    """The webhook server."""
    leader_election: LeaderElection = LeaderElection()
    """Election of the acting replica."""
    health: Health = Health()
    """Health probes."""
    pprof_bind_address: Text = ""
    """Address of the profiling server; empty or `0` means none."""
    controller: Annotated[ControllerSettings, NoSchemaDefault()] = ControllerSettings()
    """Settings of all controllers."""
    tls: Annotated[Tls, NoSchemaDefault()] = Tls()
    """TLS of all servers."""
    internal_cert_management: InternalCertManagement = InternalCertManagement()
    """Certificates that the manager makes for itself."""
    client_connection: ClientConnection = ClientConnection()
    """Rate limits towards the API server."""
    admission_fair_sharing: AdmissionFairSharing | None = None
    """Order workloads by their LocalQueues' past usage; absent means off."""
    feature_gates: dict[str, bool] = {}
    """Behaviours to switch on or off; not together with the --feature-gates flag."""
    object_retention_policies: Annotated[ObjectRetentionPolicies, NoSchemaDefault()] = ObjectRetentionPolicies()
    """When objects that are done with are deleted."""
