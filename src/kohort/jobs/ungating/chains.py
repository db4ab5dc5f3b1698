"""Which Workloads and pods belong together: slices of an elastic job share the name of the first (JOB-82, TAS-68)."""

from collections.abc import Iterable

from kohort.api.codec import JsonObject
from kohort.api.kueue.v1beta2 import Workload
from kohort.engine.lifecycle.conditions import is_admitted, is_evicted, is_finished
from kohort.jobs.keys import ELASTIC_JOB_ANNOTATION, PODSET_LABEL, SLICE_NAME_ANNOTATION, WORKLOAD_ANNOTATION
from kohort.jobs.objects import annotations, labels

OVER = ("Succeeded", "Failed")


def is_slice(workload: Workload) -> bool:
    """Whether the Workload is a slice of an elastic job."""
    return workload.metadata.annotations.get(ELASTIC_JOB_ANNOTATION) == "true"


def chain_of(workload: Workload) -> str:
    """The name that all slices of a job share, that of the first; the name of any other Workload."""
    named = workload.metadata.annotations.get(SLICE_NAME_ANNOTATION, "") if is_slice(workload) else ""
    return named or workload.metadata.name


def workload_named_by(pod: JsonObject) -> str:
    """The chain, or else the Workload, that a pod was started for; empty for unmanaged pods."""
    found = annotations(pod)
    return found.get(SLICE_NAME_ANNOTATION) or found.get(WORKLOAD_ANNOTATION) or ""


def serving_slice(slices: Iterable[Workload]) -> Workload | None:
    """The newest slice that allows pods to run; `slices` are oldest first."""
    fit = [each for each in slices if is_admitted(each) and not is_finished(each) and not is_evicted(each)]
    return fit[-1] if fit else None


def in_pod_set(pod: JsonObject, name: str) -> bool:
    """Whether the pod was started for the pod set of that name."""
    return labels(pod).get(PODSET_LABEL) == name


def has_ended(pod: JsonObject) -> bool:
    """Whether the pod has succeeded or failed."""
    return (pod.get("status") or {}).get("phase") in OVER
