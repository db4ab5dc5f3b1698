"""What is known, and what happened since the last turn: queues that were stirred, trees where room may have appeared.

Nothing is decided or read here; the floors above keep it true.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kohort.api.kueue import v1beta2
from kohort.api.kueue.v1beta2.queues import CohortSpec
from kohort.api.meta import ObjectKey
from kohort.engine.eligibility import FlavorEligibility
from kohort.engine.environments import EnvironmentCache
from kohort.engine.hierarchy import CohortNode, Hierarchy, HierarchyNode
from kohort.engine.lifecycle.activity import QueueReferences as Referred
from kohort.engine.pending import PendingQueue
from kohort.engine.records import ClusterQueueInfo, Flavor, WorkloadInfo
from kohort.engine.request_cache import RequestCache
from kohort.engine.second_pass import SecondPasses
from kohort.engine.settings import EngineSettings
from kohort.engine.usage_history import UsageHistory
from kohort.engine.usage_request import CapacityModel
from kohort.engine.variants import Variants


@dataclass(slots=True)
class LocalQueueInfo:
    """A LocalQueue: the way from a namespace to a ClusterQueue."""

    key: ObjectKey
    """The one that all its workloads share."""
    cluster_queue: str = ""
    is_stopped: bool = False
    workloads: dict[ObjectKey, WorkloadInfo] = field(default_factory=dict)
    """Workloads that name this queue, whether it exists or not."""


class EngineStateBase:
    """All queues, flavors and workloads as they are now."""

    def __init__(self, settings: EngineSettings | None = None) -> None:
        self.settings = settings or EngineSettings()
        self.rules = self.settings.cycle
        self.forest = Hierarchy()
        self.flavors: dict[str, Flavor] = {}
        self.eligibility = FlavorEligibility()
        self.queues: dict[str, ClusterQueueInfo] = {}
        self.pending: dict[str, PendingQueue] = {}
        self.local_queues: dict[ObjectKey, LocalQueueInfo] = {}
        self.namespaces: dict[str, Mapping[str, str]] = {}
        self._flavor_things: dict[str, v1beta2.ResourceFlavor] = {}
        self._checks: dict[str, v1beta2.AdmissionCheck] = {}
        self._topologies: set[str] = set()
        self._referred = Referred(self._flavor_things, self._checks, self._topologies)
        """What ClusterQueues may name, all of which must be there for one to be active."""
        self.workloads: dict[ObjectKey, WorkloadInfo] = {}
        self._specs: dict[str, v1beta2.ClusterQueue] = {}
        self._cohort_specs: dict[str, CohortSpec] = {}
        self._assumed: dict[ObjectKey, v1beta2.Workload | None] = {}
        """Admissions that were decided and not yet seen in an object, each with the object that was seen instead."""
        self._strays: dict[ObjectKey, WorkloadInfo] = {}
        """Workloads that hold quota of a ClusterQueue that is not there, or not yet."""
        self._taken_over: dict[ObjectKey, ObjectKey] = {}
        """Slices whose quota went to their successors, by which they are about to end (SCH-1104)."""
        self._evicting: set[str] = set()
        """UIDs of victims whose eviction was issued and not yet seen (SCH-650)."""
        self._stirred: set[str] = set()
        """Queues where something happened since the last turn."""
        self._loosened: set[HierarchyNode] = set()
        """Tops of the trees where room may have appeared (SCH-261)."""
        self._sleeping: set[str] = set()
        """Queues where somebody may wait for the end of a backoff (SCH-223)."""
        self.second_passes = SecondPasses()
        """Who has quota and looks for places."""
        self.capacity: CapacityModel | None = None
        """What limits admissions besides quota; set before the first event."""
        self._surroundings = EnvironmentCache()
        self._reader = RequestCache(self.settings)
        self.variants = Variants()
        self.history = UsageHistory(self.settings.history) if self.settings.history else None
        """What LocalQueues used lately, where that is asked for."""

    def _stir_tree_of(self, node: HierarchyNode) -> None:
        """Capacity of the tree has changed: everything parked in it gets another look (SCH-261, SCH-262)."""
        if not node.is_cyclic:
            self._loosened.add(node.top())

    def _names_in_tree(self, node: HierarchyNode) -> list[str]:
        return [] if node.is_cyclic else _names_below(node.top())


def _names_below(top: HierarchyNode) -> list[str]:
    return [leaf.name for leaf in top.all_queues()] if isinstance(top, CohortNode) else [top.name]
