"""v1beta1 to v1beta2 and back, on plain JSON, exactly as API-73 states.

Metadata is unchanged. Fields of the same name are copied, the rest is listed below by kind; fields unknown to the
target version are pruned. Defaults are not set here: the API server does that before conversion.
"""

from collections.abc import Callable
from typing import Any

from kohort.api.codec import Json, from_json, to_json
from kohort.api.errors import ConversionError
from kohort.api.kinds import kind_of
from kohort.api.kueue import v1beta1, v1beta2
from kohort.api.kueue.group import GROUP
from kohort.api.kueue.quotas import canonical_quotas
from kohort.api.kueue.slices import Domain, compress, expand
from kohort.api.kueue.v1beta1.workload import POD_PRIORITY_CLASS, WORKLOAD_PRIORITY_CLASS
from kohort.api.kueue.v1beta2.workload import TopologyAssignment
from kohort.api.schema import schema_of
from kohort.api.structural import prune

V1BETA1 = f"{GROUP}/v1beta1"
V1BETA2 = f"{GROUP}/v1beta2"

ObjectPart = dict[str, Any]
"""The spec or the status of an object, which a converter changes in place."""


def convert(value: Json, api_version: str) -> Json:
    """The object in another version of the group."""
    source, kind = value.get("apiVersion"), value.get("kind")
    if not (isinstance(source, str) and isinstance(kind, str)):
        raise ConversionError("apiVersion and kind must be strings")
    target = kind_of(api_version, kind)
    if kind_of(source, kind) is None or target is None:
        raise ConversionError(f"no conversion of {kind} from {source} to {api_version}")
    if source == api_version:
        return value
    try:
        converted = _converted(value, kind, source)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ConversionError(f"{kind} does not match the schema of {source}: {error}") from None
    converted["apiVersion"] = api_version
    return prune(converted, schema_of(target))[0]


def converts_by_webhook(kind: str) -> bool:
    """Whether conversion of the kind needs the webhook (API-72)."""
    return kind in _TO_V1BETA2


def _converted(value: Json, kind: str, source: str) -> Json:
    steps = (_TO_V1BETA2 if source == V1BETA1 else _TO_V1BETA1).get(kind)
    if steps is None:
        return dict(value)
    convert_spec, convert_status = steps
    spec, status = dict(value.get("spec") or {}), dict(value.get("status") or {})
    convert_spec(spec)
    convert_status(status)
    return {**value, "spec": spec or None if kind == "MultiKueueCluster" else spec, "status": status}


def _move(section: ObjectPart, old: str, new: str) -> None:
    if old in section:
        section[new] = section.pop(old)


def _keep(_section: ObjectPart) -> None:
    """Nothing differs."""


# ClusterQueue, Cohort and LocalQueue


def _canonical(spec: ObjectPart) -> None:
    spec.update(canonical_quotas(spec))


def _cluster_queue_to_v1beta2(spec: ObjectPart) -> None:
    _canonical(spec)
    _move(spec, "cohort", "cohortName")
    names = spec.pop("admissionChecks", None)
    if names:
        spec["admissionChecksStrategy"] = {"admissionChecks": [{"name": name} for name in names]}
    if "flavorFungibility" in spec:
        old_names = {"Borrow": "MayStopSearch", "Preempt": "MayStopSearch"}
        fungibility = spec["flavorFungibility"]
        spec["flavorFungibility"] = {name: old_names.get(value, value) for name, value in fungibility.items()}


def _cluster_queue_to_v1beta1(spec: ObjectPart) -> None:
    _canonical(spec)
    _move(spec, "cohortName", "cohort")


def _show_counters(status: ObjectPart) -> None:
    for counter in ("pendingWorkloads", "reservingWorkloads", "admittedWorkloads"):
        status.setdefault(counter, 0)


def _local_queue_status_to_v1beta2(status: ObjectPart) -> None:
    _move(status, "flavorUsage", "flavorsUsage")
    _show_counters(status)


def _local_queue_status_to_v1beta1(status: ObjectPart) -> None:
    _move(status, "flavorsUsage", "flavorUsage")
    _show_counters(status)


# Workload

_CLASS_OF_SOURCE = {
    WORKLOAD_PRIORITY_CLASS: {"group": GROUP, "kind": "WorkloadPriorityClass"},
    POD_PRIORITY_CLASS: {"group": "scheduling.k8s.io", "kind": "PriorityClass"},
}
_SOURCE_OF_CLASS = {(ref["group"], ref["kind"]): source for source, ref in _CLASS_OF_SOURCE.items()}


