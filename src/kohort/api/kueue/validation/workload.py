"""Webhook rules of Workload: the object on its own (API-56 to API-65)."""

import re
from collections.abc import Iterator, Mapping

from kohort.api.amounts import to_amount
from kohort.api.conditions import is_true
from kohort.api.core.containers import ResourceRequirements
from kohort.api.fields import ROOT, FieldError, Path, forbidden, invalid, not_found, not_supported, required
from kohort.api.gates import FeatureGates, Gate
from kohort.api.kueue.keys import (
    ADMISSION_GATED_BY_ANNOTATION,
    ELASTIC_JOB_ANNOTATION,
    PRIORITY_BOOST_ANNOTATION,
)
from kohort.api.kueue.v1beta2.workload import (
    Admission,
    PodSet,
    PodSetAssignment,
    PodSetUpdate,
    TopologyRequest,
    Workload,
)
from kohort.api.kueue.validation.admission_gates import admission_gate_errors
from kohort.api.names import annotation_errors, label_errors
from kohort.api.quantity import Quantity
from kohort.api.taints import toleration_errors

POD_SETS = ROOT / "spec" / "podSets"
STATUS = ROOT / "status"
ADMISSION = STATUS / "admission"
PODS_RESOURCE = "pods"
"""Reserved for counting pods against quota (SCH-113)."""


def workload_errors(workload: Workload, gates: FeatureGates) -> list[FieldError]:
    """Problems of a Workload on its own, except a reservation without admission."""
    return [
        *_min_count_errors(workload, gates),
        *(
            error
            for index, pod_set in enumerate(workload.spec.pod_sets)
            for error in _pod_set_errors(index, pod_set, gates)
        ),
        *_admission_errors(workload),
        *_admission_check_errors(workload),
        *_reclaimable_errors(workload),
        *_annotation_errors(workload.metadata.annotations, gates),
    ]


def missing_admission_errors(workload: Workload) -> list[FieldError]:
    """A reservation without admission (API-60)."""
    if not is_reserved(workload) or workload.status.admission is not None:
        return []
    return [required(ADMISSION, "a workload with QuotaReserved=True needs its admission", "API-60")]


def is_reserved(workload: Workload) -> bool:
    """Whether the workload has reserved quota."""
    return is_true(workload.status.conditions, "QuotaReserved")


def is_elastic(workload: Workload, gates: FeatureGates) -> bool:
    """Whether the workload is elastic, by workload slices."""
    wanted = workload.metadata.annotations.get(ELASTIC_JOB_ANNOTATION) == "true"
    return wanted and gates.enabled(Gate.ElasticJobsViaWorkloadSlices)


# Pod sets


def _min_count_errors(workload: Workload, gates: FeatureGates) -> Iterator[FieldError]:
    """API-56."""
    partial = sum(pod_set.min_count is not None for pod_set in workload.spec.pod_sets)
    if partial > 1:
        yield invalid(POD_SETS, partial, "at most one pod set may set minCount", "API-56")
    if partial and is_elastic(workload, gates):
        detail = f"minCount can't be combined with the annotation {ELASTIC_JOB_ANNOTATION}"
        yield invalid(POD_SETS, partial, detail, "API-56")


def _pod_set_errors(index: int, pod_set: PodSet, gates: FeatureGates) -> Iterator[FieldError]:
    path = POD_SETS[index]
    template = path / "template"
    yield from _resource_errors(pod_set, template / "spec", gates)
    if gates.enabled(Gate.WorkloadValidationForPodSetMetadata):
        metadata = pod_set.pod_metadata
        yield from label_errors(metadata.labels, template / "metadata" / "labels")
        yield from annotation_errors(metadata.annotations, template / "metadata" / "annotations")
    if pod_set.topology_request and gates.enabled(Gate.TASValidateWorkloadSliceSize):
        yield from _slice_size_errors(pod_set.topology_request, path / "topologyRequest")


def _resource_errors(pod_set: PodSet, path: Path, gates: FeatureGates) -> Iterator[FieldError]:
    """API-57."""
    spec = pod_set.pod_template.spec
    for name, containers in (("containers", spec.containers), ("initContainers", spec.init_containers)):
        for index, container in enumerate(containers):
            yield from _requirement_errors(container.resources, (path / name)[index] / "resources", gates)
    yield from _requirement_errors(spec.resources, path / "resources", gates)


def _requirement_errors(
    resources: ResourceRequirements | None, path: Path, gates: FeatureGates
) -> Iterator[FieldError]:
    if resources is None:
        return
    for name, amounts in (("requests", resources.requests), ("limits", resources.limits)):
        for resource, amount in amounts.items():
            place = (path / name)[resource]
            if resource == PODS_RESOURCE:
                yield invalid(place, amount, "the resource name 'pods' is reserved", "API-57")
            if gates.enabled(Gate.WorkloadValidateResourcesAreNonNegative) and Quantity.parse(amount) < Quantity.parse(
                0
            ):
                yield invalid(place, amount, "must be 0 or more", "API-57")


