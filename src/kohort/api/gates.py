"""Feature gates: their stages, defaults and state (API-141, API-147).

A gate is a member of `Gate` under its official name, so that a misspelled name fails the type check; a misspelled
name in a configuration is reported with the available ones.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, unique

from kohort.api.fields import FieldError, Path, invalid


class Stage(Enum):
    """The maturity of a feature."""

    ALPHA = "Alpha"
    BETA = "Beta"
    GA = "GA"
    DEPRECATED = "Deprecated"


@dataclass(frozen=True, slots=True)
class Traits:
    """Properties of a gate."""

    stage: Stage
    since: str
    """The upstream release in which the gate reached this stage."""
    default: bool
    purpose: str
    needs: tuple["Traits", ...] = ()
    locked: bool = False
    """A locked gate accepts only its default; it is kept so that old settings are not an error."""


def _alpha(since: str, purpose: str, *needs: Traits) -> Traits:
    return Traits(Stage.ALPHA, since, default=False, purpose=purpose, needs=needs)


def _beta(since: str, purpose: str, *needs: Traits) -> Traits:
    return Traits(Stage.BETA, since, default=True, purpose=purpose, needs=needs)


def _locked(since: str, purpose: str) -> Traits:
    return Traits(Stage.GA, since, default=True, purpose=purpose, locked=True)


@unique
class Gate(Enum):
    """All gates with an effect in Kohort."""

    # Hash by identity: Enum would hash the name at each check of a gate.
    __hash__ = object.__hash__

    # Queues and admission
    AdmissionGatedBy = _beta("0.19", "Hold a workload while its admission-gated-by annotation contains a gate.")
    ConcurrentAdmission = _alpha("0.18", "Try several flavors for a workload at once, with one variant per flavor.")
    FlavorFungibility = _beta("0.5", "Apply a queue's flavorFungibility when a flavor does not fit.")
    FlavorFungibilityPreserveScanProgress = _beta(
        "0.20", "Continue in the next cycle with the flavor after the last one tried.", FlavorFungibility
    )
    PartialAdmission = _beta("0.5", "Admit a pod set with fewer pods, down to its minCount.")
    PriorityBoost = _alpha("0.17", "Add the boost annotation's value to a workload's priority.")
    PrioritySortingWithinCohort = _beta("0.6", "Order the heads of a cohort's queues by priority before age.")
    QuotaCheckStrategy = _beta("0.19", "Apply resources.quotaCheckStrategy to resources without quota.")
    ReclaimablePods = _beta("0.15", "Release the quota of completed pods before the workload finishes.")
    RejectUpdatesToCQWithInvalidOnFlavors = _alpha(
        "0.18", "Reject an update of a ClusterQueue whose onFlavors lists flavors that it does not have."
    )
    SchedulingEquivalenceHashing = _beta(
        "0.18", "Skip workloads that are equivalent to one already found inadmissible in a BestEffortFIFO queue."
    )

    # Preemption and fair sharing
    AdmissionFairSharing = _beta("0.15", "Order the workloads of a queue by past usage of their LocalQueues.")
    FairSharingPreemptWithinNominal = _beta(
        "0.17", "Allow a queue within its nominal quota to reclaim it regardless of the shares."
    )
    FairSharingPrioritizeNonBorrowing = _beta(
        "0.17", "Order workloads that need no borrowing first in a fair-sharing cycle."
    )
    PrioritizePreemptorWorkloads = _alpha("0.20", "Order workloads that wait for their victims first in the cycle.")
    RecomputeAssignmentUponPreemptionTargetsOverlap = _beta(
        "0.20", "Search again within the cycle when another workload has taken the victims."
    )

    # Topology
    TopologyAwareScheduling = _beta("0.14", "Place pods by the topology that a flavor names.")
    SkipReassignmentForPodOwnedWorkloads = _beta("0.19", "Never reassign the topology of Pod-owned workloads.")
    TASAssignmentsEncodingByHostnamePrefix = _beta(
        "0.19", "Compress topology assignments by grouping hosts with a common name prefix."
    )
    TASBalancedPlacement = _alpha("0.15", "Spread pods evenly over the chosen domains.", TopologyAwareScheduling)
    TASFailedNodeReplacement = _beta("0.14", "Find another node for pods whose node failed.", TopologyAwareScheduling)
    TASFailedNodeReplacementFailFast = _beta(
        "0.14",
        "Evict a workload immediately when no replacement for its node is found.",
        TopologyAwareScheduling,
        TASFailedNodeReplacement,
    )
    TASHandleOverlappingFlavors = _beta(
        "0.18", "Count the usage of all flavors on a node that they share.", TopologyAwareScheduling
    )
    TASMultiLayerTopology = _beta("0.19", "Allow up to three layers of slices in a request.", TopologyAwareScheduling)
    TASProfileMixed = _beta(
        "0.15",
        "Place unconstrained pods on domains with the least free capacity, others on those with the most.",
        TopologyAwareScheduling,
    )
    TASRecomputeAssignmentWithinSchedulingCycle = _beta(
        "0.19", "Place again within the cycle when another workload took the domain.", TopologyAwareScheduling
    )
    TASReplaceNodeDueToNotReadyOverFixedTime = Traits(
        Stage.DEPRECATED,
        "0.19",
        default=False,
        purpose="Treat a node as failed after it was not ready for a fixed time.",
        needs=(TopologyAwareScheduling, TASFailedNodeReplacement),
    )
    TASReplaceNodeOnNodeTaints = _beta(
        "0.17", "Treat a node as failed when it gets a NoExecute taint.", TopologyAwareScheduling
    )
    TASReplaceNodeOnPodTermination = _beta(
        "0.14",
        "Treat a node as failed when it is not ready and its pods terminate.",
        TopologyAwareScheduling,
        TASFailedNodeReplacement,
    )
    TASRespectNodeAffinityPreferred = _alpha(
        "0.18", "Prefer the nodes of a pod's preferred node affinity.", TopologyAwareScheduling
    )
    TASValidateWorkloadSliceSize = _beta("0.20", "Reject Workloads with invalid slice sizes.")

    # Elastic workloads and readiness
    DisableWaitForPodsReady = _alpha("0.19", "Turn waitForPodsReady off regardless of the configuration.")
    ElasticJobsViaWorkloadSlices = _beta("0.18", "Scale a running job by replacing its workload slice.")
    ElasticJobsViaWorkloadSlicesWithTAS = _alpha(
        "0.17",
        "Scale jobs with a topology request too.",
        ElasticJobsViaWorkloadSlices,
        TopologyAwareScheduling,
    )

    # Dynamic resource allocation
    KueueDRAIntegration = _beta("0.18", "Count devices of resource claims against quota.")
    KueueDRAIntegrationConsumableCapacity = _alpha(
        "0.19", "Count the capacity of a device that a claim consumes.", KueueDRAIntegration
    )
    KueueDRAIntegrationExtendedResource = _beta(
        "0.19", "Count extended resources that are backed by a device class.", KueueDRAIntegration
    )
    KueueDRAIntegrationPartitionableDevices = _beta(
        "0.19", "Count the counters that a partition of a device consumes.", KueueDRAIntegration
    )
    KueueDRARejectWorkloadsWhenDRADisabled = _beta(
        "0.18", "Reject workloads with resource claims while these cannot be counted."
    )

    # Jobs
    AssignQueueLabelsForPods = _beta("0.17", "Label pods with the queues that admitted them.")
    CleanupProvisioningRequestsOnEviction = _beta("0.19", "Delete the ProvisioningRequests of an evicted workload.")
    DeferRayServiceFinalizationForRedisCleanup = _beta(
        "0.19", "Delay the deletion of a RayService's workload until its Redis cleanup is done."
    )
    FailureRecoveryPolicy = _alpha("0.15", "Force-delete opted-in pods that hang terminating on an unreachable node.")
    FastQuotaReleaseInPodIntegration = _alpha("0.17", "Release a pod's quota when its deletion starts.")
    FinishOrphanedWorkloads = _beta("0.18", "Finish workloads whose owner no longer exists.")
    LWSImmutableGroupSize = _beta("0.20", "Reject a change of a LeaderWorkerSet's group size.")
    ManagedJobsNamespaceSelectorAlwaysRespected = _locked(
        "0.19", "Ignore jobs outside managedJobsNamespaceSelector even if they have a queue name."
    )
    PodIntegrationValidateGroupOwner = _beta(
        "0.18", "No effect: a Workload of another owner is always rejected for a pod group."
    )
    ShortWorkloadNames = _alpha("0.17", "Keep generated workload names within 63 characters.")
    SkipAncestorCheckForDeletedWorkloads = _beta("0.20", "Delete a workload without checking its ancestors.")
    SparkApplicationIntegration = _alpha("0.17", "Queue SparkApplications.")
    ValidateRayAndSparkJobUpdates = _beta("0.18", "Reject removal of the queue label from running Ray and Spark jobs.")
    WorkloadIdentifierAnnotations = _beta("0.18", "Accept pod-group and prebuilt-workload names as annotations.")
    WorkloadPriorityClassDefaulting = _beta("0.20", "Assign the priority class `default` to jobs without one.")
    WorkloadValidateResourcesAreNonNegative = _beta("0.20", "Reject Workloads with negative amounts.")
    WorkloadValidationForPodSetMetadata = _beta("0.20", "Reject Workloads whose pod templates have invalid labels.")

    # Multiple clusters
    MultiKueue = _beta("0.9", "Dispatch workloads to worker clusters.")
    MultiKueueAdaptersForCustomJobs = _beta("0.15", "Dispatch the kinds in multiKueue.externalFrameworks.")
    MultiKueueClusterProfile = _alpha("0.15", "Access worker clusters through ClusterProfile objects.")
    MultiKueueIncrementalDispatcherConfig = _beta("0.19", "Make the incremental dispatcher step size configurable.")
    MultiKueueIncrementalDispatcherRespectConfigOrder = _beta(
        "0.19", "Dispatch to clusters in the order of the MultiKueueConfig instead of by name."
    )
    MultiKueueKubeConfigPathValidation = _beta("0.20", "Read kubeconfig files from one directory only.")
    MultiKueueManagerQuotaAutomation = _alpha("0.18", "Derive the manager's quota from that of its workers.")
    MultiKueueOrchestratedPreemption = _alpha("0.17", "Allow one worker cluster at a time to preempt for a workload.")
    MultiKueueRemoteSpecSync = _beta("0.20", "Propagate updates of a job to its worker cluster.")

    # Observability
    CustomMetricLabels = _alpha("0.17", "Add the labels of metrics.customLabels to metrics.")
    LocalQueueMetrics = _beta("0.17", "Export metrics per LocalQueue.")
    MetricForWorkloadCreationLatency = _beta("0.18", "Export the time between the creation of a job and its workload.")
    MetricsForCohorts = _beta("0.18", "Export metrics about cohorts and the cohorts of queues.")
    TLSOptions = _locked("0.20", "Honour the tls section of the configuration.")
    UnadmittedWorkloadsObservability = _beta("0.19", "Report detailed reasons for unadmitted workloads.")
    UnadmittedWorkloadsExplicitStatus = Traits(
        Stage.BETA,
        "0.19",
        default=False,
        purpose="Set the conditions of a workload when it is first reconciled.",
        needs=(UnadmittedWorkloadsObservability,),
    )
    VisibilityOnDemand = _beta("0.9", "Serve the visibility API for pending workloads.")

    @property
    def needs(self) -> tuple["Gate", ...]:
        """The gates that must be enabled for this one."""
        return tuple(Gate(traits) for traits in self.value.needs)


WITHOUT_EFFECT: Mapping[str, bool] = {
    "RemoveFinalizersWithStrictPatch": True,
    "SchedulerLibraryIntegration": False,
    "SchedulerLongRequeueInterval": False,
    "SchedulerTimestampPreemptionBuffer": False,
    "TASCacheNodeMatchResults": True,
    "TASCacheTopologyTree": True,
    "TASCachingRemainingResources": True,
    "VectorizedResourceRequests": True,
    "WorkloadRequestUseMergePatch": False,
}
"""Upstream gates and their defaults without effect in Kohort; accepted in either state, with a warning."""

GRADUATED: dict[str, bool] = {
    "HierarchicalCohorts": True,
    "MultiKueueAllowInsecureKubeconfigs": False,
    "MultiKueueRedoAdmissionOnEvictionInWorker": True,
    "MultiKueueWaitForWorkloadAdmitted": True,
    "ObjectRetentionPolicies": True,
    "PropagateBatchJobLabelsToWorkload": True,
    "SkipFinalizersForPodsSuspendedByParent": True,
}
"""Gates that Kueue v0.19 locks and later releases remove; accepted in their locked state."""

COMPAT: Mapping[str, Mapping[Gate, tuple[Stage, bool]]] = {
    "v0.19": {
        Gate.MultiKueueKubeConfigPathValidation: (Stage.ALPHA, False),
        Gate.RecomputeAssignmentUponPreemptionTargetsOverlap: (Stage.ALPHA, False),
        Gate.UnadmittedWorkloadsObservability: (Stage.BETA, False),
        Gate.WorkloadPriorityClassDefaulting: (Stage.ALPHA, False),
    }
}
"""Stages and defaults of an earlier Kueue release, if they differ from those above."""

WHOLE_STAGES = {"AllAlpha": Stage.ALPHA, "AllBeta": Stage.BETA}
"""Settings for all gates of a stage that are not set by name."""


@dataclass(frozen=True, slots=True)
class FeatureGates:
    """The enabled gates."""

    on: frozenset[Gate]

    def enabled(self, gate: Gate) -> bool:
        """Whether the gate is enabled."""
        return gate in self.on


DEFAULT_GATES = FeatureGates(frozenset(gate for gate in Gate if gate.value.default))


@dataclass(frozen=True, slots=True)
class ResolvedGates:
    """The result of applying settings; the gates are valid only without errors."""

    gates: FeatureGates
    errors: list[FieldError]
    warnings: list[str]


def from_settings(settings: Mapping[str, bool], path: Path, compat: str = "") -> ResolvedGates:
    """Apply settings to the defaults, or to those of the release `compat` (API-147)."""
    named = {Gate[name]: value for name, value in settings.items() if name in Gate.__members__}
    gates = FeatureGates(frozenset(gate for gate, value in _states(settings, named, compat).items() if value))
    errors = [*_unknown(settings, path), *_changed_locks(settings, path), *_unmet_needs(gates, path)]
    return ResolvedGates(gates, errors, _warnings(settings, named))


def _states(settings: Mapping[str, bool], named: Mapping[Gate, bool], compat: str) -> dict[Gate, bool]:
    """The state of each gate: its default, overridden by its stage, overridden by its own setting."""
    stages = {stage: settings[name] for name, stage in WHOLE_STAGES.items() if name in settings}
    earlier = COMPAT[compat] if compat else {}
    states = {}
    for gate in Gate:
        stage, default = earlier.get(gate, (gate.value.stage, gate.value.default))
        states[gate] = named.get(gate, stages.get(stage, default))
    return states


def _unknown(settings: Mapping[str, bool], path: Path) -> list[FieldError]:
    known = {*Gate.__members__, *WITHOUT_EFFECT, *GRADUATED, *WHOLE_STAGES}
    unknown = sorted(name for name in settings if name not in known)
    if not unknown:
        return []
    detail = f"unknown feature gate; available: {', '.join(sorted(known))}"
    return [invalid(path, ", ".join(unknown), detail, "API-147")]


def _changed_locks(settings: Mapping[str, bool], path: Path) -> list[FieldError]:
    locked = GRADUATED | {gate.name: gate.value.default for gate in Gate if gate.value.locked}
    return [
        invalid(
            path,
            f"{name}={str(value).lower()}",
            f"the gate is locked to {str(locked[name]).lower()}; remove it",
            "API-147",
        )
        for name, value in settings.items()
        if name in locked and value != locked[name]
    ]


def _unmet_needs(gates: FeatureGates, path: Path) -> list[FieldError]:
    """One error per disabled gate that an enabled one requires (API-141)."""
    dependents: dict[Gate, list[Gate]] = {}
    for gate in Gate:
        for need in gate.needs:
            if gates.enabled(gate) and not gates.enabled(need):
                dependents.setdefault(need, []).append(gate)
    return [
        invalid(
            path,
            f"{need.name}=false",
            f"enable it, or disable the gates that require it: {_names(gates_above)}",
            "API-141",
        )
        for need, gates_above in dependents.items()
    ]


def _warnings(settings: Mapping[str, bool], named: Mapping[Gate, bool]) -> list[str]:
    idle = [f"feature gate {name} has no effect here" for name in settings if name in WITHOUT_EFFECT]
    fading = [
        f"feature gate {gate.name} is {gate.value.stage.value} and will be removed; do not set it"
        for gate in named
        if gate.value.stage in (Stage.GA, Stage.DEPRECATED)
    ]
    gone = [
        f"feature gate {name} is locked and will be removed; do not set it" for name in settings if name in GRADUATED
    ]
    return [*idle, *fading, *gone]


def _names(gates: Iterable[Gate]) -> str:
    return ", ".join(gate.name for gate in gates)


_BOOLEANS = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}


def parse_flag(text: str, path: Path) -> tuple[dict[str, bool], list[FieldError]]:
    """Parse `A=true,B=false`, the format of the --feature-gates flag (API-138)."""
    settings: dict[str, bool] = {}
    errors: list[FieldError] = []
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if equals and value in _BOOLEANS:
            settings[name] = _BOOLEANS[value]
        else:
            errors.append(invalid(path, part, "use Name=true or Name=false, separated by commas", "API-138"))
    return settings, errors