def _workload_to_v1beta2(spec: ObjectPart) -> None:
    name, source = spec.pop("priorityClassName", None), spec.pop("priorityClassSource", None)
    ref = _CLASS_OF_SOURCE.get(source)
    if ref:
        spec["priorityClassRef"] = {**ref, "name": name} if name else dict(ref)


def _workload_to_v1beta1(spec: ObjectPart) -> None:
    ref = spec.pop("priorityClassRef", None) or {}
    source = _SOURCE_OF_CLASS.get((ref.get("group", ""), ref.get("kind", "")))
    if source:
        spec["priorityClassSource"] = source
        if ref.get("name"):
            spec["priorityClassName"] = ref["name"]


_MISSPELT_TIME = "accumulatedPastExexcutionTimeSeconds"
_PAST_TIME = "accumulatedPastExecutionTimeSeconds"


def _workload_status_to_v1beta2(status: ObjectPart) -> None:
    _move(status, _MISSPELT_TIME, _PAST_TIME)
    _convert_assignments(status, _to_slices)


def _workload_status_to_v1beta1(status: ObjectPart) -> None:
    _move(status, _PAST_TIME, _MISSPELT_TIME)
    _convert_assignments(status, _to_domains)


def _convert_assignments(status: ObjectPart, convert_topology: Callable[[Json], Json]) -> None:
    admission = status.get("admission")
    if not admission or "podSetAssignments" not in admission:
        return
    assignments = [dict(assignment) for assignment in admission["podSetAssignments"]]
    for assignment in assignments:
        if assignment.get("topologyAssignment"):
            assignment["topologyAssignment"] = convert_topology(assignment["topologyAssignment"])
    status["admission"] = {**admission, "podSetAssignments": assignments}


def _to_slices(topology: Json) -> Json:
    domains = [Domain(tuple(domain["values"]), domain["count"]) for domain in topology.get("domains", ())]
    return to_json(compress(topology.get("levels", ()), domains))


def _to_domains(topology: Json) -> Json:
    domains = expand(from_json(topology, TopologyAssignment))
    return {
        "levels": topology["levels"],
        "domains": [{"values": list(domain.values), "count": domain.pods} for domain in domains],
    }


# MultiKueueCluster


def _multikueue_cluster_to_v1beta2(spec: ObjectPart) -> None:
    kube_config, profile = spec.pop("kubeConfig", None) or {}, spec.pop("clusterProfileRef", None)
    source: ObjectPart = {}
    if kube_config.get("location"):
        source["kubeConfig"] = kube_config
    if profile:
        source["clusterProfileRef"] = profile
    if source:
        spec["clusterSource"] = source


def _multikueue_cluster_to_v1beta1(spec: ObjectPart) -> None:
    source = spec.pop("clusterSource", None) or {}
    spec["kubeConfig"] = source.get("kubeConfig") or {"location": "", "locationType": ""}
    if source.get("clusterProfileRef"):
        spec["clusterProfileRef"] = source["clusterProfileRef"]


Steps = tuple[Callable[[ObjectPart], None], Callable[[ObjectPart], None]]
"""Converters of the spec and of the status."""

_TO_V1BETA2: dict[str, Steps] = {
    v1beta1.ClusterQueue.__name__: (_cluster_queue_to_v1beta2, _show_counters),
    v1beta1.Cohort.__name__: (_canonical, _keep),
    v1beta1.LocalQueue.__name__: (_canonical, _local_queue_status_to_v1beta2),
    v1beta1.Workload.__name__: (_workload_to_v1beta2, _workload_status_to_v1beta2),
    v1beta1.MultiKueueCluster.__name__: (_multikueue_cluster_to_v1beta2, _keep),
}
_TO_V1BETA1: dict[str, Steps] = {
    v1beta2.ClusterQueue.__name__: (_cluster_queue_to_v1beta1, _show_counters),
    v1beta2.Cohort.__name__: (_canonical, _keep),
    v1beta2.LocalQueue.__name__: (_canonical, _local_queue_status_to_v1beta1),
    v1beta2.Workload.__name__: (_workload_to_v1beta1, _workload_status_to_v1beta1),
    v1beta2.MultiKueueCluster.__name__: (_multikueue_cluster_to_v1beta1, _keep),
}
