"""Builds the Workload of a job (§6): the parts that all frameworks share."""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any

import msgspec
from msgspec.structs import replace

from kohort.api.codec import JsonObject, encode
from kohort.api.config.v1beta2 import Configuration, CustomLabel
from kohort.api.gates import FeatureGates, Gate
from kohort.api.kueue.group import RESOURCE_IN_USE_FINALIZER
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.v1beta2.workload import PodSet as StoredPodSet
from kohort.api.kueue.v1beta2.workload import WorkloadSpec
from kohort.api.meta import ObjectMeta, OwnerReference
from kohort.api.names import check_label_value
from kohort.jobs.contract import Framework
from kohort.jobs.keys import ADMISSION_GATED_BY_ANNOTATION, JOB_UID_LABEL, PROVISIONING_PREFIX
from kohort.jobs.names import workload_name
from kohort.jobs.objects import annotations, labels, maximum_execution_time, metadata, queue_name, uid
from kohort.jobs.podsets import JobPodSet


def build_workload(
    framework: Framework,
    obj: JsonObject,
    pod_sets: Sequence[JobPodSet],
    configuration: Configuration,
    gates: FeatureGates,
    extra: str = "",
) -> Workload:
    """The Workload of a job, still without its priority (JOB-37, JOB-38)."""
    resource, name = framework.resource, metadata(obj).get("name", "")
    owner = OwnerReference(
        api_version=resource.api_version,
        kind=resource.kind,
        name=name,
        uid=uid(obj),
        controller=True,
        block_owner_deletion=True,
    )
    head = ObjectMeta(
        name=workload_name(resource, name, uid(obj), gates, extra),
        namespace=metadata(obj).get("namespace", ""),
        labels=copied_labels(obj, configuration, gates),
        annotations=copied_annotations(obj, configuration, gates),
        owner_references=(owner,),
        finalizers=(RESOURCE_IN_USE_FINALIZER,),
    )
    return with_demand(Workload(metadata=head, spec=WorkloadSpec(pod_sets=stored(pod_sets, gates))), obj)


def with_demand(workload: Workload, obj: JsonObject) -> Workload:
    """The Workload with the job's queue and maximum execution time (JOB-38)."""
    spec = replace(
        workload.spec,
        queue_name=queue_name(obj) or None,
        maximum_execution_time_seconds=maximum_execution_time(obj),
    )
    return replace(workload, spec=spec)


def label_keys(configuration: Configuration, gates: FeatureGates) -> tuple[str, ...]:
    """Labels that Workloads get from their jobs, including those for metrics (JOB-37, API-145)."""
    measured = (each.source_key for each in _measured(configuration, gates) if not each.source_annotation_key)
    return tuple(dict.fromkeys((*configuration.integrations.label_keys_to_copy, *measured)))


def annotation_keys(configuration: Configuration, gates: FeatureGates) -> tuple[str, ...]:
    """Annotations that Workloads get from their jobs for metrics (JOB-37, API-145)."""
    return tuple(each.source_key for each in _measured(configuration, gates) if each.source_annotation_key)


def _measured(configuration: Configuration, gates: FeatureGates) -> Iterator[CustomLabel]:
    wanted = configuration.metrics.custom_labels if gates.enabled(Gate.CustomMetricLabels) else ()
    return (each for each in wanted if each.source_kind == "Workload")


def copied_labels(obj: JsonObject, configuration: Configuration, gates: FeatureGates) -> dict[str, str]:
    """The job's labels that its Workload gets too, and the job's UID (JOB-37)."""
    own = labels(obj)
    copied = {key: own[key] for key in label_keys(configuration, gates) if key in own}
    if uid(obj) and check_label_value(uid(obj)) is None:
        copied[JOB_UID_LABEL] = uid(obj)
    return copied


def copied_annotations(obj: JsonObject, configuration: Configuration, gates: FeatureGates) -> dict[str, str]:
    """The job's annotations that its Workload gets too (JOB-37)."""
    wanted, own = annotation_keys(configuration, gates), annotations(obj)
    copied = {key: value for key, value in own.items() if key.startswith(PROVISIONING_PREFIX) or key in wanted}
    gated_by = annotations(obj).get(ADMISSION_GATED_BY_ANNOTATION)
    if gated_by and gates.enabled(Gate.AdmissionGatedBy):
        copied[ADMISSION_GATED_BY_ANNOTATION] = gated_by
    return copied


def stored(pod_sets: Sequence[JobPodSet], gates: FeatureGates) -> tuple[StoredPodSet, ...]:
    """Pod sets of a Workload's spec (JOB-42, JOB-45)."""
    partial = gates.enabled(Gate.PartialAdmission)
    return tuple(
        StoredPodSet(
            name=each.name,
            template=msgspec.Raw(encode(sanitised(each.template))),
            count=each.count,
            min_count=each.min_count if partial else None,
            topology_request=each.topology_request,
        )
        for each in pod_sets
    )


def sanitised(template: JsonObject) -> JsonObject:
    """The template without environment variables that a later one of the same name overrides (JOB-42)."""
    spec = template.get("spec") or {}
    groups = [name for name in ("containers", "initContainers") if any(map(_repeats, spec.get(name) or ()))]
    if not groups:
        return template
    changed = {name: [_with_last_values(container) for container in spec[name]] for name in groups}
    return {**template, "spec": {**spec, **changed}}


def _repeats(container: Mapping[str, Any]) -> bool:
    names = [variable.get("name") for variable in container.get("env") or ()]
    return len(names) != len(set(names))


def _with_last_values(container: Mapping[str, Any]) -> dict[str, Any]:
    last = {variable.get("name"): variable for variable in container.get("env") or ()}
    return {**deepcopy(dict(container)), **({"env": list(last.values())} if last else {})}
