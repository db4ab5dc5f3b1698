"""Usage of an admitted workload (SCH-134): by its admission, not by its template."""

from collections.abc import Mapping

import msgspec

from kohort.api.amounts import multiply, per_pod
from kohort.api.gates import FeatureGates
from kohort.api.kueue.v1beta2.workload import PodSetAssignment, Workload
from kohort.engine.requests.demand import count_after_reclaim
from kohort.engine.requests.lists import ResourceAmounts, amounts_of


class PodSetUsage(msgspec.Struct, frozen=True):
    """Usage of a pod set by flavor, in internal units."""

    name: str
    count: int
    """Pods that hold quota, without reclaimable ones."""
    flavors: Mapping[str, str]
    """Flavor per resource."""
    amounts: ResourceAmounts
    """All pods together."""


def admitted_usage(workload: Workload, gates: FeatureGates) -> tuple[PodSetUsage, ...]:
    """The usage of each admitted pod set without reclaimable pods; empty without an admission (SCH-134)."""
    admission = workload.status.admission
    if admission is None:
        return ()
    counts = count_after_reclaim(workload, gates)
    full_counts = {pod_set.name: pod_set.count for pod_set in workload.spec.pod_sets}
    return tuple(
        _usage(assignment, full_counts.get(assignment.name, 0), counts.get(assignment.name, 0))
        for assignment in admission.pod_set_assignments
    )


def is_scaled_down(workload: Workload) -> bool:
    """Whether a pod set has fewer pods than were admitted, as after an elastic job's scale-down in place (SCH-1106)."""
    admission = workload.status.admission
    if admission is None:
        return False
    counts = {pod_set.name: pod_set.count for pod_set in workload.spec.pod_sets}
    return any(
        assignment.count is not None and counts.get(assignment.name, 0) < assignment.count
        for assignment in admission.pod_set_assignments
    )


def _usage(assignment: PodSetAssignment, full_count: int, count_after_reclaim: int) -> PodSetUsage:
    """A count above the admitted one is a partial admission, and changes nothing."""
    admitted = full_count if assignment.count is None else assignment.count
    amounts = amounts_of(assignment.resource_usage)
    if count_after_reclaim >= admitted:
        return PodSetUsage(assignment.name, admitted, assignment.flavors, amounts)
    scaled = {name: multiply(per_pod(amount, admitted), count_after_reclaim) for name, amount in amounts.items()}
    return PodSetUsage(assignment.name, count_after_reclaim, assignment.flavors, scaled)
