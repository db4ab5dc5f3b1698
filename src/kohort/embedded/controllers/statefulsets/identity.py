"""Identity of StatefulSet pods: name, labels, host name and claims; pure."""

import re

from kohort.api.codec import Json
from kohort.embedded.controllers.pod_control import pod_from_template
from kohort.embedded.controllers.serving import StatefulSetView, TemplateJson
from kohort.embedded.controllers.views import ControllerPod

REVISION_LABEL = "controller-revision-hash"
NAME_LABEL = "statefulset.kubernetes.io/pod-name"
INDEX_LABEL = "apps.kubernetes.io/pod-index"

_NUMBERED = re.compile(r"(.*)-([0-9]{1,9})")


def parent_and_ordinal(pod: ControllerPod) -> tuple[str, int]:
    """The set name and ordinal in a pod's name; -1 if it has no ordinal."""
    match = _NUMBERED.fullmatch(pod.metadata.name)
    return (match[1], int(match[2])) if match else ("", -1)


def ordinal_of(pod: ControllerPod) -> int:
    """The ordinal of a pod."""
    return parent_and_ordinal(pod)[1]


def pod_name(found: StatefulSetView, ordinal: int) -> str:
    """The name of the pod with an ordinal."""
    return f"{found.metadata.name}-{ordinal}"


def claim_name(found: StatefulSetView, template: TemplateJson, ordinal: int) -> str:
    """The name of a claim of the pod with an ordinal."""
    return f"{template['metadata']['name']}-{pod_name(found, ordinal)}"


def has_identity(pod: ControllerPod) -> bool:
    """Whether the pod has its identity labels."""
    return pod.metadata.labels.get(NAME_LABEL) == pod.metadata.name


def identity_labels(name: str, ordinal: int) -> dict[str, str]:
    """The identity labels of a pod."""
    return {NAME_LABEL: name, INDEX_LABEL: str(ordinal)}


def revision_of(pod: ControllerPod) -> str:
    """The revision name of a pod."""
    return pod.metadata.labels.get(REVISION_LABEL, "")


def numbered_pod(found: StatefulSetView, template: TemplateJson, revision: str, ordinal: int) -> dict[str, Json]:
    """A pod of a set, from the template of a revision."""
    pod = pod_from_template(template, found)
    name = pod_name(found, ordinal)
    labels = {**pod["metadata"].get("labels", {}), **identity_labels(name, ordinal), REVISION_LABEL: revision}
    spec = {**pod["spec"], "hostname": name, "subdomain": found.spec.service_name}
    if found.spec.volume_claim_templates:
        spec["volumes"] = _volumes(found, pod["spec"].get("volumes") or [], ordinal)
    return {**pod, "metadata": {**pod["metadata"], "name": name, "labels": labels}, "spec": spec}


def _volumes(found: StatefulSetView, others: list[Json], ordinal: int) -> list[Json]:
    """The volumes of a pod; its claims replace volumes of the same name."""
    claims = {each["metadata"]["name"]: claim_name(found, each, ordinal) for each in found.spec.volume_claim_templates}
    mounted = [{"name": name, "persistentVolumeClaim": {"claimName": claim}} for name, claim in claims.items()]
    return [*mounted, *(each for each in others if each["name"] not in claims)]


def numbered_claim(found: StatefulSetView, template: TemplateJson, ordinal: int) -> dict[str, Json]:
    """A claim of the pod with an ordinal."""
    metadata = template.get("metadata") or {}
    selected = found.spec.selector.match_labels if found.spec.selector is not None else {}
    place = {"name": claim_name(found, template, ordinal), "namespace": found.metadata.namespace}
    labels = {**(metadata.get("labels") or {}), **selected}
    kept = {key: value for key, value in metadata.items() if key in ("annotations", "finalizers") and value}
    return {"metadata": {**kept, **place, "labels": labels}, "spec": template.get("spec") or {}}
