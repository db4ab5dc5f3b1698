"""Webhook rules of Workload: what may change, and when (API-60, API-63, API-66 to API-70)."""

from collections.abc import Iterator

import msgspec

from kohort.api.codec import Json, to_json
from kohort.api.fields import ROOT, FieldError, invalid, required
from kohort.api.gates import FeatureGates, Gate
from kohort.api.kueue.keys import SLICE_REPLACEMENT_ANNOTATION
from kohort.api.kueue.v1beta2.workload import Admission, PodSet, ReclaimablePod, Workload
from kohort.api.kueue.validation.admission_gates import admission_gate_update_errors
from kohort.api.kueue.validation.workload import (
    ADMISSION,
    POD_SETS,
    STATUS,
    is_elastic,
    is_reserved,
    missing_admission_errors,
    workload_errors,
)
from kohort.api.quantity import Quantity

RECLAIMABLE = STATUS / "reclaimablePods"


def workload_create_errors(workload: Workload, gates: FeatureGates) -> list[FieldError]:
    """Problems of a new Workload."""
    return [*workload_errors(workload, gates), *missing_admission_errors(workload)]


def workload_update_errors(new: Workload, old: Workload, gates: FeatureGates) -> list[FieldError]:
    """Problems of a changed Workload or of its changed status."""
    errors = [error for error in workload_errors(new, gates) if not _tolerated(error, new, old, gates)]
    if not missing_admission_errors(old):
        errors += missing_admission_errors(new)
    if is_reserved(old):
        errors += _pod_set_errors(new, old, gates)
        if is_reserved(new):
            errors += _reclaimable_errors(new, old, gates)
    errors += _admission_errors(new, old, gates)
    errors += _frozen_update_errors(new, old)
    errors += _cluster_name_errors(new, old, gates)
    if gates.enabled(Gate.AdmissionGatedBy):
        errors += admission_gate_update_errors(new.metadata.annotations, old.metadata.annotations)
    return errors


def _tolerated(error: FieldError, new: Workload, old: Workload, gates: FeatureGates) -> bool:
    """Whether an over-limit reclaimable count of an elastic workload is unchanged (API-63)."""
    if error.rule != "API-63" or not is_elastic(new, gates):
        return False
    unchanged = {entry.name for entry in set(new.status.reclaimable_pods) & set(old.status.reclaimable_pods)}
    return any(error.path == RECLAIMABLE[name] / "count" for name in unchanged)


def _pod_set_errors(new: Workload, old: Workload, gates: FeatureGates) -> Iterator[FieldError]:
    """API-66."""
    if len(new.spec.pod_sets) != len(old.spec.pod_sets):
        detail = "pod sets can't be added or removed while quota is reserved"
        yield invalid(POD_SETS, len(new.spec.pod_sets), detail, "API-66")
        return
    may_shrink = gates.enabled(Gate.ElasticJobsViaWorkloadSlices)
    for index, (after, before) in enumerate(zip(new.spec.pod_sets, old.spec.pod_sets, strict=True)):
        shrinks = may_shrink and after.count < before.count
        expected = msgspec.structs.replace(before, count=after.count) if shrinks else before
        # Usually nothing has changed, and this comparison is cheap.
        if after != expected and _content(after) != _content(expected):
            detail = "a pod set can't be changed while quota is reserved"
            yield invalid(POD_SETS / str(index), after.name, detail, "API-66")


def _content(pod_set: PodSet) -> Json:
    return _meaning(to_json(pod_set))


def _meaning(value: Json) -> Json:
    """The value without empty members and with canonical amounts: rewriting those changes nothing."""
    if isinstance(value, list):
        return [_meaning(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {name: _amounts(member) if name in _AMOUNTS else _meaning(member) for name, member in value.items()}
    return {name: member for name, member in kept.items() if member not in ({}, [])}


_AMOUNTS = frozenset({"requests", "limits", "overhead"})


def _amounts(value: Json) -> Json:
    return {name: str(Quantity.parse(amount)) for name, amount in value.items()} if isinstance(value, dict) else value


def _reclaimable_errors(new: Workload, old: Workload, gates: FeatureGates) -> Iterator[FieldError]:
    """API-67: reclaimed pods are not taken back."""
    after = {entry.name: entry.count for entry in new.status.reclaimable_pods}
    shrunk = scaled_down_pod_sets(new, gates)
    entry: ReclaimablePod
    for entry in old.status.reclaimable_pods:
        if entry.name in shrunk:
            continue
        if entry.name not in after:
            yield required(RECLAIMABLE[entry.name], "can't be removed while quota is reserved", "API-67")
        elif after[entry.name] < entry.count:
            detail = f"can't fall below {entry.count} while quota is reserved"
            yield invalid(RECLAIMABLE[entry.name] / "count", after[entry.name], detail, "API-67")


def scaled_down_pod_sets(workload: Workload, gates: FeatureGates) -> frozenset[str]:
    """Pod sets of an elastic workload that are smaller than admitted (API-67)."""
    if not is_elastic(workload, gates):
        return frozenset()
    assignments = workload.status.admission.pod_set_assignments if workload.status.admission else ()
    admitted = {assignment.name: assignment.count or 0 for assignment in assignments}
    return frozenset(ps.name for ps in workload.spec.pod_sets if ps.count < admitted.get(ps.name, 0))


def _admission_errors(new: Workload, old: Workload, gates: FeatureGates) -> Iterator[FieldError]:
    """API-68: an admission can be set or removed, but not changed."""
    before, after = old.status.admission, new.status.admission
    if before is None or after is None:
        return
    if gates.enabled(Gate.TopologyAwareScheduling):
        before, after = _without_placement(before), _without_placement(after)
    if before != after:
        yield invalid(ADMISSION, after.cluster_queue, "an admission can be set or removed but not changed", "API-68")


def _without_placement(admission: Admission) -> Admission:
    assignments = tuple(
        msgspec.structs.replace(assignment, topology_assignment=None, delayed_topology_request=None)
        for assignment in admission.pod_set_assignments
    )
    return msgspec.structs.replace(admission, pod_set_assignments=assignments)


def _frozen_update_errors(new: Workload, old: Workload) -> Iterator[FieldError]:
    """API-69."""
    before = {check.name: check for check in old.status.admission_checks if check.state == "Ready"}
    for index, check in enumerate(new.status.admission_checks):
        former = before.get(check.name)
        if former and check.state == "Ready" and check.pod_set_updates != former.pod_set_updates:
            path = (STATUS / "admissionChecks")[index] / "podSetUpdates"
            yield invalid(path, check.name, "can't be changed while the check is Ready", "API-69")


def _cluster_name_errors(new: Workload, old: Workload, gates: FeatureGates) -> Iterator[FieldError]:
    """API-70."""
    name = new.status.cluster_name
    if not name or old.status.cluster_name:
        return
    replaces = SLICE_REPLACEMENT_ANNOTATION in new.metadata.annotations
    if replaces and gates.enabled(Gate.ElasticJobsViaWorkloadSlices):
        return
    if name not in old.status.nominated_cluster_names:
        detail = "must be one of the clusters that were nominated before"
        yield invalid(ROOT / "status" / "clusterName", name, detail, "API-70")