def _slice_size_errors(request: TopologyRequest, path: Path) -> Iterator[FieldError]:
    """API-59; the schema refuses sizes below 1."""
    if request.pod_set_slice_required_topology and not request.pod_set_slice_size:
        detail = "podSetSliceRequiredTopology needs the number of pods per slice"
        yield required(path / "podSetSliceSize", detail, "API-59")
    if request.pod_set_slice_size and not request.pod_set_slice_required_topology:
        yield forbidden(path / "podSetSliceSize", "goes only with podSetSliceRequiredTopology", "API-59")


# Status


def _admission_errors(workload: Workload) -> Iterator[FieldError]:
    """API-61, while quota is reserved."""
    admission: Admission | None = workload.status.admission
    if admission is None or not is_reserved(workload):
        return
    names = _pod_set_names(workload)
    for index, assignment in enumerate(admission.pod_set_assignments):
        path = (ADMISSION / "podSetAssignments")[index]
        if assignment.name not in names:
            yield not_found(path / "name", assignment.name, "no pod set of this name", "API-61")
        yield from _usage_errors(assignment, path / "resourceUsage")


def _usage_errors(assignment: PodSetAssignment, path: Path) -> Iterator[FieldError]:
    count = assignment.count or 0
    if count <= 0:
        return
    for resource, usage in assignment.resource_usage.items():
        if to_amount(resource, usage) % count:
            yield invalid(path[resource], usage, f"must be divisible by the count of {count} pods", "API-61")


def _admission_check_errors(workload: Workload) -> Iterator[FieldError]:
    """API-62."""
    names = _pod_set_names(workload)
    for index, check in enumerate(workload.status.admission_checks):
        for position, update in enumerate(check.pod_set_updates):
            path = ((STATUS / "admissionChecks")[index] / "podSetUpdates")[position]
            if update.name not in names:
                yield not_supported(path / "name", update.name, sorted(names), "API-62")
            yield from _update_errors(update, path)


def _update_errors(update: PodSetUpdate, path: Path) -> Iterator[FieldError]:
    yield from label_errors(update.labels, path / "labels")
    yield from label_errors(update.node_selector, path / "nodeSelector")
    yield from annotation_errors(update.annotations, path / "annotations")
    yield from toleration_errors(update.tolerations, path / "tolerations")


def _reclaimable_errors(workload: Workload) -> Iterator[FieldError]:
    """API-63."""
    counts = {pod_set.name: pod_set.count for pod_set in workload.spec.pod_sets}
    for entry in workload.status.reclaimable_pods:
        path = (STATUS / "reclaimablePods")[entry.name]
        if entry.name not in counts:
            yield not_supported(path / "name", entry.name, sorted(counts), "API-63")
        elif entry.count > counts[entry.name]:
            detail = f"may not exceed the {counts[entry.name]} pods of the set"
            yield invalid(path / "count", entry.count, detail, "API-63")


def _pod_set_names(workload: Workload) -> frozenset[str]:
    return frozenset(pod_set.name for pod_set in workload.spec.pod_sets)


# Annotations

JUDGED_ANNOTATIONS = (ADMISSION_GATED_BY_ANNOTATION, PRIORITY_BOOST_ANNOTATION)
"""Annotations that are validated independently."""
_SIGNED_INTEGER = re.compile(r"[+-]?[0-9]+")


def priority_boost(annotations: Mapping[str, str]) -> int | None:
    """The boost as a signed 32-bit integer; None where it is absent or malformed (SCH-210)."""
    text = annotations.get(PRIORITY_BOOST_ANNOTATION)
    if text is None or len(text) > 16 or not _SIGNED_INTEGER.fullmatch(text):
        return None
    value = int(text)
    return value if -(2**31) <= value < 2**31 else None


def _annotation_errors(annotations: Mapping[str, str], gates: FeatureGates) -> Iterator[FieldError]:
    if gates.enabled(Gate.AdmissionGatedBy):
        yield from admission_gate_errors(annotations)
    boosted = gates.enabled(Gate.PriorityBoost) and PRIORITY_BOOST_ANNOTATION in annotations
    if boosted and priority_boost(annotations) is None:
        path = (ROOT / "metadata" / "annotations")[PRIORITY_BOOST_ANNOTATION]
        yield invalid(path, annotations[PRIORITY_BOOST_ANNOTATION], "must be a signed 32-bit integer", "API-65")
