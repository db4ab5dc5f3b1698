"""Workload, version v1beta1."""

from typing import Annotated, Any, ClassVar, Literal

import msgspec

from kohort.api.kinds import CustomObject, KindInfo
from kohort.api.kueue.v1beta1.info import like
from kohort.api.kueue.v1beta1.queues import ConditionList
from kohort.api.kueue.v1beta2 import workload as v2
from kohort.api.markers import (
    ATOMIC,
    Bounds,
    Default,
    Int32,
    NoSchemaDefault,
    Required,
    Subdomain,
    keyed,
)
from kohort.api.rules import Rule
from kohort.api.struct import Struct

POD_PRIORITY_CLASS = "scheduling.k8s.io/priorityclass"
WORKLOAD_PRIORITY_CLASS = "kueue.x-k8s.io/workloadpriorityclass"


class TopologyRequest(Struct):
    """Topology request of a pod set."""

    required: str | None = None
    """Level at which all pods must be in one domain."""
    preferred: str | None = None
    """Level at which the pods should be in one domain, if possible."""
    unconstrained: bool | None = None
    """Any nodes, provided that they have capacity for all pods at once."""
    pod_index_label: str | None = None
    """Pod label with the index of the pod in the set."""
    sub_group_index_label: str | None = None
    """Pod label with the index of the pod's group, if the set consists of equal groups."""
    sub_group_count: Int32 | None = None
    """Number of equal groups in the set."""
    pod_set_group_name: str | None = None
    """Pod sets of the same group get one flavor and one domain."""
    pod_set_slice_required_topology: str | None = None
    """Level at which each slice must be in one domain."""
    pod_set_slice_size: Int32 | None = None
    """Pods per slice."""


class PodSet(v2.PodSet, kw_only=True):
    """Pods with the same template."""

    topology_request: TopologyRequest | None = None  # type: ignore[assignment]
    """Topology request of the pods."""


class WorkloadSpec(v2.WorkloadDemand):
    """Pods, queue and priority of a workload."""

    pod_sets: Annotated[
        tuple[Annotated[PodSet, ATOMIC], ...], keyed("name"), Bounds(min_items=1, max_items=18), Required()
    ] = ()
    """The pod sets."""
    priority_class_name: Subdomain | None = None
    """The priority class."""
    priority_class_source: Annotated[
        Literal["kueue.x-k8s.io/workloadpriorityclass", "scheduling.k8s.io/priorityclass", ""], Default("")
    ] = ""
    """Kind of the priority class."""

    schema_rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "API-76",
            "!has(self.priorityClassName) || has(self.priority)",
            "priorityClassName needs priority to be set",
            lambda spec, _old: "priorityClassName" not in spec or "priority" in spec,
        ),
    )


class TopologyDomain(Struct):
    """Pods in one domain."""

    values: Annotated[tuple[str, ...], ATOMIC, Bounds(min_items=1, max_items=16)]
    """Names of the domain, one per level."""
    count: Annotated[Int32, Bounds(minimum=1)]
    """Number of pods."""


class TopologyAssignment(Struct):
    """The domains assigned to the pods of a set."""

    levels: Annotated[tuple[str, ...], ATOMIC, Bounds(min_items=1, max_items=16)]
    """Node labels of the levels, the widest first."""
    domains: Annotated[tuple[TopologyDomain, ...], ATOMIC, Required()] = ()
    """The domains with their numbers of pods."""


class PodSetAssignment(v2.PodSetAssignment):
    """The assignment of a pod set."""

    topology_assignment: TopologyAssignment | None = None  # type: ignore[assignment]
    """Topology assignment of the pods."""
    delayed_topology_request: str | None = None
    """Pending while the topology assignment waits for an admission check."""


class Admission(Struct):
    """The quota reservation of a workload."""

    cluster_queue: Annotated[Subdomain, Required()] = ""
    """ClusterQueue of the reservation."""
    pod_set_assignments: Annotated[tuple[PodSetAssignment, ...], keyed("name"), Bounds(max_items=18), Required()] = ()
    """One per pod set."""


