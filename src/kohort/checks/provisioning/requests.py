"""The content of ProvisioningRequests and their pod templates (MK-21, MK-22, MK-24)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kohort.api.codec import JsonObject
from kohort.api.core.pods import PodTemplate
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.v1beta2.checks import ProvisioningRequestConfigSpec
from kohort.checks.provisioning.names import (
    ATTEMPT_LABEL,
    MANAGED_LABEL,
    PARAMETER_PREFIX,
    REQUESTS,
    attempt_of,
    request_name,
    template_name,
)
from kohort.checks.provisioning.pod_sets import RequestedPodSet


def parameters_of(workload: Workload, config: ProvisioningRequestConfigSpec) -> dict[str, str]:
    """The effective parameters: those of the config, overridden by annotations of the Workload (MK-21)."""
    own = workload.metadata.annotations.items()
    return {
        **config.parameters,
        **{key.removeprefix(PARAMETER_PREFIX): value for key, value in own if key.startswith(PARAMETER_PREFIX)},
    }


def new_request(
    workload: Workload, name: str, attempt: int, config: ProvisioningRequestConfigSpec, sets: Iterable[RequestedPodSet]
) -> JsonObject:
    """A new request, owned by the Workload."""
    spec: dict[str, Any] = {
        "provisioningClassName": config.provisioning_class_name,
        "podSets": [{"podTemplateRef": {"name": template_name(name, each.name)}, "count": each.count} for each in sets],
    }
    parameters = parameters_of(workload, config)
    if parameters:
        spec["parameters"] = parameters
    metadata = {**_metadata(name, workload), "ownerReferences": [owner_reference(workload)]}
    metadata["labels"][ATTEMPT_LABEL] = str(attempt)
    return {"apiVersion": REQUESTS.api_version, "kind": REQUESTS.kind, "metadata": metadata, "spec": spec}


def new_template(workload: Workload, request: str, pod_set: RequestedPodSet) -> JsonObject:
    """A new pod template, owned by the Workload until its request exists (MK-22)."""
    metadata = {
        **_metadata(template_name(request, pod_set.name), workload),
        "ownerReferences": [owner_reference(workload)],
    }
    head = {"apiVersion": PodTemplate.resource.api_version, "kind": PodTemplate.resource.kind}
    return {**head, "metadata": metadata, "template": pod_set.template}


def _metadata(name: str, workload: Workload) -> dict[str, Any]:
    return {"name": name, "namespace": workload.metadata.namespace, "labels": {MANAGED_LABEL: "true"}}


def owner_reference(workload: Workload) -> dict[str, Any]:
    """The Workload as controller owner."""
    resource = Workload.info.resource
    return controller_reference(resource.api_version, resource.kind, workload.metadata.name, workload.metadata.uid)


def controller_reference(api_version: str, kind: str, name: str, uid: str) -> dict[str, Any]:
    """An owner reference to a controller."""
    head = {"apiVersion": api_version, "kind": kind, "name": name, "uid": uid}
    return {**head, "controller": True, "blockOwnerDeletion": True}


def controller_uid(obj: JsonObject) -> str:
    """The UID of an object's controller owner; empty without one."""
    references = (obj.get("metadata") or {}).get("ownerReferences") or ()
    return next((str(each.get("uid", "")) for each in references if each.get("controller")), "")


def name_of(obj: JsonObject) -> str:
    """The name of an object."""
    return str(obj["metadata"]["name"])


def is_of_check(request: JsonObject, workload: Workload, check: str) -> bool:
    """Whether a request of the Workload has the name of one of a check."""
    return name_of(request) == request_name(workload.metadata.name, check, attempt_of(request))


def current_request(
    workload: Workload, check: str, config: ProvisioningRequestConfigSpec, owned: Sequence[JsonObject]
) -> JsonObject | None:
    """The request with the highest attempt among those that are as the config requires (MK-24)."""
    wanted = config.provisioning_class_name, parameters_of(workload, config)
    fitting = [
        each
        for each in owned
        if is_of_check(each, workload, check) and not _is_terminating(each) and _content(each) == wanted
    ]
    return max(fitting, key=attempt_of, default=None)


def _content(request: JsonObject) -> tuple[str, Mapping[str, str]]:
    spec = request.get("spec") or {}
    return spec.get("provisioningClassName", ""), spec.get("parameters") or {}


def _is_terminating(obj: JsonObject) -> bool:
    return bool((obj.get("metadata") or {}).get("deletionTimestamp"))
