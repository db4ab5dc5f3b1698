"""Strategies of creates and updates: which of status, spec and finalizers an endpoint may change, and the generation.

Custom resources follow the same rules by their status subresource.
"""

from collections.abc import Callable

from kohort.api.codec import Json, JsonObject
from kohort.embedded.kinds.defaults import empty_status
from kohort.embedded.kinds.qos import quality_of_service
from kohort.embedded.resources import ServedResource

CONTROLLER_UID = "batch.kubernetes.io/controller-uid"
_JOB_NAME = "batch.kubernetes.io/job-name"
_OLD_CONTROLLER_UID, _OLD_JOB_NAME = "controller-uid", "job-name"

_TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"

_COUNTED = frozenset(
    {
        "cronjobs.batch",
        "customresourcedefinitions.apiextensions.k8s.io",
        "daemonsets.apps",
        "deployments.apps",
        "deviceclasses.resource.k8s.io",
        "endpointslices.discovery.k8s.io",
        "horizontalpodautoscalers.autoscaling",
        "ingressclasses.networking.k8s.io",
        "ingresses.networking.k8s.io",
        "jobs.batch",
        "mutatingwebhookconfigurations.admissionregistration.k8s.io",
        "networkpolicies.networking.k8s.io",
        "poddisruptionbudgets.policy",
        "pods",
        "podtemplates",
        "priorityclasses.scheduling.k8s.io",
        "replicasets.apps",
        "replicationcontrollers",
        "resourceslices.resource.k8s.io",
        "statefulsets.apps",
        "validatingadmissionpolicies.admissionregistration.k8s.io",
        "validatingadmissionpolicybindings.admissionregistration.k8s.io",
        "validatingwebhookconfigurations.admissionregistration.k8s.io",
    }
)
"""Built-in kinds with a generation."""

_ANNOTATIONS_COUNT = frozenset({"deployments.apps"})
"""Kinds whose generation also counts changes of annotations."""

_STATUS_MAY_COME_WITH_CREATE = frozenset({"nodes"})
_LABELS_STAY_ON_STATUS_WRITES = frozenset(
    {"daemonsets.apps", "deployments.apps", "replicasets.apps", "statefulsets.apps"}
)
_IDENTITY = ("apiVersion", "kind", "metadata")


# Create


def prepare_create(resource: ServedResource, obj: JsonObject) -> JsonObject:
    """The object as first stored; name and UID are set already."""
    prepared = dict(obj)
    if resource.subresource("status") and resource.key not in _STATUS_MAY_COME_WITH_CREATE:
        prepared.pop("status", None)
        if not resource.is_custom:
            prepared["status"] = empty_status(resource)
    if _counts(resource):
        prepared["metadata"] = {**prepared.get("metadata", {}), "generation": 1}
    finish = _ON_CREATE.get(resource.key)
    return finish(prepared) if finish and not resource.is_custom else prepared


_GATED = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
    "lastProbeTime": None,
}
"""Initial condition of a pod with scheduling gates."""


def _counts(resource: ServedResource) -> bool:
    return resource.is_custom or resource.key in _COUNTED


def _new_namespace(obj: JsonObject) -> JsonObject:
    """A namespace has the finalizer `kubernetes`."""
    spec = obj.get("spec") or {}
    finalizers = list(dict.fromkeys([*(spec.get("finalizers") or ()), "kubernetes"]))
    return {**obj, "spec": {**spec, "finalizers": finalizers}}


def _new_pod(obj: JsonObject) -> JsonObject:
    spec = obj.get("spec") or {}
    status = {**obj["status"], "qosClass": quality_of_service(spec)}
    if spec.get("schedulingGates"):
        status["conditions"] = [{**_GATED, "lastTransitionTime": obj["metadata"].get("creationTimestamp")}]
    return {**obj, "status": status}


def _new_job(obj: JsonObject) -> JsonObject:
    """A Job selects its pods by its UID, unless manualSelector is set."""
    spec = obj.get("spec") or {}
    if spec.get("manualSelector"):
        return obj
    metadata = obj.get("metadata") or {}
    template = spec.get("template") or {}
    heading = template.get("metadata") or {}
    own = heading.get("labels") or {}
    labels = {**own, **_job_labels(metadata)}
    selector = spec.get("selector") or {}
    matched = {**(selector.get("matchLabels") or {}), CONTROLLER_UID: metadata.get("uid", "")}
    if metadata.get("labels", own) == own:
        metadata = {**metadata, "labels": labels}
    template = {**template, "metadata": {**heading, "labels": labels}}
    spec = {**spec, "selector": {**selector, "matchLabels": matched}, "template": template}
    return {**obj, "metadata": metadata, "spec": spec}


def _new_daemon_set(obj: JsonObject) -> JsonObject:
    return _with_template_generation(obj, 1)


