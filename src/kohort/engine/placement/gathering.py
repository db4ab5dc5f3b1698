"""Groups the pod sets of an assignment that request placement (TAS-37 to TAS-42)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from kohort.api.gates import Gate
from kohort.api.kueue.v1beta2.workload import PodSetAssignment, TopologyAssignment, WorkloadStatus
from kohort.engine.assignment import Assignment, PodSetResult
from kohort.engine.lifecycle.eviction import is_bound_to_pod
from kohort.engine.placement.delays import is_delayed
from kohort.engine.placement.flavor_filter import NOT_KNOWN, TopologyFilter
from kohort.engine.placement.gangs import GangCache, gang_of
from kohort.engine.placement.groups import (
    GangPlacement,
    LostPods,
    PodsToPlace,
    elastic_problem,
    group_problem,
    placement_request,
    updated_spec,
)
from kohort.engine.placement.places import domains_of
from kohort.engine.placement.reassignment import (
    ElasticPlacement,
    ReplacementPlacement,
    previous_placement,
)
from kohort.engine.placement.search import PlacementGroup
from kohort.engine.records import ClusterQueueInfo, PodSetResources, WorkloadInfo
from kohort.engine.requests.demand import is_elastic
from kohort.engine.topology import FailedNode, kept_pods

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
        self,
        store: "EngineStore",
        rules: TopologyFilter,
        gangs: GangCache,
        workload: WorkloadInfo,
        queue: ClusterQueueInfo,
    ) -> None:
        self._store = store
        self._rules = rules
        self._gangs = gangs
        self._workload = workload
        self._queue = queue
        gates = store.settings.gates
        status = workload.object.status if workload.object is not None else WorkloadStatus()
        self._checks = status.admission_checks
        self._assigned = _assigned(workload) if workload.has_quota else {}
        is_fixed = workload.object is not None and is_bound_to_pod(workload.object, gates)
        failed = () if is_fixed else status.unhealthy_nodes
        self._failed = tuple([FailedNode(node.name, store.topology.hostname(node.name)) for node in failed])
        """Nodes that must be replaced; the pod of a single-Pod workload can't be reassigned (TAS-111)."""
        changes_size = gates.enabled(Gate.ElasticJobsViaWorkloadSlicesWithTAS)
        self._is_elastic = changes_size and workload.object is not None and is_elastic(workload.object, gates)
        self._slice = workload.takes_over_from if changes_size else None

    def groups(self, assignment: Assignment) -> tuple[PlacementGroup, ...]:
        """Groups in the order of their flavors, in each flavor in that of the pod sets (TAS-41)."""
        results = {each.name: each for each in assignment.pod_sets}
        members: dict[GroupKey, list[PodsToPlace]] = {}
        for pod_set in self._workload.pod_sets:
            result = results.get(pod_set.name)
            if result is not None and result.count > 0 and self._rules.is_placed(pod_set, self._queue):
                self._add(members, pod_set, result)
        found = [
            self._group(key.flavor, each, results)
            for key, each in sorted(members.items(), key=lambda item: item[0].flavor)
        ]
        return tuple([group for group in found if group is not None])

    def _add(self, members: dict[GroupKey, list[PodsToPlace]], pod_set: PodSetResources, result: PodSetResult) -> None:
        assigned = self._assigned.get(pod_set.name)
        existing = assigned.topology_assignment if assigned is not None else None
        lost = self._lost(existing) if existing is not None else None
        if existing is not None and lost is None:
            return
        flavor, problem = self._rules.only_flavor(choice.flavor for choice in result.choices.values())
        if self._is_elastic:
            problem = elastic_problem(pod_set.topology) or problem
        if not problem and self._is_delayed(flavor):
            result.delayed = "Pending"
            return
        spec = problem or updated_spec(pod_set, self._checks)
        if isinstance(spec, str):
            result.problem = spec
            return
        group = "" if lost is not None else pod_set.group
        key = GroupKey(flavor, group, "" if group else pod_set.name)
        members.setdefault(key, []).append(PodsToPlace(pod_set, result.count, spec, lost))

    def _lost(self, existing: TopologyAssignment) -> LostPods | None:
        """The failed nodes of an assignment (TAS-39)."""
        if not self._failed:
            return None
        domains = domains_of(existing)
        hosts = {domain.values[-1] for domain in domains.domains}
        nodes = tuple([node for node in self._failed if node.hostname in hosts])
        return LostPods(domains, nodes) if nodes else None

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
        tolerations, lost = self._store.flavors[flavor].tolerations, members[0].lost
        if lost is not None:
            return ReplacementPlacement(topology, placement_request(members, tolerations), lost)
        if self._slice is not None:
            return _resized(gang_of(topology, members, tolerations), self._slice)
        return (
            self._gangs.gang(topology, members[0], tolerations)
            if len(members) == 1
            else gang_of(topology, members, tolerations)
        )


def _resized(gang: GangPlacement, replaced: WorkloadInfo) -> PlacementGroup:
    """The gang of a slice, beside what stays of the replaced one."""
    previous = previous_placement(gang.request, _assigned(replaced))
    kept = kept_pods(gang.topology, gang.request, previous)
    return gang if kept is None else ElasticPlacement(gang.topology, gang.request, gang.prepared, kept=kept)


def _assigned(workload: WorkloadInfo) -> Mapping[str, PodSetAssignment]:
    """The assignments of a holder's pod sets."""
    admission = workload.object.status.admission if workload.object is not None else None
    return {each.name: each for each in admission.pod_set_assignments} if admission is not None else {}
