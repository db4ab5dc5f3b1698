"""The placement of admitted pods: usage of topology domains by assignments (TAS-29, TAS-30)."""

from collections.abc import Mapping, Sequence

from kohort.api.errors import ConversionError
from kohort.api.kueue.slices import expand
from kohort.api.kueue.v1beta2.workload import Admission, TopologyAssignment
from kohort.engine.records import NO_PLACES, PodSetResources
from kohort.engine.topology import DomainCounter, TopologyDomains, TopologyStore


def places_of(
    admission: Admission, pod_sets: Sequence[PodSetResources], topologies: TopologyStore
) -> Mapping[DomainCounter, int]:
    """Counters of all pods with a topology assignment; a flavor without a Topology counts none."""
    placed = [each for each in admission.pod_set_assignments if each.topology_assignment is not None]
    if not placed:
        return NO_PLACES
    one_pod = {each.name: each.one_pod for each in pod_sets}
    counters: dict[DomainCounter, int] = {}
    for each in placed:
        for flavor in dict.fromkeys(each.flavors.values()):
            topology = topologies.flavor(flavor)
            if topology is None or each.topology_assignment is None or each.name not in one_pod:
                continue
            for values, pods in domains_of(each.topology_assignment).domains:
                counter = topology.counter(values, one_pod[each.name])
                counters[counter] = counters.get(counter, 0) + pods
    return counters


def domains_of(assignment: TopologyAssignment) -> TopologyDomains:
    """The domains of a written assignment; none for an invalid one, which no pod can follow."""
    try:
        domains = tuple(expand(assignment))
    except ConversionError:
        domains = ()
    is_complete = all(len(each.values) == len(assignment.levels) > 0 for each in domains)
    return TopologyDomains(assignment.levels, domains if is_complete else ())
