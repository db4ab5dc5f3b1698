"""Allowed updates of a queued StatefulSet: not its size, except to zero and back, nor the shape of its pods."""

from collections.abc import Iterator

from kohort.api.codec import JsonObject
from kohort.api.fields import ROOT, FieldError, forbidden, invalid
from kohort.api.meta import ObjectKey
from kohort.engine.lifecycle.conditions import is_on_hold
from kohort.jobs.contract import ClusterReader
from kohort.jobs.frameworks.pods.parents import replicas_of
from kohort.jobs.frameworks.pods.shape import IMMUTABLE, shape_change_errors
from kohort.jobs.frameworks.statefulset.sets import set_workload_name
from kohort.jobs.objects import metadata

REPLICAS = ROOT / "spec" / "replicas"
POD_SPEC = ROOT / "spec" / "template" / "spec"
RULE = "JOB-178"


def change_errors(old: JsonObject, new: JsonObject, reads: ClusterReader) -> list[FieldError]:
    """Errors of an update; without replicas the pod template may change (DEV-5)."""
    if replicas_of(old) == 0:
        return list(_scale_up_errors(old, new, reads))
    return [*shape_change_errors(_pod_spec(new), _pod_spec(old), POD_SPEC), *_resize_errors(old, new)]


def _pod_spec(obj: JsonObject) -> JsonObject:
    spec: JsonObject = ((obj.get("spec") or {}).get("template") or {}).get("spec") or {}
    return spec


def _resize_errors(old: JsonObject, new: JsonObject) -> Iterator[FieldError]:
    if replicas_of(new) not in (0, replicas_of(old)):
        yield invalid(REPLICAS, replicas_of(new), IMMUTABLE, RULE)


def _scale_up_errors(old: JsonObject, new: JsonObject, reads: ClusterReader) -> Iterator[FieldError]:
    if replicas_of(new) == 0:
        return
    if (new.get("status") or {}).get("replicas"):
        yield forbidden(REPLICAS, "scaling down is still in progress", RULE)
        return
    namespace = metadata(old).get("namespace", "")
    workload = reads.workload(ObjectKey(namespace, set_workload_name(old, reads.gates)))
    if workload is not None and not is_on_hold(workload):
        yield forbidden(REPLICAS, "workload from previous scale-down is still being deleted", RULE)
