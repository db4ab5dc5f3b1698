"""Pod set infos of an admission for starting a job, and original ones for restoring it (JOB-46)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from kohort.api.codec import JsonObject, decode_json, to_json
from kohort.api.gates import FeatureGates, Gate
from kohort.api.kueue.v1beta2 import ResourceFlavor, Workload
from kohort.api.kueue.v1beta2.workload import PodSet as StoredPodSet
from kohort.api.kueue.v1beta2.workload import PodSetAssignment, PodSetUpdate, TopologyRequest
from kohort.api.names import check_label
from kohort.jobs.errors import RetryError
from kohort.jobs.keys import (
    CLUSTER_QUEUE_LABEL,
    ELASTIC_JOB_ANNOTATION,
    LOCAL_QUEUE_LABEL,
    MULTIKUEUE_ORIGIN_LABEL,
    PODSET_LABEL,
    SLICE_NAME_ANNOTATION,
    TOPOLOGY_GATE,
    UNCONSTRAINED_TOPOLOGY_ANNOTATION,
    WORKER_POD_LABEL,
    WORKLOAD_ANNOTATION,
)
from kohort.jobs.podsets import PodSetInfo, add_update, info_of

Flavors = Callable[[str], ResourceFlavor | None]


def template_of(pod_set: StoredPodSet) -> JsonObject:
    """The template of a stored pod set as JSON, which the caller may change."""
    template = decode_json(bytes(pod_set.template))
    return template if isinstance(template, dict) else {}


def originals(workload: Workload) -> list[PodSetInfo]:
    """The original infos of the pod sets, from the spec of the Workload (JOB-50)."""
    return [info_of(each.name, each.count, template_of(each)) for each in workload.spec.pod_sets]


def admitted_infos(workload: Workload, flavors: Flavors, gates: FeatureGates) -> list[PodSetInfo]:
    """One info per assignment, in order; raises RetryError for a missing flavor (JOB-46)."""
    admission = workload.status.admission
    if admission is None:
        return []
    pairs = zip(admission.pod_set_assignments, workload.spec.pod_sets, strict=False)
    return [
        _with_updates(_info(workload, assigned, requested, flavors, gates), workload) for assigned, requested in pairs
    ]


def _info(
    workload: Workload, assigned: PodSetAssignment, requested: StoredPodSet, flavors: Flavors, gates: FeatureGates
) -> PodSetInfo:
    found = _flavors(assigned.flavors, flavors)
    is_placed = assigned.topology_assignment is not None and gates.enabled(Gate.TopologyAwareScheduling)
    return PodSetInfo(
        name=assigned.name,
        count=requested.count if assigned.count is None else assigned.count,
        labels=_labels(workload, assigned.name, gates),
        annotations=_annotations(workload, gates) | (_topology_annotations(requested) if is_placed else {}),
        node_selector={key: value for each in found for key, value in each.spec.node_labels.items()},
        tolerations=tuple(to_json(toleration) for each in found for toleration in each.spec.tolerations),
        scheduling_gates=(TOPOLOGY_GATE,) if is_placed else (),
    )


def _flavors(assigned: Mapping[str, str], flavors: Flavors) -> Sequence[ResourceFlavor]:
    """The distinct flavors, by resource in sorted order (DEV-2)."""
    names = dict.fromkeys(assigned[resource] for resource in sorted(assigned))
    return [_flavor(name, flavors) for name in names]


def _flavor(name: str, flavors: Flavors) -> ResourceFlavor:
    found = flavors(name)
    if found is None:
        raise RetryError(f"ResourceFlavor {name!r} not found")
    return found


def _labels(workload: Workload, name: str, gates: FeatureGates) -> dict[str, str]:
    labels = {PODSET_LABEL: name}
    admission = workload.status.admission
    if gates.enabled(Gate.AssignQueueLabelsForPods) and admission is not None:
        labels[LOCAL_QUEUE_LABEL] = workload.spec.queue_name or ""
        if check_label(admission.cluster_queue) is None:
            labels[CLUSTER_QUEUE_LABEL] = admission.cluster_queue
    if MULTIKUEUE_ORIGIN_LABEL in workload.metadata.labels:
        labels[WORKER_POD_LABEL] = "true"
    return labels


def _annotations(workload: Workload, gates: FeatureGates) -> dict[str, str]:
    annotations: dict[str, str] = {}
    if gates.enabled(Gate.TopologyAwareScheduling):
        annotations[WORKLOAD_ANNOTATION] = workload.metadata.name
    if workload.metadata.annotations.get(ELASTIC_JOB_ANNOTATION) == "true":
        own = workload.metadata.annotations
        annotations[SLICE_NAME_ANNOTATION] = own.get(SLICE_NAME_ANNOTATION) or workload.metadata.name
    return annotations


def _topology_annotations(requested: StoredPodSet) -> dict[str, str]:
    """What marks pods without a topology annotation of their own as placed by topology (TAS-91)."""
    request = requested.topology_request or TopologyRequest()
    modes = (request.required, request.preferred, request.unconstrained)
    return {UNCONSTRAINED_TOPOLOGY_ANNOTATION: "true"} if modes == (None, None, None) else {}


def _with_updates(info: PodSetInfo, workload: Workload) -> PodSetInfo:
    for update in _updates(workload, info.name):
        info = add_update(info, _as_info(update))
    return info


def _updates(workload: Workload, name: str) -> Iterable[PodSetUpdate]:
    checks = workload.status.admission_checks
    return (update for check in checks for update in check.pod_set_updates if update.name == name)


def _as_info(update: PodSetUpdate) -> PodSetInfo:
    tolerations: tuple[Mapping[str, Any], ...] = tuple(to_json(each) for each in update.tolerations)
    return PodSetInfo(
        update.name,
        labels=update.labels,
        annotations=update.annotations,
        node_selector=update.node_selector,
        tolerations=tolerations,
    )
