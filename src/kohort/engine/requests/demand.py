"""Requests of the pod sets of a pending workload (SCH-130 to SCH-136): those of a pod times the number of pods."""

from collections.abc import Mapping, Set
from functools import lru_cache
from types import MappingProxyType
from typing import Final

import msgspec

from kohort.api.amounts import add, format_amount, multiply
from kohort.api.gates import FeatureGates, Gate
from kohort.api.kueue.keys import ELASTIC_JOB_ANNOTATION
from kohort.api.kueue.v1beta2.workload import PodSet, PodSetRequest, TopologyRequest, Workload
from kohort.engine.requests.environment import Environment
from kohort.engine.requests.lists import ResourceAmounts, amounts_from
from kohort.engine.requests.rules import RequestRules
from kohort.engine.requests.template_requests import REMEMBERED_TEMPLATES, TemplateRequests, read_template

PODS: Final = "pods"
"""The resource by which pods themselves are counted."""
NO_DEVICES: Mapping[str, ResourceAmounts] = MappingProxyType({})


class PodSetDemand(msgspec.Struct, frozen=True):
    """Identical pods and the requests of each, in internal units and ascending order of resources.

    The resource `pods` is not among them: the assigner adds it for queues that cover it (SCH-135).
    """

    name: str
    count: int
    """Pods that need quota, without reclaimable ones (SCH-133)."""
    spec_count: int
    """Pods of the whole set, from which partial admission counts down (SCH-561)."""
    min_count: int | None
    per_pod: ResourceAmounts

    @property
    def total(self) -> dict[str, int]:
        """Requests of all pods that need quota (SCH-133)."""
        return self.total_of(self.count)

    def total_of(self, count: int) -> dict[str, int]:
        """Requests of that number of pods; each amount is a multiple of the count (SCH-137) unless it is too large."""
        return {name: multiply(amount, count) for name, amount in self.per_pod.items()}


def demands(
    workload: Workload,
    rules: RequestRules,
    environment: Environment,
    gates: FeatureGates,
    devices: Mapping[str, ResourceAmounts] = NO_DEVICES,
) -> tuple[PodSetDemand, ...]:
    """The requests of each pod set while the workload is pending (SCH-110..133).

    `devices` are the counted device claims per pod set and pod, in internal units (SCH-132).
    Raises an ApiError for a template that can't be read; `resource_problem` has the message for users.
    """
    counts = count_after_reclaim(workload, gates)
    shrinks = not is_elastic(workload, gates)
    return tuple(
        [
            PodSetDemand(
                pod_set.name,
                counts[pod_set.name],
                pod_set.count,
                pod_set.min_count if shrinks else None,
                _with_devices(per_pod_demand(pod_set, rules, environment), devices.get(pod_set.name)),
            )
            for pod_set in workload.spec.pod_sets
        ]
    )


def is_elastic(workload: Workload, gates: FeatureGates) -> bool:
    """Whether the workload is a slice of a job that grows and shrinks, never admitted in part (SCH-1105)."""
    annotations = workload.metadata.annotations
    return (
        bool(annotations)
        and annotations.get(ELASTIC_JOB_ANNOTATION) == "true"
        and gates.enabled(Gate.ElasticJobsViaWorkloadSlices)
    )


def count_after_reclaim(workload: Workload, gates: FeatureGates) -> dict[str, int]:
    """Pods of each pod set that still need quota (SCH-133)."""
    counts = {pod_set.name: pod_set.count for pod_set in workload.spec.pod_sets}
    if workload.status.reclaimable_pods and gates.enabled(Gate.ReclaimablePods):
        for reclaimable in workload.status.reclaimable_pods:
            if reclaimable.name in counts:
                counts[reclaimable.name] -= min(reclaimable.count, counts[reclaimable.name])
    return counts


def per_pod_demand(pod_set: PodSet, rules: RequestRules, environment: Environment) -> ResourceAmounts:
    """The request of one pod of the set while pending, without devices (SCH-110..131)."""
    return _counted(read_template(pod_set.asking, environment), rules)


def one_pod(pod_set: PodSet, environment: Environment) -> ResourceAmounts:
    """The request of one pod of the set to its node, independent of what counts as quota (TAS-29)."""
    return _on_node(read_template(pod_set.asking, environment))


def topology_requested(pod_set: PodSet) -> TopologyRequest | None:
    """The topology request of a pod set; None where it has only labels for indexes (TAS-34, Q-2)."""
    request = pod_set.topology_request
    if request is None:
        return None
    is_explicit = (
        request.unconstrained
        or request.required
        or request.preferred
        or request.pod_set_slice_required_topology
        or request.pod_set_slice_size
        or request.slice_constraints
    )
    return request if is_explicit else None


def resource_requests(
    demanded: tuple[PodSetDemand, ...], byte_valued: Set[str] = frozenset()
) -> tuple[PodSetRequest, ...]:
    """The totals as `status.resourceRequests` shows them while the workload is pending (SCH-136, SCH-104)."""
    return tuple(
        PodSetRequest(
            name=demand.name,
            resources={name: format_amount(name, amount, byte_valued) for name, amount in demand.total.items()},
        )
        for demand in demanded
    )


@lru_cache(maxsize=REMEMBERED_TEMPLATES)
def _counted(reading: TemplateRequests, rules: RequestRules) -> ResourceAmounts:
    return MappingProxyType(rules.per_pod(reading.request))


@lru_cache(maxsize=REMEMBERED_TEMPLATES)
def _on_node(reading: TemplateRequests) -> ResourceAmounts:
    return MappingProxyType({**amounts_from(reading.request), PODS: 1})


def _with_devices(per_pod: ResourceAmounts, devices: ResourceAmounts | None) -> ResourceAmounts:
    if not devices:
        return per_pod
    names = sorted({*per_pod, *devices})
    return MappingProxyType({name: add(per_pod.get(name, 0), devices.get(name, 0)) for name in names})
