"""Feature gates: which behaviours exist, how mature each is, and which are on (API-141, API-147).

A gate is a member of `Gate`, named as users write it, so a typing error in our own code fails the type check and a
typing error of a user's is answered with the known names.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, unique

from kohort.api.fields import FieldError, Path, invalid


class Stage(Enum):
    """How far a behaviour has come."""

    ALPHA = "Alpha"
    BETA = "Beta"
    GA = "GA"
    DEPRECATED = "Deprecated"


@dataclass(frozen=True, slots=True)
class Traits:
    """What is known of a gate besides its name."""

    stage: Stage
    since: str
    """The upstream release in which the gate reached this stage."""
    default: bool
    purpose: str
    needs: tuple["Traits", ...] = ()
    locked: bool = False
    """A locked gate accepts only its default; it stays so that old settings are not an error."""


def _alpha(since: str, purpose: str, *needs: Traits) -> Traits:
    return Traits(Stage.ALPHA, since, default=False, purpose=purpose, needs=needs)


def _beta(since: str, purpose: str, *needs: Traits) -> Traits:
    return Traits(Stage.BETA, since, default=True, purpose=purpose, needs=needs)


def _locked(since: str, purpose: str) -> Traits:
    return Traits(Stage.GA, since, default=True, purpose=purpose, locked=True)


@unique
class Gate(Enum):
    """Every gate that changes what Kohort does."""

    # A member is one object; Enum would hash its name each time that somebody asks whether a gate is on.
    __hash__ = object.__hash__

    # Queues and admission
    AdmissionGatedBy = _beta("0.19", "Hold a workload back while its admission-gated-by annotation names a gate.")
    ConcurrentAdmission = _alpha("0.18", "Try a workload on several flavors at once, as one variant per flavor.")
    FlavorFungibility = _beta("0.5", "Follow a queue's flavorFungibility when a flavor does not fit.")
    FlavorFungibilityPreserveScanProgress = _beta(
        "0.20", "Go on in the next cycle with the flavor after the last one tried.", FlavorFungibility
    )
    PartialAdmission = _beta("0.5", "Admit a pod set with fewer pods, down to its minCount.")
    PriorityBoost = _alpha("0.17", "Add the boost annotation's value to a workload's priority.")
    PrioritySortingWithinCohort = _beta("0.6", "Order the heads of a cohort's queues by priority before age.")
    QuotaCheckStrategy = _beta("0.19", "Let resources.quotaCheckStrategy decide about resources without quota.")
    ReclaimablePods = _beta("0.15", "Give the quota of pods that are done back before the workload finishes.")
    RejectUpdatesToCQWithInvalidOnFlavors = _alpha(
        "0.18", "Refuse an update of a ClusterQueue whose onFlavors names flavors that it does not have."
    )
    SchedulingEquivalenceHashing = _beta(
        "0.18", "Skip workloads that equal one already found inadmissible in a BestEffortFIFO queue."
    )

    # Preemption and fair sharing
    AdmissionFairSharing = _beta("0.15", "Order the workloads of a queue by what their LocalQueues used lately.")
    FairSharingPreemptWithinNominal = _beta(
        "0.17", "Let a queue inside its nominal quota take it back whatever the shares say."
    )
    FairSharingPrioritizeNonBorrowing = _beta(
        "0.17", "Put workloads that need no borrowing first in a fair-sharing cycle."
    )
    PrioritizePreemptorWorkloads = _alpha("0.20", "Put workloads that wait for their victims first in the cycle.")
    RecomputeAssignmentUponPreemptionTargetsOverlap = _beta(
        "0.20", "Search again within the cycle when another workload has taken the victims."
    )

    # Topology
    TopologyAwareScheduling = _beta("0.14", "Place pods by the topology that a flavor names.")
    SkipReassignmentForPodOwnedWorkloads = _beta("0.19", "Never place the workload of a single Pod anew.")
    TASAssignmentsEncodingByHostnamePrefix = _beta(
        "0.19", "Write topology assignments more briefly by grouping hosts whose names begin alike."
    )
    TASBalancedPlacement = _alpha("0.15", "Spread pods evenly over the chosen domains.", TopologyAwareScheduling)
    TASFailedNodeReplacement = _beta("0.14", "Find another node for pods whose node failed.", TopologyAwareScheduling)
    TASFailedNodeReplacementFailFast = _beta(
        "0.14",
        "Evict a workload at once when no replacement for its node is found.",
        TopologyAwareScheduling,
        TASFailedNodeReplacement,
    )
    TASHandleOverlappingFlavors = _beta(
        "0.18", "Count what all flavors use of a node that they share.", TopologyAwareScheduling
    )
    TASMultiLayerTopology = _beta("0.19", "Allow up to three layers of slices in a request.", TopologyAwareScheduling)
    TASProfileMixed = _beta(
        "0.15",
        "Place unconstrained pods where the least capacity is free, others where most is.",
        TopologyAwareScheduling,
    )
    TASRecomputeAssignmentWithinSchedulingCycle = _beta(
        "0.19", "Place again within the cycle when another workload took the domain.", TopologyAwareScheduling
    )
    TASReplaceNodeDueToNotReadyOverFixedTime = Traits(
        Stage.DEPRECATED,
        "0.19",
        default=False,
        purpose="Treat a node as failed once it was not ready for a fixed time.",
        needs=(TopologyAwareScheduling, TASFailedNodeReplacement),
    )
    TASReplaceNodeOnNodeTaints = _beta(
        "0.17", "Treat a node as failed when it gets a taint that drives pods away.", TopologyAwareScheduling
    )
    TASReplaceNodeOnPodTermination = _beta(
        "0.14",
        "Treat a node as failed when it is not ready and its pods terminate.",
        TopologyAwareScheduling,
        TASFailedNodeReplacement,
    )
    TASRespectNodeAffinityPreferred = _alpha(
        "0.18", "Prefer the nodes that a pod's preferred node affinity names.", TopologyAwareScheduling
    )
    TASValidateWorkloadSliceSize = _beta("0.20", "Refuse Workloads whose slice sizes make no sense.")

    # Elastic workloads and readiness
    DisableWaitForPodsReady = _alpha("0.19", "Turn waitForPodsReady off whatever the configuration says.")
    ElasticJobsViaWorkloadSlices = _beta("0.18", "Let a running job grow or shrink by replacing its workload.")
    ElasticJobsViaWorkloadSlicesWithTAS = _alpha(
        "0.17",
        "Let jobs with a topology request grow or shrink too.",
        ElasticJobsViaWorkloadSlices,
        TopologyAwareScheduling,
    )

    # Dynamic resource allocation
    KueueDRAIntegration = _beta("0.18", "Count devices of resource claims against quota.")
    KueueDRAIntegrationConsumableCapacity = _alpha(
        "0.19", "Count the shared capacity that a claim takes of a device.", KueueDRAIntegration
    )
    KueueDRAIntegrationExtendedResource = _beta(
        "0.19", "Count extended resources that a device class stands behind.", KueueDRAIntegration
    )
    KueueDRAIntegrationPartitionableDevices = _beta(
        "0.19", "Count the counters that a partition of a device consumes.", KueueDRAIntegration
    )
    KueueDRARejectWorkloadsWhenDRADisabled = _beta(
        "0.18", "Refuse workloads with resource claims while these can't be counted."
    )

    # Jobs
    AssignQueueLabelsForPods = _beta("0.17", "Label pods with the queues that admitted them.")
    CleanupProvisioningRequestsOnEviction = _beta("0.19", "Delete the ProvisioningRequests of an evicted workload.")
    DeferRayServiceFinalizationForRedisCleanup = _beta(
        "0.19", "Let a RayService clean up its Redis before its workload goes."
    )
    FailureRecoveryPolicy = _alpha("0.15", "Delete pods by force that hang on an unreachable node and allow it.")
    FastQuotaReleaseInPodIntegration = _alpha("0.17", "Free a pod's quota when its deletion begins.")
    FinishOrphanedWorkloads = _beta("0.18", "Finish workloads whose owner is gone.")
    LWSImmutableGroupSize = _beta("0.20", "Refuse a change of a LeaderWorkerSet's group size.")
    ManagedJobsNamespaceSelectorAlwaysRespected = _locked(
        "0.19", "Leave jobs outside managedJobsNamespaceSelector alone even if they name a queue."
    )
    PodIntegrationValidateGroupOwner = _beta(
        "0.18", "No effect: a Workload of another owner is always refused for a pod group."
    )
    ShortWorkloadNames = _alpha("0.17", "Keep generated workload names within 63 characters.")
    SkipAncestorCheckForDeletedWorkloads = _beta("0.20", "Let a workload go although its owners can't be found.")
    SparkApplicationIntegration = _alpha("0.17", "Queue SparkApplications.")
    ValidateRayAndSparkJobUpdates = _beta("0.18", "Refuse to take the queue label off running Ray and Spark jobs.")
    WorkloadIdentifierAnnotations = _beta("0.18", "Accept pod-group and prebuilt-workload names as annotations.")
    WorkloadPriorityClassDefaulting = _beta("0.20", "Give jobs without a priority class the one named default.")
    WorkloadValidateResourcesAreNonNegative = _beta("0.20", "Refuse Workloads with negative amounts.")
    WorkloadValidationForPodSetMetadata = _beta("0.20", "Refuse Workloads whose pod templates have invalid labels.")

    # Many clusters
    MultiKueue = _beta("0.9", "Dispatch workloads to worker clusters.")
    MultiKueueAdaptersForCustomJobs = _beta("0.15", "Dispatch the kinds of multiKueue.externalFrameworks.")
    MultiKueueClusterProfile = _alpha("0.15", "Reach worker clusters through ClusterProfile objects.")
    MultiKueueIncrementalDispatcherConfig = _beta("0.19", "Make the incremental dispatcher's step size settable.")
    MultiKueueIncrementalDispatcherRespectConfigOrder = _beta(
        "0.19", "Dispatch to clusters in the order of the MultiKueueConfig instead of by name."
    )
    MultiKueueKubeConfigPathValidation = _beta("0.20", "Read kubeconfig files from one directory only.")
    MultiKueueManagerQuotaAutomation = _alpha("0.18", "Derive the manager's quota from that of its workers.")
    MultiKueueOrchestratedPreemption = _alpha("0.17", "Let one worker cluster at a time preempt for a workload.")
    MultiKueueRemoteSpecSync = _beta("0.20", "Pass edits of a job on to its worker cluster.")

    # Observation and serving
    CustomMetricLabels = _alpha("0.17", "Add the labels of metrics.customLabels to metrics.")
    LocalQueueMetrics = _beta("0.17", "Export metrics per LocalQueue.")
    MetricForWorkloadCreationLatency = _beta("0.18", "Export how long a job waits for its workload object.")
    MetricsForCohorts = _beta("0.18", "Export metrics about cohorts and a queue's place in them.")
    TLSOptions = _locked("0.20", "Honour the tls section of the configuration.")
    UnadmittedWorkloadsObservability = _beta("0.19", "Say more finely why a workload is not admitted.")
    UnadmittedWorkloadsExplicitStatus = Traits(
        Stage.BETA,
        "0.19",
        default=False,
        purpose="Write the conditions of a workload from the first look at it.",
        needs=(UnadmittedWorkloadsObservability,),
    )
    VisibilityOnDemand = _beta("0.9", "Serve the lists of pending workloads.")

    @property
    def needs(self) -> tuple["Gate", ...]:
        """The gates that must be on for this one to be on."""
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
"""Upstream gates, with their defaults there, that change nothing here; accepted in either state, with a warning."""

GRADUATED: dict[str, bool] = {
    "HierarchicalCohorts": True,
    "MultiKueueAllowInsecureKubeconfigs": False,
    "MultiKueueRedoAdmissionOnEvictionInWorker": True,
    "MultiKueueWaitForWorkloadAdmitted": True,
    "ObjectRetentionPolicies": True,
    "PropagateBatchJobLabelsToWorkload": True,
    "SkipFinalizersForPodsSuspendedByParent": True,
}
"""Gates of Kueue v0.19 that are locked there and removed later; accepted in the state to which they are locked."""

COMPAT: Mapping[str, Mapping[Gate, tuple[Stage, bool]]] = {
    "v0.19": {
        Gate.MultiKueueKubeConfigPathValidation: (Stage.ALPHA, False),
        Gate.RecomputeAssignmentUponPreemptionTargetsOverlap: (Stage.ALPHA, False),
        Gate.UnadmittedWorkloadsObservability: (Stage.BETA, False),
        Gate.WorkloadPriorityClassDefaulting: (Stage.ALPHA, False),
    }
}
"""Stages and defaults of an earlier Kueue release, where they differ from those above."""

WHOLE_STAGES = {"AllAlpha": Stage.ALPHA, "AllBeta": Stage.BETA}
"""Settings that stand for every gate of a stage that is not set by its own name."""


@dataclass(frozen=True, slots=True)
class FeatureGates:
    """The gates that are on."""

    on: frozenset[Gate]

    def enabled(self, gate: Gate) -> bool:
        """Whether the gate is on."""
        return gate in self.on


DEFAULT_GATES = FeatureGates(frozenset(gate for gate in Gate if gate.value.default))


@dataclass(frozen=True, slots=True)
class ResolvedGates:
    """What settings come to; the gates are of use only without errors."""

    gates: FeatureGates
    errors: list[FieldError]
    warnings: list[str]


def from_settings(settings: Mapping[str, bool], path: Path, compat: str = "") -> ResolvedGates:
    """Apply settings to the defaults, or to those of the release that `compat` names (API-147)."""
    named = {Gate[name]: value for name, value in settings.items() if name in Gate.__members__}
    gates = FeatureGates(frozenset(gate for gate, value in _states(settings, named, compat).items() if value))
    errors = [*_unknown(settings, path), *_changed_locks(settings, path), *_unmet_needs(gates, path)]
    return ResolvedGates(gates, errors, _warnings(settings, named))


def _states(settings: Mapping[str, bool], named: Mapping[Gate, bool], compat: str) -> dict[Gate, bool]:
    """Every gate's state: its default, unless its stage is set, unless it is set itself."""
    stages = {stage: settings[name] for name, stage in WHOLE_STAGES.items() if name in settings}
    earlier = COMPAT[compat] if compat else {}
    states = {}
    for gate in Gate:
        stage, default = earlier.get(gate, (gate.value.stage, gate.value.default))
        states[gate] = named.get(gate, stages.get(stage, default))
    return states


