"""Checks the types of a job on which a rule of `jobs` has raised.

API servers validate built-in kinds before they call a webhook; other clients can send anything.
"""

from collections.abc import Sequence

from kohort.api.codec import Json, decode, decode_json
from kohort.api.core.apps import Deployment, ReplicaSet, StatefulSet
from kohort.api.core.batch import CronJob, Job
from kohort.api.core.objects import ObjectView
from kohort.api.core.pods import Pod
from kohort.api.errors import DecodeError
from kohort.api.resource import Resource
from kohort.webhooks.reviews import AdmissionRequest

_SHAPES: dict[tuple[str, str], tuple[type[ObjectView], tuple[str, ...]]] = {
    ("", "Pod"): (Pod, ("spec",)),
    ("apps", "Deployment"): (Deployment, ("spec", "template", "spec")),
    ("apps", "ReplicaSet"): (ReplicaSet, ("spec", "template", "spec")),
    ("apps", "StatefulSet"): (StatefulSet, ("spec", "template", "spec")),
    ("batch", "CronJob"): (CronJob, ("spec", "jobTemplate", "spec", "template", "spec")),
    ("batch", "Job"): (Job, ("spec", "template", "spec")),
}
"""The view of each kind, and the path of its pod spec, which is required."""


def check_shape(request: AdmissionRequest, resource: Resource) -> None:
    """Check the types of the new and the old object; raises DecodeError for the first error."""
    shape, pods = _SHAPES.get((resource.group, resource.kind), (ObjectView, ()))
    for each in (request.object, request.old):
        if each is not None:
            decode(each, shape)
            _find(decode_json(each), pods)


def _find(value: Json, path: Sequence[str]) -> None:
    for index, name in enumerate(path):
        value = value.get(name)
        if value is None:
            raise DecodeError(f"{'.'.join(path[: index + 1])} is required")
