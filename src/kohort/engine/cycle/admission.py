"""Builds the admission that a decision writes (SCH-351, SCH-503)."""

from msgspec.structs import replace

from kohort.api.amounts import format_amount
from kohort.api.kueue.slices import compress, compress_by_prefix
from kohort.api.kueue.v1beta2.workload import Admission, PodSetAssignment, TopologyAssignment
from kohort.api.markers import ResourceList
from kohort.engine.assignment import Assignment, PodSetResult
from kohort.engine.cycle.model import CycleRules
from kohort.engine.records import ClusterQueueInfo


def admission_of(queue: ClusterQueueInfo, assignment: Assignment, rules: CycleRules) -> Admission:
    """The admission of an assignment: only resources that got a flavor (SCH-351)."""
    return Admission(
        cluster_queue=queue.name,
        pod_set_assignments=tuple([_assigned(each, rules) for each in assignment.pod_sets]),
    )


def _assigned(pod_set: PodSetResult, rules: CycleRules) -> PodSetAssignment:
    flavors: dict[str, str] = {}
    usage: ResourceList = {}
    for resource, choice in pod_set.choices.items():
        flavors[resource] = choice.flavor
        if resource in pod_set.requests:
            usage[resource] = format_amount(resource, pod_set.requests[resource])
    return PodSetAssignment(
        name=pod_set.name,
        count=pod_set.count,
        flavors=flavors,
        resource_usage=usage,
        topology_assignment=_topology_assignment(pod_set, rules),
        delayed_topology_request=pod_set.delayed or None,
    )


def with_topology_assignment(admission: Admission, assignment: Assignment, rules: CycleRules) -> Admission:
    """The admission with the topology assignments of a second pass; the rest is unchanged (SCH-503)."""
    found = {pod_set.name: pod_set for pod_set in assignment.pod_sets}
    assigned = [_placed(each, found.get(each.name), rules) for each in admission.pod_set_assignments]
    return replace(admission, pod_set_assignments=tuple(assigned))


def _placed(assigned: PodSetAssignment, pod_set: PodSetResult | None, rules: CycleRules) -> PodSetAssignment:
    if pod_set is None or pod_set.domains is None:
        return assigned
    return replace(
        assigned,
        topology_assignment=_topology_assignment(pod_set, rules),
        delayed_topology_request="Ready" if assigned.delayed_topology_request else None,
    )


def _topology_assignment(pod_set: PodSetResult, rules: CycleRules) -> TopologyAssignment | None:
    domains = pod_set.domains
    if domains is None:
        return None
    encode = compress_by_prefix if rules.groups_hostnames else compress
    return encode(domains.levels, domains.domains)
