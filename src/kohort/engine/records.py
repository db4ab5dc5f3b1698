"""Queues, flavors and workloads in the form that scheduling cycles use.

They are built from API objects when these change: a cycle parses no JSON, quantities or selectors.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from kohort.api.core.pods import QuotaPodTemplate
from kohort.api.kueue import v1beta2
from kohort.api.kueue.v1beta2.workload import Admission, TopologyRequest
from kohort.api.meta import ObjectKey, Taint, Toleration
from kohort.api.selectors import Selector
from kohort.engine.hierarchy import ClusterQueueNode
from kohort.engine.quota import FlavorResource
from kohort.engine.requests.demand import PodSetDemand
from kohort.engine.requests.environment import Environment
from kohort.engine.requests.lists import ResourceAmounts

if TYPE_CHECKING:
    from kohort.engine.topology import DomainCounter

NO_END: Final = datetime.max.replace(tzinfo=UTC)
"""A time that never comes."""


NO_QUEUE: Final = ObjectKey("", "")
"""The LocalQueue of a workload that was not yet read."""


@dataclass(frozen=True, slots=True)
class Flavor:
    """A ResourceFlavor: what a pod must tolerate and match to use it."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    """Only those with effect NoSchedule or NoExecute (SCH-512)."""
    tolerations: tuple[Toleration, ...]
    topology: str = ""
    """The Topology of its nodes; not empty for a TAS flavor (TAS-5)."""


@dataclass(frozen=True, slots=True)
class FlavorGroup:
    """A resource group: resources that always come from one flavor (SCH-502)."""

    resources: tuple[str, ...]
    flavors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class QueuePolicies:
    """Policies of a ClusterQueue for flavor assignment and preemption."""

    is_strict: bool = False
    tries_next_when_borrowing: bool = False
    tries_next_when_preempting: bool = True
    prefers_preemption: bool = False
    within_queue: str = "Never"
    reclaim: str = "Never"
    borrow_policy: str = "Never"
    borrow_threshold: int | None = None


NO_AMOUNTS: Final[ResourceAmounts] = MappingProxyType({})


class PodSetResources(PodSetDemand, frozen=True):
    """Requests of a pod set, and its scheduling constraints."""

    template: QuotaPodTemplate | None = None
    """Selectors, affinity and tolerations of the pods; None without any."""
    group: str = ""
    """Pod sets of one topology group get one flavor (SCH-501)."""
    topology: TopologyRequest | None = None
    """The topology request of the pod set, if any (TAS-34)."""
    one_pod: ResourceAmounts = NO_AMOUNTS
    """What one pod uses of its node, including one `pods`, independent of what counts as quota (TAS-29)."""


class SecondPassReason(Enum):
    """Why a workload with quota needs a second pass (SCH-270)."""

    DELAYED = "delayed"
    """Its checks are ready, and its pods can be placed only now."""
    REPLACEMENT = "replacement"
    """A node of its topology assignment failed."""


PodSetDevices = tuple[str, tuple[tuple[str, int], ...]]
"""Name of a pod set, and what one of its pods claims: resources of quota with amounts in internal units."""
CreationOrder = tuple[str, str]
"""The UID of the job, or of the Workload without a job, and that of the Workload (SCH-212 e)."""


class UsageCounter(Protocol):
    """Counts usage: a cell of quota, or pods in a topology domain."""

    def use(self, amount: int, /) -> None:
        """Count usage."""

    def free(self, amount: int, /) -> None:
        """Undo `use`."""


NO_PLACES: Final["Mapping[DomainCounter, int]"] = MappingProxyType({})
NOTHING_HELD: Final[Mapping[UsageCounter, int]] = MappingProxyType({})


class WorkloadInfo:
    """A workload in the engine: its requests and its usage."""

    __slots__ = (
        "admission",
        "allowed_flavors",
        "backoff_until",
        "created",
        "creation_order",
        "devices",
        "environment",
        "equivalence",
        "evicted",
        "generation",
        "has_closed_gate",
        "held",
        "is_admitted",
        "key",
        "local_queue",
        "object",
        "placed",
        "pod_sets",
        "pods_ready",
        "priority",
        "problem",
        "progress",
        "queue",
        "queued_at",
        "replaces",
        "requests_topology",
        "reserved_at",
        "second_pass",
        "uid",
        "usage",
    )

    def __init__(self, key: ObjectKey, uid: str) -> None:
        self.key = key
        self.uid = uid
        self.creation_order: CreationOrder = (uid, uid)
        self.object: v1beta2.Workload | None = None
        self.local_queue = NO_QUEUE
        self.queue: ClusterQueueInfo | None = None
        """The ClusterQueue where it waits or holds quota."""
        self.priority = 0
        """Effective: base and boost (SCH-210)."""
        self.created: datetime | None = None
        self.queued_at: datetime | None = None
        """The queue-order timestamp (SCH-211)."""
        self.backoff_until: datetime | None = None
        """When its backoff ends (SCH-223): `requeueAt`, or NO_END while `Requeued` is False."""
        self.generation = 0
        self.devices: tuple[PodSetDevices, ...] = ()
        """Device claims of the pods of each pod set, in addition to their requests (SCH-132)."""
        self.pod_sets: tuple[PodSetResources, ...] = ()
        self.requests_topology = False
        """Whether a pod set has a topology request (TAS-34)."""
        self.problem = ""
        """What is wrong with the requests themselves (SCH-124)."""
        self.environment: Environment | None = None
        """The environment from which `pod_sets` and `problem` were computed."""
        self.equivalence = ""
        """Scheduling equivalence hash (SCH-250)."""
        self.progress: FlavorScanState | None = None
        self.replaces: WorkloadInfo | None = None
        """The older slice of an elastic job that this one replaces (SCH-1103)."""
        self.usage: dict[FlavorResource, int] = {}
        """Its usage while it holds quota."""
        self.held: Mapping[UsageCounter, int] = NOTHING_HELD
        """Its usage by counter: the cells of its queue, and `placed`."""
        self.placed: Mapping[DomainCounter, int] = NO_PLACES
        """Its pods in topology domains."""
        self.admission: Admission | None = None
        """The admission for which `usage` was counted, so that its watch event is not counted again."""
        self.reserved_at: datetime | None = None
        self.second_pass: SecondPassReason | None = None
        """Why it needs a second pass (SCH-270)."""
        self.evicted = False
        self.is_admitted = False
        """Whether its job may run; quota is held from the reservation on (SCH-420, SCH-907)."""
        self.pods_ready = False
        self.has_closed_gate = False
        """Whether a preemption gate is closed (SCH-1120)."""
        self.allowed_flavors: frozenset[str] | None = None
        """Flavors to which a variant is bound (SCH-1111)."""

    def __repr__(self) -> str:
        return f"<Workload {self.key}>"

    @property
    def has_quota(self) -> bool:
        """Whether it holds a reservation."""
        return self.reserved_at is not None

    @property
    def takes_over_from(self) -> "WorkloadInfo | None":
        """The slice that it replaces, while that slice holds quota of the same queue (SCH-1103)."""
        replaced = self.replaces
        return replaced if replaced is not None and replaced.has_quota and replaced.queue is self.queue else None

    def hold(self) -> None:
        """Count its usage at all counters."""
        for counter, amount in self.held.items():
            counter.use(amount)

    def release(self) -> None:
        """Subtract its usage from all counters."""
        for counter, amount in self.held.items():
            counter.free(amount)


class FlavorScanState(msgspec.Struct, frozen=True):
    """Progress of the flavor scan (SCH-550, SCH-551)."""

    tried: Mapping[tuple[str, str], int]
    """Pod set and resource to the index of the last flavor attempted; -1 when all were."""
    queue_generation: int
    cycle: int
    equivalence: str

    @property
    def has_more(self) -> bool:
        """Whether flavors remain to be tried (SCH-552)."""
        return any(index != -1 for index in self.tried.values())


class ClusterQueueInfo:
    """A ClusterQueue in the engine."""

    __slots__ = (
        "group_of",
        "groups",
        "holders",
        "is_active",
        "last_acceptable_flavor",
        "name",
        "namespaces",
        "node",
        "orders_by_usage",
        "policies",
        "priorities",
    )

    def __init__(self, name: str, node: ClusterQueueNode) -> None:
        self.name = name
        self.node = node
        self.policies = QueuePolicies()
        self.groups: tuple[FlavorGroup, ...] = ()
        self.group_of: dict[str, FlavorGroup] = {}
        self.namespaces: Selector | None = None
        self.is_active = True
        self.last_acceptable_flavor = ""
        """The worst flavor to which variants may migrate (SCH-1113)."""
        self.orders_by_usage = False
        """Whether LocalQueues with less past usage go first (SCH-808)."""
        self.holders: dict[ObjectKey, WorkloadInfo] = {}
        """Workloads that hold quota here."""
        self.priorities: dict[int, int] = {}
        """How many holders have each priority, so that a search without candidates ends at once."""

    def __repr__(self) -> str:
        return f"<Queue {self.name}>"

    def add_holder(self, workload: WorkloadInfo) -> None:
        """Count a workload that got quota here; its usage and places must be set."""
        workload.queue = self
        workload.held = self._held_by(workload)
        self.holders[workload.key] = workload
        self.priorities[workload.priority] = self.priorities.get(workload.priority, 0) + 1
        workload.hold()

    def _held_by(self, workload: WorkloadInfo) -> dict[UsageCounter, int]:
        held: dict[UsageCounter, int] = {self.node.cell(fr): amount for fr, amount in workload.usage.items()}
        if workload.placed:
            held.update((counter, pods) for counter, pods in workload.placed.items())
        return held

    def move_pods(self, holder: WorkloadInfo, places: "Mapping[DomainCounter, int]") -> None:
        """Replace the placement of a holder's pods."""
        holder.release()
        holder.placed = places
        holder.held = self._held_by(holder)
        holder.hold()

    def drop_holder(self, workload: WorkloadInfo) -> None:
        """Release the workload's quota."""
        workload.release()
        workload.held = NOTHING_HELD
        del self.holders[workload.key]
        self._uncount(workload)
        self.node.generation += 1

    def recount(self, workload: WorkloadInfo, priority: int) -> None:
        """Update a holder's priority."""
        self._uncount(workload)
        self.priorities[priority] = self.priorities.get(priority, 0) + 1

    def _uncount(self, workload: WorkloadInfo) -> None:
        left = self.priorities[workload.priority] - 1
        if left:
            self.priorities[workload.priority] = left
        else:
            del self.priorities[workload.priority]

    def set_groups(self, groups: tuple[FlavorGroup, ...]) -> None:
        """Set the resource groups of the spec."""
        self.groups = groups
        self.group_of = {resource: group for group in groups for resource in group.resources}

    def goes_on(self, progress: FlavorScanState) -> bool:
        """Whether flavors that the queue still has remain to be tried (SCH-552, SCH-550)."""
        return any(
            index != -1 and resource in self.group_of and index + 1 < len(self.group_of[resource].flavors)
            for (_, resource), index in progress.tried.items()
        )