def _with_template_generation(obj: JsonObject, generation: int) -> JsonObject:
    """The deprecated template generation annotation of DaemonSets."""
    metadata = obj.get("metadata") or {}
    annotations = {**(metadata.get("annotations") or {}), _TEMPLATE_GENERATION: str(generation)}
    return {**obj, "metadata": {**metadata, "annotations": annotations}}


def _job_labels(metadata: JsonObject) -> dict[str, Json]:
    uid, name = metadata.get("uid", ""), metadata.get("name", "")
    return {CONTROLLER_UID: uid, _OLD_CONTROLLER_UID: uid, _JOB_NAME: name, _OLD_JOB_NAME: name}


_ON_CREATE: dict[str, Callable[[JsonObject], JsonObject]] = {
    "daemonsets.apps": _new_daemon_set,
    "jobs.batch": _new_job,
    "namespaces": _new_namespace,
    "pods": _new_pod,
}


# Update


def prepare_update(resource: ServedResource, new: JsonObject, old: JsonObject, subresource: str = "") -> JsonObject:
    """The updated object: only what the endpoint may change comes from the new one."""
    touch = _ENDPOINTS.get(subresource, _update)
    return touch(resource, new, old)


def _update(resource: ServedResource, new: JsonObject, old: JsonObject) -> JsonObject:
    prepared = dict(new)
    if resource.subresource("status"):
        _take(prepared, old, "status")
    if resource.key == "namespaces":
        _take(prepared, old, "spec")
    if resource.key == "daemonsets.apps":
        prepared = _with_template_generation(prepared, _template_generation(prepared, old))
    if not _counts(resource):
        return prepared
    generation = int((old.get("metadata") or {}).get("generation") or 0)
    if resource.key != "priorityclasses.scheduling.k8s.io" and _wants(resource, prepared) != _wants(resource, old):
        generation += 1
    prepared["metadata"] = {**prepared.get("metadata", {}), "generation": generation}
    return prepared


def _template_generation(new: JsonObject, old: JsonObject) -> int:
    annotations = (old.get("metadata") or {}).get("annotations") or {}
    known = annotations.get(_TEMPLATE_GENERATION, "")
    count = int(known) if known.isdecimal() else 1
    return count + ((new.get("spec") or {}).get("template") != (old.get("spec") or {}).get("template"))


def _take(target: JsonObject, source: JsonObject, name: str) -> None:
    """Copies one member from another object, or removes it."""
    if name in source:
        target[name] = source[name]
    else:
        target.pop(name, None)


def _wants(resource: ServedResource, obj: JsonObject) -> JsonObject:
    """Everything except metadata and, with a status subresource, status."""
    beside = (*_IDENTITY, "status") if resource.subresource("status") else _IDENTITY
    wanted = {name: value for name, value in obj.items() if name not in beside}
    if resource.key in _ANNOTATIONS_COUNT:
        wanted["annotations"] = (obj.get("metadata") or {}).get("annotations") or {}
    return wanted


def _update_status(resource: ServedResource, new: JsonObject, old: JsonObject) -> JsonObject:
    prepared = dict(old)
    _take(prepared, new, "status")
    prepared["metadata"] = _status_metadata(resource, new.get("metadata") or {}, old.get("metadata") or {})
    return prepared


def _status_metadata(resource: ServedResource, new: JsonObject, old: JsonObject) -> JsonObject:
    """Metadata of a status update: only managedFields for custom resources, most of it for built-in kinds."""
    if resource.is_custom:
        metadata = dict(old)
        _take(metadata, new, "managedFields")
        return metadata
    metadata = dict(new)
    for name in ("generation", "ownerReferences", "finalizers", "deletionTimestamp", "deletionGracePeriodSeconds"):
        _take(metadata, old, name)
    if resource.key in _LABELS_STAY_ON_STATUS_WRITES:
        _take(metadata, old, "labels")
    return metadata


def _update_finalizers(resource: ServedResource, new: JsonObject, old: JsonObject) -> JsonObject:
    spec = dict(old.get("spec") or {})
    _take(spec, new.get("spec") or {}, "finalizers")
    return {**old, "spec": spec, "metadata": new.get("metadata") or old.get("metadata") or {}}


def _update_approval(resource: ServedResource, new: JsonObject, old: JsonObject) -> JsonObject:
    status = dict(old.get("status") or {})
    _take(status, new.get("status") or {}, "conditions")
    return {**old, "status": status}


def _bind(resource: ServedResource, new: JsonObject, old: JsonObject) -> JsonObject:
    """A binding by the server: node name and PodScheduled condition."""
    return new


_ENDPOINTS: dict[str, Callable[[ServedResource, JsonObject, JsonObject], JsonObject]] = {
    "approval": _update_approval,
    "binding": _bind,
    "finalize": _update_finalizers,
    "status": _update_status,
}