class AdmissionCheckState(v2.AdmissionCheckState):
    """State of one admission check."""

    name: Annotated[str, Bounds(max_length=316)]
    """Name of the AdmissionCheck."""


class SchedulingStats(Struct):
    """Scheduling statistics of the workload."""

    evictions: Annotated[tuple[v2.EvictionCount, ...], keyed("reason", "underlyingCause")] = ()
    """Evictions by reason."""


class UnhealthyNode(Struct):
    """A failed node of the assignment."""

    name: str
    """Name of the node."""


class WorkloadStatus(v2.WorkloadProgress):
    """State of the workload."""

    conditions: ConditionList = ()
    """QuotaReserved, Admitted, Evicted, Finished and others."""
    admission: Admission | None = None
    """The quota reservation; absent while the workload is pending."""
    admission_checks: Annotated[tuple[AdmissionCheckState, ...], keyed("name"), Bounds(max_items=8)] = ()
    """States of the admission checks."""
    accumulated_past_execution_time_seconds: Int32 | None = msgspec.field(
        default=None, name="accumulatedPastExexcutionTimeSeconds"
    )
    """Execution time before the current admission (the name is misspelled upstream)."""
    scheduling_stats: SchedulingStats | None = None
    """Scheduling statistics of the workload."""
    nominated_cluster_names: Annotated[tuple[str, ...], ATOMIC, Bounds(max_items=20)] = ()
    """Worker clusters that were nominated for the workload."""
    cluster_name: str | None = None
    """Worker cluster that the workload was assigned to."""
    unhealthy_nodes: tuple[UnhealthyNode, ...] = ()
    """Failed nodes of the assignment."""


def _source(workload: Any) -> Any:
    return workload.get("spec", {}).get("priorityClassSource")


def _name(workload: Any) -> Any:
    return workload.get("spec", {}).get("priorityClassName")


def _source_is_fixed(new: Any, old: Any) -> bool:
    return _source(new) is None or _source(old) is None or bool(_source(new) == _source(old))


def _pod_class_name_is_fixed(new: Any, old: Any) -> bool:
    if _source(new) == WORKLOAD_PRIORITY_CLASS or _name(new) is None or _name(old) is None:
        return True
    return bool(_name(new) == _name(old))


class Workload(CustomObject):
    """The scheduling unit of a job: its pods, its queue, its priority, and its state."""

    info: ClassVar[KindInfo] = like(v2.Workload)

    spec: Annotated[WorkloadSpec, NoSchemaDefault()] = WorkloadSpec()
    """Pods, queue and priority."""
    status: Annotated[WorkloadStatus, NoSchemaDefault()] = WorkloadStatus()
    """State of the workload."""

    schema_rules: ClassVar[tuple[Rule, ...]] = (
        v2.ASSIGNS_EVERY_POD_SET,
        Rule(
            "API-76",
            v2.while_reserved_cel(
                "!has(self.spec.priorityClassSource) || !has(oldSelf.spec.priorityClassSource)"
                " || self.spec.priorityClassSource == oldSelf.spec.priorityClassSource"
            ),
            "priorityClassSource can't be changed while quota is reserved",
            v2.when_reserved(_source_is_fixed),
        ),
        Rule(
            "API-76",
            v2.while_reserved_cel(
                f"(has(self.spec.priorityClassSource) && self.spec.priorityClassSource == '{WORKLOAD_PRIORITY_CLASS}')"
                " || !has(self.spec.priorityClassName) || !has(oldSelf.spec.priorityClassName)"
                " || self.spec.priorityClassName == oldSelf.spec.priorityClassName"
            ),
            "priorityClassName can't be changed while quota is reserved, except for a WorkloadPriorityClass",
            v2.when_reserved(_pod_class_name_is_fixed),
        ),
        v2.QUEUE_NAME_IS_FIXED,
        v2.EXECUTION_TIME_IS_FIXED,
    )
