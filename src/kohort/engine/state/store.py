"""The state of the engine as plain data; trackers change it, cycles and the read model read it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kohort.api.kueue import v1beta2
from kohort.api.kueue.v1beta2.queues import CohortSpec
from kohort.api.kueue.v1beta2.workload import Admission
from kohort.api.meta import ObjectKey
from kohort.engine.admission_fair_sharing import UsageHistory
from kohort.engine.eligibility import FlavorEligibility
from kohort.engine.environments import EnvironmentCache
from kohort.engine.hierarchy import Hierarchy
from kohort.engine.lifecycle.activity import QueueReferences
from kohort.engine.pending import PendingQueue
from kohort.engine.preemption_policy import KueuePreemptionPolicy, PreemptionPolicy
from kohort.engine.records import ClusterQueueInfo, Flavor, WorkloadInfo
from kohort.engine.request_cache import RequestCache
from kohort.engine.second_pass import SecondPasses
from kohort.engine.settings import EngineSettings
from kohort.engine.state.competition import Competition
from kohort.engine.state.unblock_keys import UnblockKey
from kohort.engine.topology import PlacementSettings, TopologyStore
from kohort.engine.variants import Variants


@dataclass(slots=True)
class LocalQueueInfo:
    """A LocalQueue and the ClusterQueue that it references."""

    key: ObjectKey
    """One object that all its workloads share."""
    cluster_queue: str = ""
    is_stopped: bool = False
    workloads: dict[ObjectKey, WorkloadInfo] = field(default_factory=dict)
    """Workloads that reference this queue, whether it exists or not."""


@dataclass(slots=True)
class EngineStore:
    """All queues, flavors and workloads."""

    settings: EngineSettings
    request_cache: RequestCache
    history: UsageHistory | None
    """Past usage of LocalQueues; set with admission fair sharing."""
    topology: TopologyStore
    """Nodes in the domains of topologies, and the pods there; empty without TAS flavors."""
    hierarchy: Hierarchy = field(default_factory=Hierarchy)
    flavors: dict[str, Flavor] = field(default_factory=dict)
    eligibility: FlavorEligibility = field(default_factory=FlavorEligibility)
    queues: dict[str, ClusterQueueInfo] = field(default_factory=dict)
    pending: dict[str, PendingQueue] = field(default_factory=dict)
    """By ClusterQueue."""
    local_queues: dict[ObjectKey, LocalQueueInfo] = field(default_factory=dict)
    namespaces: dict[str, Mapping[str, str]] = field(default_factory=dict)
    """Labels by namespace."""
    flavor_objects: dict[str, v1beta2.ResourceFlavor] = field(default_factory=dict)
    checks: dict[str, v1beta2.AdmissionCheck] = field(default_factory=dict)
    topologies: set[str] = field(default_factory=set)
    """All Topologies by name."""
    workloads: dict[ObjectKey, WorkloadInfo] = field(default_factory=dict)
    cluster_queue_objects: dict[str, v1beta2.ClusterQueue] = field(default_factory=dict)
    cohort_specs: dict[str, CohortSpec] = field(default_factory=dict)
    assumed: dict[ObjectKey, v1beta2.Workload | None] = field(default_factory=dict)
    """Assumed admissions, not yet observed, each with the latest observed object."""
    placed_ahead: dict[ObjectKey, Admission] = field(default_factory=dict)
    """Assumed topology assignments of second passes, not yet observed."""
    orphans: dict[ObjectKey, WorkloadInfo] = field(default_factory=dict)
    """Workloads that hold quota of a ClusterQueue that does not exist (yet)."""
    replaced_slices: dict[ObjectKey, ObjectKey] = field(default_factory=dict)
    """Slices whose quota was taken over by successors, which finish them (SCH-1104)."""
    evicting: set[str] = field(default_factory=set)
    """UIDs of victims whose eviction was issued and not yet observed (SCH-650)."""
    dirty: set[str] = field(default_factory=set)
    """ClusterQueues with events since the last cycle of their tree."""
    unblocked: set[UnblockKey] = field(default_factory=set)
    """Keys of what may have become free since the last cycle (SCH-261)."""
    narrowed: set[UnblockKey] = field(default_factory=set)
    """Keys of what has lost capacity since the last cycle: only active workloads are evaluated again (TAS-28)."""
    backing_off: set[str] = field(default_factory=set)
    """ClusterQueues in which workloads may have a backoff (SCH-223)."""
    second_passes: SecondPasses = field(default_factory=SecondPasses)
    environments: EnvironmentCache = field(default_factory=EnvironmentCache)
    competition: Competition = field(default_factory=Competition)
    variants: Variants = field(default_factory=Variants)
    preemption_policy: PreemptionPolicy = field(default_factory=KueuePreemptionPolicy)

    @staticmethod
    def empty(settings: EngineSettings) -> "EngineStore":
        """A store without objects."""
        return EngineStore(
            settings,
            RequestCache(settings),
            UsageHistory(settings.history) if settings.history else None,
            TopologyStore(PlacementSettings.of(settings.gates)),
        )

    @property
    def references(self) -> QueueReferences:
        """What ClusterQueues may reference, all of which must exist for one to be active."""
        return QueueReferences(self.flavor_objects, self.checks, self.topologies)