def _unknown(settings: Mapping[str, bool], path: Path) -> list[FieldError]:
    known = {*Gate.__members__, *WITHOUT_EFFECT, *GRADUATED, *WHOLE_STAGES}
    strangers = sorted(name for name in settings if name not in known)
    if not strangers:
        return []
    detail = f"no such feature gate; the known ones are: {', '.join(sorted(known))}"
    return [invalid(path, ", ".join(strangers), detail, "API-147")]


def _changed_locks(settings: Mapping[str, bool], path: Path) -> list[FieldError]:
    locked = GRADUATED | {gate.name: gate.value.default for gate in Gate if gate.value.locked}
    return [
        invalid(
            path,
            f"{name}={str(value).lower()}",
            f"the gate is locked to {str(locked[name]).lower()}; take it out of the settings",
            "API-147",
        )
        for name, value in settings.items()
        if name in locked and value != locked[name]
    ]


def _unmet_needs(gates: FeatureGates, path: Path) -> list[FieldError]:
    """One error per gate that is off and needed, however many need it (API-141)."""
    dependents: dict[Gate, list[Gate]] = {}
    for gate in Gate:
        for need in gate.needs:
            if gates.enabled(gate) and not gates.enabled(need):
                dependents.setdefault(need, []).append(gate)
    return [
        invalid(
            path,
            f"{need.name}=false",
            f"turn it on, or turn off what needs it: {_names(gates_above)}",
            "API-141",
        )
        for need, gates_above in dependents.items()
    ]


def _warnings(settings: Mapping[str, bool], named: Mapping[Gate, bool]) -> list[str]:
    idle = [f"feature gate {name} has no effect here" for name in settings if name in WITHOUT_EFFECT]
    fading = [
        f"feature gate {gate.name} is {gate.value.stage.value} and will go; stop setting it"
        for gate in named
        if gate.value.stage in (Stage.GA, Stage.DEPRECATED)
    ]
    gone = [f"feature gate {name} is locked and will go; stop setting it" for name in settings if name in GRADUATED]
    return [*idle, *fading, *gone]


def _names(gates: Iterable[Gate]) -> str:
    return ", ".join(gate.name for gate in gates)


_BOOLEANS = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}


def parse_flag(text: str, path: Path) -> tuple[dict[str, bool], list[FieldError]]:
    """Read `A=true,B=false`, the form of the --feature-gates flag (API-138)."""
    settings: dict[str, bool] = {}
    errors: list[FieldError] = []
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if equals and value in _BOOLEANS:
            settings[name] = _BOOLEANS[value]
        else:
            errors.append(invalid(path, part, "write Name=true or Name=false, separated by commas", "API-138"))
    return settings, errors
