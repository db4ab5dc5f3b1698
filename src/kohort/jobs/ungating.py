"""Which gated pods of an elastic job to ungate: up to the counts of its newest admitted slice (JOB-84)."""

from collections.abc import Iterable, Sequence
from copy import deepcopy
from typing import Any

from kohort.api.codec import JsonObject
from kohort.api.kueue.v1beta2 import Workload
from kohort.engine.lifecycle.conditions import is_admitted, is_evicted, is_finished
from kohort.jobs.effects import PatchObject
from kohort.jobs.keys import (
    ELASTIC_GATE,
    ELASTIC_JOB_ANNOTATION,
    PODSET_LABEL,
    SLICE_NAME_ANNOTATION,
    WORKLOAD_ANNOTATION,
)
from kohort.jobs.objects import annotations, gates, is_terminating, labels, metadata

OVER = ("Succeeded", "Failed")


def is_slice(workload: Workload) -> bool:
    """Whether the Workload is a slice of an elastic job."""
    return workload.metadata.annotations.get(ELASTIC_JOB_ANNOTATION) == "true"


def chain_of(workload: Workload) -> str:
    """The name that all slices of a job share: that of the first (JOB-82)."""
    return workload.metadata.annotations.get(SLICE_NAME_ANNOTATION) or workload.metadata.name


def slice_named_by(pod: JsonObject) -> str:
    """The chain, or else the Workload, that a pod was started for; empty for unmanaged pods."""
    found = annotations(pod)
    return found.get(SLICE_NAME_ANNOTATION) or found.get(WORKLOAD_ANNOTATION) or ""


def is_gated(pod: JsonObject) -> bool:
    """Whether the pod has the elastic-job gate."""
    return ELASTIC_GATE in gates(pod)


def serving_slice(slices: Iterable[Workload]) -> Workload | None:
    """The newest slice that allows pods to run; `slices` are oldest first."""
    fit = [each for each in slices if is_admitted(each) and not is_finished(each) and not is_evicted(each)]
    return fit[-1] if fit else None


def ungate(workload: Workload, pods: Sequence[JsonObject]) -> list[PatchObject]:
    """The pods to ungate, by name, within the capacity of each pod set (JOB-84)."""
    living = [pod for pod in pods if not _is_over(pod)]
    return [patch for pod_set in workload.spec.pod_sets for patch in _ungate_set(workload, pod_set, living)]


def _ungate_set(workload: Workload, pod_set: Any, pods: Sequence[JsonObject]) -> list[PatchObject]:
    mine = [pod for pod in pods if labels(pod).get(PODSET_LABEL) == pod_set.name]
    gated = sorted((pod for pod in mine if is_gated(pod)), key=lambda pod: str(metadata(pod).get("name")))
    capacity = pod_set.count - (len(mine) - len(gated))
    freed = [_freed(pod, workload, pod_set.name) for pod in gated[: max(capacity, 0)]]
    return [PatchObject(pod, after) for pod, after in zip(gated, freed, strict=False) if after is not None]


def _is_over(pod: JsonObject) -> bool:
    return is_terminating(pod) or (pod.get("status") or {}).get("phase") in OVER


def _freed(pod: JsonObject, workload: Workload, pod_set: str) -> JsonObject | None:
    """The pod without its gate, with the updates of admission checks; None if they conflict with it."""
    freed = deepcopy(pod)
    spec = freed["spec"]
    spec["schedulingGates"] = [gate for gate in spec["schedulingGates"] if gate.get("name") != ELASTIC_GATE]
    if not spec["schedulingGates"]:
        del spec["schedulingGates"]
    for check in workload.status.admission_checks:
        for update in check.pod_set_updates:
            if update.name == pod_set and not (
                _adds(spec, "nodeSelector", update.node_selector)
                and _adds(freed["metadata"], "annotations", update.annotations)
            ):
                return None
    return freed


def _adds(owner: dict[str, Any], name: str, added: dict[str, str]) -> bool:
    """Add absent values; returns False on a conflict."""
    if not added:
        return True
    present = owner.setdefault(name, {})
    return all(present.setdefault(key, value) == value for key, value in added.items())
