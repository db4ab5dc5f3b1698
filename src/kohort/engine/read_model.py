"""The read model of the engine: what controllers, commands and servers read; nothing here changes the engine."""

from collections.abc import Iterator, Mapping
from typing import Protocol

from kohort.api.kueue.v1beta2.queues import (
    ClusterQueueStatus,
    CohortStatus,
    FairSharingStatus,
    LocalQueueFairSharingStatus,
    LocalQueueStatus,
)
from kohort.api.meta import ObjectKey
from kohort.engine.admission_fair_sharing import UsageHistory
from kohort.engine.drs import share_of
from kohort.engine.hierarchy import ClusterQueueNode, CohortNode, HierarchyNode
from kohort.engine.obstacles import Obstacle, find_obstacle
from kohort.engine.pending import PendingCounts, PendingState, QueuePosition
from kohort.engine.records import ClusterQueueInfo, WorkloadInfo
from kohort.engine.state.store import EngineStore, LocalQueueInfo
from kohort.engine.topology.flavor_domains import FlavorDomains
from kohort.engine.usage_stats import figures_of, local_queue_usage, queue_usage


class PendingView(Protocol):
    """The pending workloads of a ClusterQueue, for reading."""

    @property
    def counts(self) -> PendingCounts:
        """How many workloads are in each state."""

    def state_of(self, workload: WorkloadInfo, /) -> PendingState | None:
        """The state of a workload; None if it is not pending here."""

    def position_of(self, workload: WorkloadInfo, /) -> QueuePosition:
        """How many workloads come before one, or would if it were added now."""

    def positions(self) -> Iterator[tuple[ObjectKey, QueuePosition]]:
        """All workloads in order, with their positions."""

    def first(self, number: int, /) -> list[WorkloadInfo]:
        """The first workloads in order."""

    def bypass_reason(self, workload: WorkloadInfo, /) -> str:
        """Reason of a workload that is not evaluated because an equivalent one failed."""


class EngineReadModel:
    """Queues, workloads and quota in their current state."""

    def __init__(self, store: EngineStore) -> None:
        self._store = store

    @property
    def cluster_queues(self) -> Mapping[str, ClusterQueueInfo]:
        """All ClusterQueues by name, with current sums at their nodes."""
        self._store.hierarchy.refresh()
        return self._store.queues

    @property
    def local_queues(self) -> Mapping[ObjectKey, LocalQueueInfo]:
        """All LocalQueues that exist or that workloads reference."""
        return self._store.local_queues

    @property
    def workloads(self) -> Mapping[ObjectKey, WorkloadInfo]:
        """All workloads, with current sums at the nodes of their queues."""
        self._store.hierarchy.refresh()
        return self._store.workloads

    @property
    def cohorts(self) -> Mapping[str, CohortNode]:
        """All Cohorts by name, including those without an object, with current sums."""
        self._store.hierarchy.refresh()
        return self._store.hierarchy.cohorts

    @property
    def cluster_queue_nodes(self) -> Mapping[str, ClusterQueueNode]:
        """The nodes of all ClusterQueues by name, with current sums."""
        self._store.hierarchy.refresh()
        return self._store.hierarchy.queues

    @property
    def pending(self) -> Mapping[str, PendingView]:
        """The pending workloads by ClusterQueue."""
        return self._store.pending

    @property
    def flavor_domains(self) -> Mapping[str, FlavorDomains]:
        """The topology domains of flavors with a topology, by flavor."""
        return self._store.topology.flavors

    @property
    def history(self) -> UsageHistory | None:
        """Past usage of LocalQueues, with admission fair sharing."""
        return self._store.history

    def obstacle(self, workload: WorkloadInfo, queue: ClusterQueueInfo) -> Obstacle | None:
        """What keeps a workload from being nominated (SCH-311)."""
        return find_obstacle(self._store, workload, queue)

    # Statuses

    def cluster_queue_status(self, name: str) -> ClusterQueueStatus:
        """The status of a ClusterQueue without its conditions (API-108)."""
        self._store.hierarchy.refresh()
        queue = self._store.queues[name]
        figures = figures_of(queue.holders.values())
        return ClusterQueueStatus(
            pending_workloads=sum(self._store.pending[name].counts),
            reserving_workloads=figures.reserving,
            admitted_workloads=figures.admitted,
            flavors_reservation=queue_usage(queue, figures.reservation),
            flavors_usage=queue_usage(queue, figures.usage),
            fair_sharing=self._share_status(queue.node),
        )

    def local_queue_status(self, key: ObjectKey) -> LocalQueueStatus:
        """The status of a LocalQueue without its conditions (API-112, API-113)."""
        local_queue = self._store.local_queues[key]
        queue = self._store.queues.get(local_queue.cluster_queue)
        members = local_queue.workloads.values()
        figures = figures_of(each for each in members if each.has_quota and queue is not None)
        waiting = sum(1 for each in members if not each.has_quota and each.queue is not None)
        return LocalQueueStatus(
            pending_workloads=waiting,
            reserving_workloads=figures.reserving,
            admitted_workloads=figures.admitted,
            flavors_reservation=local_queue_usage(queue, figures.reservation) if queue else (),
            flavors_usage=local_queue_usage(queue, figures.usage) if queue else (),
            fair_sharing=self._history_status(key),
        )

    def _history_status(self, key: ObjectKey) -> LocalQueueFairSharingStatus | None:
        """SCH-807; a LocalQueue has no share of its own."""
        account = self._store.history.status_of(key) if self._store.history else None
        if account is None:
            return None
        return LocalQueueFairSharingStatus(weighted_share=0, admission_fair_sharing_status=account)

    def cohort_status(self, name: str) -> CohortStatus:
        """The status of a Cohort (API-118)."""
        return CohortStatus(fair_sharing=self._share_status(self.cohorts[name]))

    def _share_status(self, node: HierarchyNode) -> FairSharingStatus | None:
        if self._store.settings.fair is None:
            return None
        return FairSharingStatus(weighted_share=share_of(node).weighted)
