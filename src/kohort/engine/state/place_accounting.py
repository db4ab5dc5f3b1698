"""Tracks the usage of topology domains by workloads that hold quota (TAS-29, TAS-84)."""

from collections.abc import Mapping, Set

from kohort.api.kueue.v1beta2.workload import Admission
from kohort.engine.placement.places import places_of
from kohort.engine.records import NO_PLACES, ClusterQueueInfo, WorkloadInfo
from kohort.engine.state.store import EngineStore
from kohort.engine.state.unblocking import Unblocking
from kohort.engine.topology import DomainCounter


class PlaceTracker:
    """Counts the pods of holders in topology domains."""

    def __init__(self, store: EngineStore, unblocking: Unblocking) -> None:
        self._store = store
        self._unblocking = unblocking

    def observe(
        self, workload: WorkloadInfo, observed: Admission | None, *, is_known: bool
    ) -> Mapping[DomainCounter, int]:
        """Count the placement in a holder's object; an assumed one counts until it is observed."""
        decided = self._store.placed_ahead.get(workload.key)
        if decided is None:
            return workload.placed if is_known else self._places_by(workload, observed)
        if decided == observed:
            del self._store.placed_ahead[workload.key]
        return self._places_by(workload, decided)

    def decide(self, workload: WorkloadInfo, admission: Admission) -> None:
        """Assume the placement of a holder by a second pass (TAS-84)."""
        self._store.placed_ahead[workload.key] = workload.admission = admission
        self._recount(workload)

    def revoke(self, workload: WorkloadInfo) -> None:
        """Drop an assumed placement that can't be written; that of the object counts again (SCH-271)."""
        self._store.placed_ahead.pop(workload.key, None)
        workload.admission = None
        self._recount(workload)

    def forget(self, workload: WorkloadInfo) -> None:
        """Stop counting a workload that holds no quota any more."""
        workload.placed = NO_PLACES
        self._store.placed_ahead.pop(workload.key, None)

    def recount(self, flavors: Set[str]) -> None:
        """Count the pods of some flavors again, whose topologies came, changed or went (TAS-4, TAS-7)."""
        for queue in self._store.queues.values():
            if not flavors.isdisjoint(name for group in queue.groups for name in group.flavors):
                for workload in queue.holders.values():
                    self._recount(workload)

    def move(self, workload: WorkloadInfo, queue: ClusterQueueInfo, places: Mapping[DomainCounter, int]) -> None:
        """Replace the counted placement of a holder."""
        if places != workload.placed:
            self._unblocking.unblock_places(workload)
            queue.move_pods(workload, places)

    def _recount(self, workload: WorkloadInfo) -> None:
        admission = self._store.placed_ahead.get(workload.key) or workload.admission
        if admission is None and workload.object is not None:
            admission = workload.object.status.admission
        if workload.queue is not None:
            self.move(workload, workload.queue, self._places_by(workload, admission))

    def _places_by(self, workload: WorkloadInfo, admission: Admission | None) -> Mapping[DomainCounter, int]:
        return places_of(admission, workload.pod_sets, self._store.topology) if admission else NO_PLACES
