"""Builds the engine's records from API objects when these change, never during a cycle."""

from collections.abc import Iterable, Mapping, Set
from datetime import datetime, timedelta

import msgspec

from kohort.api.amounts import to_quota
from kohort.api.codec import to_json
from kohort.api.conditions import find
from kohort.api.gates import FeatureGates, Gate
from kohort.api.kueue import v1beta2
from kohort.api.kueue.keys import (
    ADMISSION_GATED_BY_ANNOTATION,
    ALLOWED_FLAVORS_ANNOTATION,
    CONCURRENT_ADMISSION_PARENT_LABEL,
    PRIORITY_BOOST_ANNOTATION,
    SLICE_REPLACEMENT_ANNOTATION,
)
from kohort.api.kueue.v1beta2.queues import ClusterQueueSpec, FairSharing, ResourceGroup
from kohort.api.kueue.validation.workload import priority_boost
from kohort.api.meta import Condition, ObjectKey
from kohort.api.quantity import NANO, Quantity
from kohort.api.taints import BLOCKING_EFFECTS
from kohort.engine.quota import FlavorResource, Quota
from kohort.engine.records import NO_END, Flavor, FlavorGroup, QueuePolicies
from kohort.engine.settings import EngineSettings

EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")


def flavor_of(flavor: v1beta2.ResourceFlavor, gates: FeatureGates) -> Flavor:
    """The taints and labels that a pod must tolerate and match to use the flavor."""
    spec = flavor.spec
    taints = tuple(taint for taint in spec.node_taints if taint.effect in BLOCKING_EFFECTS)
    topology = (spec.topology_name or "") if gates.enabled(Gate.TopologyAwareScheduling) else ""
    return Flavor(flavor.metadata.name, spec.node_labels, taints, spec.tolerations, topology)


def quotas_of(groups: Iterable[ResourceGroup]) -> dict[FlavorResource, Quota]:
    """Quotas in internal units (SCH-103)."""
    return {
        FlavorResource(flavor.name, quota.name): Quota(
            to_quota(quota.name, quota.nominal_quota),
            None if quota.borrowing_limit is None else to_quota(quota.name, quota.borrowing_limit),
            None if quota.lending_limit is None else to_quota(quota.name, quota.lending_limit),
        )
        for group in groups
        for flavor in group.flavors
        for quota in flavor.resources
    }


def weight_of(fair_sharing: FairSharing | None) -> float:
    """The fair-sharing weight, by default 1 (SCH-703)."""
    return 1.0 if fair_sharing is None else Quantity.parse(fair_sharing.weight).nanos / NANO


def groups_of(groups: Iterable[ResourceGroup]) -> tuple[FlavorGroup, ...]:
    """The resource groups with their flavors in order."""
    return tuple(
        FlavorGroup(group.covered_resources, tuple(flavor.name for flavor in group.flavors)) for group in groups
    )


def policies_of(spec: ClusterQueueSpec) -> QueuePolicies:
    """Fungibility and preemption policies of a ClusterQueue (SCH-532)."""
    fungibility, preemption = spec.flavor_fungibility, spec.preemption
    return QueuePolicies(
        is_strict=spec.queueing_strategy == "StrictFIFO",
        tries_next_when_borrowing=fungibility.when_can_borrow == "TryNextFlavor",
        tries_next_when_preempting=fungibility.when_can_preempt == "TryNextFlavor",
        prefers_preemption=fungibility.preference == "PreemptionOverBorrowing",
        within_queue=preemption.within_cluster_queue,
        reclaim=preemption.reclaim_within_cohort,
        borrow_policy=preemption.borrow_within_cohort.policy,
        borrow_threshold=preemption.borrow_within_cohort.max_priority_threshold,
    )


def effective_priority(workload: v1beta2.Workload, gates: FeatureGates) -> int:
    """Base priority and boost (SCH-210), the only cost of a preemption (SCH-640)."""
    base, annotations = workload.spec.priority or 0, workload.metadata.annotations
    if not annotations or not gates.enabled(Gate.PriorityBoost):
        return base
    return base + (priority_boost(annotations) or 0)


class WorkloadConditions(msgspec.Struct, frozen=True):
    """The conditions of a workload, indexed once for all checks of a new object."""

    by_type: Mapping[str, Condition]
    true: Set[str]
    """Types of the conditions that are True."""


NO_CONDITIONS = WorkloadConditions({}, frozenset())


def conditions_of(workload: v1beta2.Workload) -> WorkloadConditions:
    """All conditions of the object."""
    conditions = workload.status.conditions
    if not conditions:
        return NO_CONDITIONS
    by_type, true = {}, set()
    for each in conditions:
        by_type[each.type] = each
        if each.status == "True":
            true.add(each.type)
    return WorkloadConditions(by_type, true)


def queue_timestamp(workload: v1beta2.Workload, conditions: WorkloadConditions, settings: EngineSettings) -> datetime:
    """The timestamp by which pending workloads are ordered (SCH-211)."""
    if "Evicted" in conditions.true:
        evicted = conditions.by_type["Evicted"]
        if evicted.reason == "PodsReadyTimeout" and settings.eviction_timestamps:
            return evicted.last_transition_time
        if evicted.reason == "AdmissionCheck":
            return evicted.last_transition_time
    if "Preempted" in conditions.true and not settings.gates.enabled(Gate.PrioritySortingWithinCohort):
        preempted = conditions.by_type["Preempted"]
        if preempted.reason == "InCohortReclaimWhileBorrowing":
            return preempted.last_transition_time + timedelta(milliseconds=1)
    return workload.metadata.creation_timestamp or EPOCH


