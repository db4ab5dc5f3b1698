"""Which flavors a pod set may use by its topology request (TAS-34 to TAS-36)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from kohort.api.kueue.v1beta2.workload import TopologyRequest
from kohort.engine.records import ClusterQueueInfo, Flavor, PodSetResources
from kohort.engine.requests.demand import PODS
from kohort.engine.topology import TopologyStore

NO_FLAVOR: Final = "no TAS flavor assigned"
NOT_KNOWN: Final = "workload requires Topology, but there is no TAS cache information"


class TopologyFilter:
    """Tests flavors of ClusterQueues."""

    def __init__(self, flavors: Mapping[str, Flavor], topologies: TopologyStore) -> None:
        self._flavors = flavors
        self._topologies = topologies

    def is_placed(self, pod_set: PodSetResources, queue: ClusterQueueInfo) -> bool:
        """Whether the pods are placed in a topology: by request, or as all flavors of the queue have one (TAS-35)."""
        return pod_set.topology is not None or self.is_tas_only(queue)

    def is_tas_only(self, queue: ClusterQueueInfo) -> bool:
        """Whether all flavors of the queue have topologies; a queue without flavors does not count (Q-5)."""
        if not self._topologies:
            return False
        names = [name for group in queue.groups for name in group.flavors]
        return bool(names) and all(name in self._flavors and self._flavors[name].topology for name in names)

    def problem(
        self, flavor: Flavor, covered: Iterable[str], pod_sets: Sequence[PodSetResources], queue: ClusterQueueInfo
    ) -> str:
        """Why pod sets can't use a flavor for the covered resources; empty when they can (TAS-36)."""
        for pod_set in pod_sets:
            problem = self._problem(flavor, covered, pod_set, queue)
            if problem:
                return problem
        return ""

    def _problem(
        self, flavor: Flavor, covered: Iterable[str], pod_set: PodSetResources, queue: ClusterQueueInfo
    ) -> str:
        request = pod_set.topology
        if request is not None:
            return self._problem_of_request(flavor, covered, pod_set, request)
        if flavor.topology and not self.is_tas_only(queue):
            return f'Flavor "{flavor.name}" supports only TopologyAwareScheduling'
        return ""

    def _problem_of_request(
        self, flavor: Flavor, covered: Iterable[str], pod_set: PodSetResources, request: TopologyRequest
    ) -> str:
        if not flavor.topology:
            asked = pod_set.one_pod.keys() - {PODS}
            is_needed = not asked.isdisjoint(covered)
            return f'Flavor "{flavor.name}" does not support TopologyAwareScheduling' if is_needed else ""
        topology = self._topologies.flavor(flavor.name)
        if topology is None:
            return f'Flavor "{flavor.name}" information missing in TAS cache'
        missing = [level for level in levels_of(request) if level not in topology.levels]
        if missing:
            requested = f"(requested: {', '.join(missing)}; {topology.levels_text})"
            return f'Flavor "{flavor.name}" does not contain the requested level {requested}'
        return ""

    def only_flavor(self, names: Iterable[str]) -> tuple[str, str]:
        """The one TAS flavor among those that a pod set got, or what is wrong with them (TAS-37)."""
        found = sorted({name for name in names if name in self._flavors and self._flavors[name].topology})
        if len(found) == 1:
            return found[0], ""
        return "", f"more than one TAS flavor assigned: {', '.join(found)}" if found else NO_FLAVOR


def levels_of(request: TopologyRequest) -> list[str]:
    """All levels that a request names, each once."""
    named = (request.required, request.preferred, request.pod_set_slice_required_topology)
    layers = [each.topology for each in request.slice_constraints]
    return list(dict.fromkeys([*(name for name in named if name), *layers]))
