"""Pod templates with the defaults that API servers set in pods (JOB-134).

An API server sets none in a wrapped object, which has no type for it.
"""

from copy import deepcopy
from typing import Any, Final

from kohort.api.codec import JsonObject, without_nulls
from kohort.jobs.normalising import default_pull_policy

_OF_PODS: Final[JsonObject] = {
    "restartPolicy": "Always",
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
    "securityContext": {},
    "terminationGracePeriodSeconds": 30,
    "preemptionPolicy": "PreemptLowerPriority",
}
_OF_CONTAINERS: Final[JsonObject] = {
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
_GROUPS: Final = ("initContainers", "containers")
_METADATA: Final = ("labels", "annotations")


def defaulted_template(template: JsonObject) -> JsonObject:
    """A copy with defaults, and of its metadata what pods get from a template: a wrapped Pod has more."""
    copied = without_nulls(template)
    metadata, spec = copied.get("metadata") or {}, copied["spec"]
    groups = {name: [_container(each) for each in spec[name]] for name in _GROUPS if spec.get(name)}
    kept = {name: metadata[name] for name in _METADATA if name in metadata}
    return {"metadata": kept, "spec": _with_defaults({**spec, **groups}, _OF_PODS)}


def _container(container: JsonObject) -> JsonObject:
    policy = default_pull_policy(container.get("image") or "")
    return _with_defaults(container, {**_OF_CONTAINERS, "imagePullPolicy": policy})


def _with_defaults(value: JsonObject, defaults: dict[str, Any]) -> JsonObject:
    absent = {name: deepcopy(default) for name, default in defaults.items() if value.get(name) in (None, "")}
    return {**value, **absent}
