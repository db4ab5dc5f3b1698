"""Builds the manifests of a Job's pods from its template."""

from collections.abc import Sequence
from typing import Any, Final

from kohort.api.codec import Json, decode_json
from kohort.embedded.controllers.jobs.pod_changes import NewPod
from kohort.embedded.controllers.jobs.views import INDEX, INDEX_FAILURES, INDEX_IGNORED, TRACKING, JobView
from kohort.embedded.controllers.pod_control import pod_from_template

MAX_PREFIX_LENGTH: Final = 58
"""Maximum length of generateName: five random characters complete the 63 of a host name."""
_VARIABLE: Final = {
    "name": "JOB_COMPLETION_INDEX",
    "valueFrom": {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}},
}


def build_pods(job: JobView, wanted: Sequence[NewPod]) -> list[dict[str, Json]]:
    """Manifests for new pods of a Job."""
    template = decode_json(job.spec.template)
    if job.is_indexed:
        template = {**template, "spec": _with_variable(template["spec"])}
    pattern = pod_from_template(template, job)
    metadata = pattern["metadata"]
    finalizers = [each for each in metadata.get("finalizers", ()) if each != TRACKING]
    pattern = {**pattern, "metadata": {**metadata, "finalizers": [*finalizers, TRACKING]}}
    return [_indexed(job, pattern, new) if job.is_indexed else pattern for new in wanted]


def _indexed(job: JobView, pattern: dict[str, Any], new: NewPod) -> dict[str, Json]:
    index, metadata = str(new.index), pattern["metadata"]
    annotations = {**metadata.get("annotations", {}), INDEX: index, **_failures(new)}
    labels = {**metadata.get("labels", {}), INDEX: index}
    prefix = {"generateName": indexed_prefix(job.metadata.name, index)}
    spec = {**pattern["spec"], "hostname": f"{job.metadata.name}-{index}"}
    return {**pattern, "metadata": {**metadata, **prefix, "annotations": annotations, "labels": labels}, "spec": spec}


def indexed_prefix(job: str, index: str) -> str:
    """generateName of an index's pod; a long Job name is truncated, the index is not."""
    tail = f"-{index}-"
    return job[: MAX_PREFIX_LENGTH - len(tail)] + tail


def _failures(new: NewPod) -> dict[str, str]:
    if new.failures is None:
        return {}
    ignored = {INDEX_IGNORED: str(new.failures.ignored)} if new.failures.ignored else {}
    return {INDEX_FAILURES: str(new.failures.counted), **ignored}


def _with_variable(spec: dict[str, Any]) -> dict[str, Json]:
    """Adds JOB_COMPLETION_INDEX to the containers; a variable set by the user is kept."""
    kinds = [kind for kind in ("initContainers", "containers") if spec.get(kind)]
    return {**spec, **{kind: [_with_index(container) for container in spec[kind]] for kind in kinds}}


def _with_index(container: dict[str, Any]) -> dict[str, Json]:
    variables = container.get("env") or []
    if any(each.get("name") == _VARIABLE["name"] for each in variables):
        return container
    return {**container, "env": [*variables, _VARIABLE]}