def backoff_until(workload: v1beta2.Workload, conditions: WorkloadConditions) -> datetime | None:
    """When the workload's backoff ends (SCH-223)."""
    requeued = conditions.by_type.get("Requeued")
    if requeued is not None and requeued.status == "False":
        return NO_END
    return workload.status.requeue_state.requeue_at if workload.status.requeue_state else None


def is_over(workload: v1beta2.Workload, conditions: WorkloadConditions) -> bool:
    """Whether the workload is finished or inactive."""
    return "Finished" in conditions.true or not workload.spec.active


def holds_quota(workload: v1beta2.Workload, conditions: WorkloadConditions) -> bool:
    """Whether the workload has an active reservation (SCH-420); a parent's is that of its variant (SCH-1110)."""
    reserved = "QuotaReserved" in conditions.true and workload.status.admission is not None
    return reserved and not is_over(workload, conditions) and not is_parent(workload)


def is_parent(workload: v1beta2.Workload) -> bool:
    """Whether the workload has variants; it is never queued nor counted itself (SCH-204, SCH-1110)."""
    return workload.metadata.labels.get(CONCURRENT_ADMISSION_PARENT_LABEL) == "true"


def parent_of(workload: v1beta2.Workload, gates: FeatureGates) -> str:
    """UID of the parent of a variant; empty for other workloads."""
    if ALLOWED_FLAVORS_ANNOTATION not in workload.metadata.annotations or not gates.enabled(Gate.ConcurrentAdmission):
        return ""
    return next((owner.uid for owner in workload.metadata.owner_references if owner.kind == "Workload"), "")


def is_admissible(workload: v1beta2.Workload, conditions: WorkloadConditions, gates: FeatureGates) -> bool:
    """Whether the workload may be pending in a queue (SCH-201)."""
    true = conditions.true
    return not (
        "QuotaReserved" in true
        or "WaitingForReplacementPods" in true
        or is_over(workload, conditions)
        or is_parent(workload)
        or _is_on_hold(conditions)
        or _is_gated(workload, gates)
    )


def _is_on_hold(conditions: WorkloadConditions) -> bool:
    reservation = conditions.by_type.get("QuotaReserved")
    return reservation is not None and reservation.status == "False" and reservation.reason == "OnHold"


def _is_gated(workload: v1beta2.Workload, gates: FeatureGates) -> bool:
    annotations = workload.metadata.annotations
    return bool(annotations.get(ADMISSION_GATED_BY_ANNOTATION)) and gates.enabled(Gate.AdmissionGatedBy)


def is_rewritten(old: v1beta2.Workload, new: v1beta2.Workload) -> bool:
    """Whether more than the status differs, so that the whole object must be read again."""
    before, after = old.metadata, new.metadata
    return (
        old.spec != new.spec
        or before.annotations != after.annotations
        or before.labels != after.labels
        or before.generation != after.generation
        or before.owner_references != after.owner_references
        or before.creation_timestamp != after.creation_timestamp
    )


def reactivates_inadmissible(old: v1beta2.Workload, new: v1beta2.Workload, conditions: WorkloadConditions) -> bool:
    """Whether a change reactivates an inadmissible workload (SCH-221)."""
    return _rewriting_matters(old, new) or status_matters(old, new, conditions)


def _rewriting_matters(old: v1beta2.Workload, new: v1beta2.Workload) -> bool:
    return (
        old.metadata.generation != new.metadata.generation
        or (old.spec != new.spec and to_json(old.spec) != to_json(new.spec))
        or old.metadata.annotations.get(PRIORITY_BOOST_ANNOTATION)
        != new.metadata.annotations.get(PRIORITY_BOOST_ANNOTATION)
    )


def status_matters(old: v1beta2.Workload, new: v1beta2.Workload, conditions: WorkloadConditions) -> bool:
    """The same for the status alone (SCH-221)."""
    before, after = old.status, new.status
    return (
        before.reclaimable_pods != after.reclaimable_pods
        or find(before.conditions, "Evicted") != conditions.by_type.get("Evicted")
        or find(before.conditions, "Requeued") != conditions.by_type.get("Requeued")
        or (before.preemption_gates != after.preemption_gates and _open_gates(old) != _open_gates(new))
    )


def allowed_flavors(workload: v1beta2.Workload, gates: FeatureGates) -> frozenset[str] | None:
    """Flavors to which a variant is bound; None if it may use any (SCH-1111)."""
    text = workload.metadata.annotations.get(ALLOWED_FLAVORS_ANNOTATION)
    if text is None or not gates.enabled(Gate.ConcurrentAdmission):
        return None
    return frozenset(name.strip() for name in text.split(",") if name.strip())


def replaced_slice(workload: v1beta2.Workload, gates: FeatureGates) -> ObjectKey | None:
    """The older slice of an elastic job that the workload replaces (SCH-1101)."""
    text = workload.metadata.annotations.get(SLICE_REPLACEMENT_ANNOTATION)
    if not text or not gates.enabled(Gate.ElasticJobsViaWorkloadSlices):
        return None
    namespace, _, name = text.rpartition("/")
    return ObjectKey(namespace, name) if namespace == workload.metadata.namespace else None


def has_closed_gate(workload: v1beta2.Workload) -> bool:
    """Whether a preemption gate of the spec is not open (SCH-1120)."""
    if not workload.spec.preemption_gates:
        return False
    opened = _open_gates(workload)
    return any(gate.name not in opened for gate in workload.spec.preemption_gates)


def _open_gates(workload: v1beta2.Workload) -> frozenset[str]:
    return frozenset(gate.name for gate in workload.status.preemption_gates if gate.position == "Open")
