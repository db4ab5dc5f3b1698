"""Places the pods of an assignment with quota, and sets its mode accordingly (TAS-75 to TAS-79)."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kohort.engine.assignment import Assignment, FitMode
from kohort.engine.placement.flavor_filter import TopologyFilter
from kohort.engine.placement.gangs import GangCache
from kohort.engine.placement.gathering import PodSetGathering
from kohort.engine.placement.reassignment import ReplacementPlacement
from kohort.engine.placement.search import (
    FailedPlacement,
    FoundPlaces,
    PlacementGroup,
    PlacementSearch,
    count_pods,
)
from kohort.engine.records import ClusterQueueInfo, SecondPassReason, WorkloadInfo
from kohort.engine.topology import CapacityMode, DomainCounter
from kohort.engine.usage_request import released

if TYPE_CHECKING:
    from kohort.engine.state.store import EngineStore


class TopologyPlacer:
    """Places pods of workloads in the topologies of their flavors."""

    def __init__(self, store: "EngineStore") -> None:
        self._store = store
        self.filter = TopologyFilter(store.flavors, store.topology)
        self._gangs = GangCache(store.topology)

    def place(self, workload: WorkloadInfo, queue: ClusterQueueInfo, assignment: Assignment) -> None:
        """Place the pods now, or else determine whether they could be placed without others (TAS-75, TAS-76)."""
        if not (workload.requests_topology or self.filter.is_tas_only(queue)) or assignment.mode is FitMode.NO_FIT:
            return
        groups = PodSetGathering(self._store, self.filter, self._gangs, workload, queue).groups(assignment)
        if not groups or any(each.problem for each in assignment.pod_sets):
            return
        search = PlacementSearch(groups, workload.takes_over_from, _former_places(workload, groups))
        assignment.search = search
        if assignment.mode is FitMode.FIT:
            found = search.find()
            if isinstance(found, FoundPlaces):
                _take(assignment, found)
                return
            _refuse(assignment, found, FitMode.PREEMPT)
        if workload.second_pass is not SecondPassReason.REPLACEMENT:
            _place_without_others(assignment, search)

    def reserve(self, assignment: Assignment) -> None:
        """Reserve the placement that its victims leave (TAS-78)."""
        if assignment.search is None or not assignment.targets:
            return
        with released([target.workload for target in assignment.targets]):
            found = assignment.search.find()
        if isinstance(found, FoundPlaces):
            assignment.found = found


def _former_places(workload: WorkloadInfo, groups: Sequence[PlacementGroup]) -> Mapping[DomainCounter, int]:
    """The existing placement: of pods with failed nodes, or of the slice that is replaced (TAS-84)."""
    if workload.takes_over_from is not None:
        return workload.takes_over_from.placed
    former: dict[DomainCounter, int] = {}
    for group in groups:
        if isinstance(group, ReplacementPlacement):
            count_pods(former, group.topology, group.lost.existing, group.request.per_pod)
    return former


def _place_without_others(assignment: Assignment, search: PlacementSearch) -> None:
    """Reserve the placement in the topology as if no workload used anything (TAS-76, TAS-78)."""
    found = search.find(CapacityMode.EMPTY)
    if isinstance(found, FailedPlacement):
        _refuse(assignment, found, FitMode.NO_FIT)
        return
    assignment.found = found
    for result in assignment.pod_sets:
        if result.name in found.domains:
            result.set_mode(FitMode.PREEMPT)


def _take(assignment: Assignment, found: FoundPlaces) -> None:
    assignment.found = found
    for result in assignment.pod_sets:
        result.domains = found.domains.get(result.name)


def _refuse(assignment: Assignment, found: FailedPlacement, mode: FitMode) -> None:
    """The first failing group decides (Q-8)."""
    result = next(each for each in assignment.pod_sets if each.name == found.pod_set)
    result.refuse_places(found.flavor, found.failure, mode)
