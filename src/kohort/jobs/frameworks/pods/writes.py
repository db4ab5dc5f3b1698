"""Effects on single pods: gate, ungate, stop, remove the finalizer."""

from copy import deepcopy
from dataclasses import replace
from datetime import datetime

from kohort.api.codec import JsonObject
from kohort.api.times import format_time
from kohort.engine.lifecycle.writes import WriteTarget
from kohort.jobs.contract import Stop, stopped_event
from kohort.jobs.defaulting.job_context import set_label
from kohort.jobs.effects import DeleteObject, Effect, PatchObject, record_event
from kohort.jobs.frameworks.pods.members import is_finalized
from kohort.jobs.keys import (
    ADMISSION_GATE,
    MANAGED_FINALIZER,
    MANAGED_LABEL,
    SUSPENDING_PARENT_ANNOTATION,
    TOPOLOGY_GATE,
)
from kohort.jobs.objects import annotations, gates, is_terminating, metadata, uid
from kohort.jobs.podsets import PodSetInfo, merge_info
from kohort.kube.options import DeletionOptions

TERMINATION_TARGET = "TerminationTarget"


def gate_pod(pod: JsonObject) -> None:
    """Gate a new pod until admission, in place (JOB-145)."""
    if SUSPENDING_PARENT_ANNOTATION not in annotations(pod):
        set_label(pod, MANAGED_LABEL, "true")
        if is_finalized(pod):
            pod["metadata"]["finalizers"] = [*(metadata(pod).get("finalizers") or ()), MANAGED_FINALIZER]
    add_gate(pod, ADMISSION_GATE)


def add_gate(pod: JsonObject, gate: str) -> None:
    """Add a scheduling gate to a pod, in place."""
    if gate not in gates(pod):
        spec = pod["spec"] = pod.get("spec") or {}
        spec["schedulingGates"] = [*(spec.get("schedulingGates") or ()), {"name": gate}]


def drop_gates(pod: JsonObject, *names: str) -> None:
    """Remove scheduling gates of a pod, in place."""
    kept = [gate for gate in gates(pod) if gate not in names]
    if len(kept) == len(gates(pod)):
        return
    pod["spec"]["schedulingGates"] = [{"name": gate} for gate in kept]
    if not kept:
        del pod["spec"]["schedulingGates"]


def ungate_pod(pod: JsonObject, info: PodSetInfo) -> None:
    """Merge the info of its pod set into a pod, and remove the admission gate, in place (JOB-150).

    The topology gate stays if the info has it. An existing pod can't get a gate: one that was created while
    topology-aware scheduling was off starts in any domain (TAS-92).
    """
    merge_info(pod, replace(info, scheduling_gates=()))
    drop_gates(pod, *({ADMISSION_GATE, TOPOLOGY_GATE} - set(info.scheduling_gates)))


def remove_finalizer(pod: JsonObject) -> tuple[Effect, ...]:
    """Remove Kueue's finalizer of a pod."""
    return () if is_finalized(pod) else (PatchObject(pod, _without_finalizer(pod)),)


def _without_finalizer(pod: JsonObject) -> JsonObject:
    kept = [name for name in metadata(pod).get("finalizers") or () if name != MANAGED_FINALIZER]
    return {**pod, "metadata": {**metadata(pod), "finalizers": kept or None}}


def stop_pod(pod: JsonObject, stop: Stop, now: datetime) -> tuple[Effect, ...]:
    """Set the pod's TerminationTarget condition, and delete it (JOB-151)."""
    marked = _marked(pod, stop, now)
    return (
        PatchObject(pod, marked, WriteTarget.STATUS),
        DeleteObject(pod, DeletionOptions(uid=uid(pod))),
        stopped_event(pod, stop),
    )


def _marked(pod: JsonObject, stop: Stop, now: datetime) -> JsonObject:
    marked = deepcopy(pod)
    status = marked["status"] = marked.get("status") or {}
    others = [each for each in status.get("conditions") or () if each.get("type") != TERMINATION_TARGET]
    target = {
        "type": TERMINATION_TARGET,
        "status": "True",
        "reason": stop.termination_reason,
        "message": stop.message,
        "lastTransitionTime": format_time(now),
    }
    status["conditions"] = [*others, target]
    return marked


def drop_excess(pod: JsonObject) -> tuple[Effect, ...]:
    """Delete a pod in excess of its group's count (JOB-161).

    No expectation guards it: what a cache shows only moves forward and the finalizer goes first, so the next pass can
    only choose the same pod, whose deletion by UID may be repeated; then no event is recorded again.
    """
    if is_terminating(pod):
        return remove_finalizer(pod)
    is_repeated = is_finalized(pod) and SUSPENDING_PARENT_ANNOTATION not in annotations(pod)
    recorded = () if is_repeated else (record_event(pod, "ExcessPodDeleted", "Excess pod deleted"),)
    return *remove_finalizer(pod), DeleteObject(pod, DeletionOptions(uid=uid(pod))), *recorded
