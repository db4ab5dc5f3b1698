"""Gathers the pod sets of an assignment that look for places into groups (TAS-37 to TAS-42)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from kohort.api.kueue.v1beta2.workload import PodSetAssignment
from kohort.engine.assignment import Assignment, PodSetResult
from kohort.engine.placement.delays import is_delayed
from kohort.engine.placement.flavor_filter import NOT_KNOWN, TopologyFilter
from kohort.engine.placement.groups import GangPlacement, PodsToPlace, group_problem, matcher_of, placement_request
from kohort.engine.placement.search import PlacementGroup
from kohort.engine.records import ClusterQueueInfo, PodSetResources, WorkloadInfo
from kohort.engine.topology import NodeMatcher

if TYPE_CHECKING:
    from kohort.engine.state.store import EngineStore


class GroupKey(msgspec.Struct, frozen=True):
    """A pod set group, or a pod set alone, in a flavor."""

    flavor: str
    group: str
    pod_set: str


class PodSetGathering:
    """The pod sets of one assignment; problems and delays are set on their results."""

    def __init__(
        self, store: "EngineStore", rules: TopologyFilter, workload: WorkloadInfo, queue: ClusterQueueInfo
    ) -> None:
        self._store = store
        self._rules = rules
        self._workload = workload
        self._queue = queue
        status = workload.object.status if workload.object is not None else None
        self._checks = status.admission_checks if status is not None else ()
        self._assigned = _assigned(workload)

    def groups(self, assignment: Assignment) -> tuple[PlacementGroup, ...]:
        """Groups in the order of their flavors, in each flavor in that of the pod sets (TAS-41)."""
        results = {each.name: each for each in assignment.pod_sets}
        gangs: dict[GroupKey, list[PodsToPlace]] = {}
        for pod_set in self._workload.pod_sets:
            result = results.get(pod_set.name)
            if result is not None and self._looks_for_places(pod_set, result):
                self._add(gangs, pod_set, result)
        found = [
            self._group(key.flavor, members, results)
            for key, members in sorted(gangs.items(), key=lambda item: item[0].flavor)
        ]
        return tuple([group for group in found if group is not None])

    def _looks_for_places(self, pod_set: PodSetResources, result: PodSetResult) -> bool:
        """TAS-34, TAS-35, TAS-39."""
        return result.count > 0 and self._rules.is_placed(pod_set, self._queue)

    def _add(self, gangs: dict[GroupKey, list[PodsToPlace]], pod_set: PodSetResources, result: PodSetResult) -> None:
        flavor, problem = self._rules.only_flavor(choice.flavor for choice in result.choices.values())
        if problem:
            result.problem = problem
        elif self._is_delayed(flavor):
            result.delayed = "Pending"
        else:
            matcher = matcher_of(pod_set, self._store.flavors[flavor].tolerations, self._checks)
            if isinstance(matcher, NodeMatcher):
                key = GroupKey(flavor, pod_set.group, "" if pod_set.group else pod_set.name)
                gangs.setdefault(key, []).append(PodsToPlace(pod_set, result.count, matcher))
            else:
                result.problem = matcher

    def _is_delayed(self, flavor: str) -> bool:
        queue = self._store.cluster_queue_objects[self._queue.name]
        return is_delayed(queue, self._store.checks, flavor, is_reserved=self._workload.has_quota)

    def _group(
        self, flavor: str, members: list[PodsToPlace], results: Mapping[str, PodSetResult]
    ) -> PlacementGroup | None:
        topology = self._store.topology.flavor(flavor)
        problem = NOT_KNOWN if topology is None else group_problem(members)
        if topology is None or problem:
            results[members[0].pod_set.name].problem = problem
            return None
        return GangPlacement(topology, placement_request(members))


def _assigned(workload: WorkloadInfo) -> Mapping[str, PodSetAssignment]:
    """What the pod sets of a holder were assigned."""
    admission = workload.object.status.admission if workload.has_quota and workload.object is not None else None
    return {each.name: each for each in admission.pod_set_assignments} if admission is not None else {}
