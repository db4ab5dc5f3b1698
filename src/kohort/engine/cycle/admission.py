"""Builds the admission that a decision writes (SCH-351, SCH-503)."""

from msgspec.structs import replace

from kohort.api.amounts import format_amount
from kohort.api.kueue.v1beta2.workload import Admission, PodSetAssignment
from kohort.api.markers import ResourceList
from kohort.engine.assignment import Assignment, PodSetResult
from kohort.engine.records import ClusterQueueInfo


def admission_of(queue: ClusterQueueInfo, assignment: Assignment) -> Admission:
    """The admission of an assignment: only resources that got a flavor (SCH-351)."""
    return Admission(
        cluster_queue=queue.name,
        pod_set_assignments=tuple([_assigned(each) for each in assignment.pod_sets]),
    )


def _assigned(pod_set: PodSetResult) -> PodSetAssignment:
    flavors: dict[str, str] = {}
    usage: ResourceList = {}
    for resource, choice in pod_set.choices.items():
        flavors[resource] = choice.flavor
        usage[resource] = format_amount(resource, pod_set.requests[resource])
    return PodSetAssignment(
        name=pod_set.name,
        count=pod_set.count,
        flavors=flavors,
        resource_usage=usage,
        topology_assignment=pod_set.place,
        delayed_topology_request=pod_set.delayed or None,
    )


def with_topology_assignment(admission: Admission, assignment: Assignment) -> Admission:
    """The admission with the topology assignments of a second pass; the rest is unchanged (SCH-503)."""
    found = {pod_set.name: pod_set for pod_set in assignment.pod_sets}
    return replace(
        admission,
        pod_set_assignments=tuple(
            replace(
                each,
                topology_assignment=found[each.name].place,
                delayed_topology_request=found[each.name].delayed or None,
            )
            if each.name in found
            else each
            for each in admission.pod_set_assignments
        ),
    )
