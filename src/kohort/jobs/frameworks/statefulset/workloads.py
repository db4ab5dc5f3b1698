"""The Workload of a StatefulSet: created when the set has replicas, on hold while it has none (JOB-176, JOB-178)."""

from collections.abc import Sequence
from copy import deepcopy
from typing import ClassVar

from msgspec.structs import replace

from kohort.api.codec import JsonObject
from kohort.api.kueue.keys import QUEUE_NAME_LABEL
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.meta import ObjectKey
from kohort.api.resource import Resource
from kohort.engine.lifecycle import reasons
from kohort.engine.lifecycle.admission import drop_reservation
from kohort.engine.lifecycle.conditions import is_finished, is_on_hold, is_reserved
from kohort.jobs.contract import JobKey, WatchedKind
from kohort.jobs.defaulting.job_context import set_label
from kohort.jobs.effects import Effect, PatchObject, PatchWorkload
from kohort.jobs.frameworks.pods.loading import BY_GROUP, PODS
from kohort.jobs.frameworks.pods.parents import is_foreign, replicas_of
from kohort.jobs.frameworks.pods.serving import (
    SetOwner,
    annotations_with_gates,
    create_group_workload,
    is_queued,
    update_group_workload,
)
from kohort.jobs.frameworks.pods.writes import drop_gates
from kohort.jobs.frameworks.statefulset.members import set_of
from kohort.jobs.frameworks.statefulset.sets import (
    FRAMEWORK,
    STATEFULSETS,
    is_outgoing,
    set_pod_set,
    set_workload_name,
)
from kohort.jobs.keys import ADMISSION_GATE, MULTIKUEUE_ORIGIN_LABEL, TOPOLOGY_GATE
from kohort.jobs.objects import labels, metadata, queue_name, uid
from kohort.jobs.planners import Planner
from kohort.jobs.podsets import JobPodSet
from kohort.jobs.reconcile_pass import PassPlan, PassReader
from kohort.jobs.workload_builder import stored

MANAGER = "kueue-statefulset-controller"
ON_HOLD = "StatefulSet scaled to zero; workload on hold"
NO_LONGER_ON_HOLD = "Workload no longer on hold; waiting for quota reservation"


class SetPlanner(Planner):
    """Plans StatefulSets and their Workloads."""

    name: ClassVar[str] = FRAMEWORK
    resource: ClassVar[Resource] = STATEFULSETS
    watches: ClassVar[tuple[WatchedKind, ...]] = (WatchedKind(PODS, set_of, delay=1.0),)
    follows_workloads: ClassVar[bool] = True

    def key(self, obj: JsonObject) -> JobKey | None:
        """The key of a set, or None if another framework manages it (JOB-175)."""
        return None if is_foreign(obj, FRAMEWORK) else super().key(obj)

    def plan(self, obj: JsonObject, ancestor: JsonObject | None, reads: PassReader) -> PassPlan:
        """The plan for a StatefulSet, its pods and its Workload."""
        if not is_queued(obj, ancestor, reads):
            return PassPlan()
        key = ObjectKey(metadata(obj).get("namespace", ""), set_workload_name(obj, reads.gates))
        pods = reads.find(PODS, BY_GROUP, f"{key.namespace}/{key.name}")
        workload = reads.workload(key)
        settled = _new(obj, reads) if workload is None else _in_line(obj, workload, reads)
        return PassPlan((*_pods_in_line(obj, pods), *settled))


# Pods


def _pods_in_line(obj: JsonObject, pods: Sequence[JsonObject]) -> list[Effect]:
    effects: list[Effect] = []
    for pod in pods:
        changed = deepcopy(pod)
        if replicas_of(obj) and queue_name(obj):
            set_label(changed, QUEUE_NAME_LABEL, queue_name(obj))
        if is_outgoing(pod, obj):
            drop_gates(changed, ADMISSION_GATE, TOPOLOGY_GATE)
        if changed != pod:
            effects.append(PatchObject(pod, changed))
    return effects


# The Workload


def _new(obj: JsonObject, reads: PassReader) -> tuple[Effect, ...]:
    """Create a Workload for a set with replicas; on a worker cluster it comes from the manager cluster (JOB-176)."""
    if not replicas_of(obj) or MULTIKUEUE_ORIGIN_LABEL in labels(obj):
        return ()
    return create_group_workload(
        SetOwner(STATEFULSETS, obj), set_workload_name(obj, reads.gates), _pod_sets(obj, reads), reads
    )


def _pod_sets(obj: JsonObject, reads: PassReader) -> list[JobPodSet]:
    return [set_pod_set(obj, reads.gates)]


def _in_line(obj: JsonObject, workload: Workload, reads: PassReader) -> list[Effect]:
    """Update owner, queue, gates and size from the set, and hold the Workload without replicas (JOB-178)."""
    followed = _followed(obj, workload, reads)
    effects = update_group_workload(obj, workload, followed, MANAGER)
    held = _held(obj, followed, reads)
    if held is not followed:
        effects.append(PatchWorkload(followed, held, MANAGER))
    return effects


def _followed(obj: JsonObject, workload: Workload, reads: PassReader) -> Workload:
    head, spec, owner = workload.metadata, workload.spec, SetOwner(STATEFULSETS, obj)
    noted = annotations_with_gates(obj, workload, reads)
    owners = head.owner_references
    if replicas_of(obj) and all(each.uid != uid(obj) for each in owners):
        owners, noted = (*owners, owner.reference), noted | owner.marks
    if replicas_of(obj):
        spec = replace(spec, queue_name=queue_name(obj) or None)
    if replicas_of(obj) and is_on_hold(workload):
        spec = replace(spec, pod_sets=stored(_pod_sets(obj, reads), reads.gates))
    followed = replace(workload, metadata=replace(head, annotations=noted, owner_references=owners), spec=spec)
    return workload if followed == workload else followed


def _held(obj: JsonObject, workload: Workload, reads: PassReader) -> Workload:
    if replicas_of(obj):
        if not is_on_hold(workload):
            return workload
        reason = reasons.controller_reason(reasons.PENDING_EVALUATION, reads.gates)
        return drop_reservation(workload, reason, NO_LONGER_ON_HOLD, reads.gates, reads.now)
    if not is_reserved(workload) or is_finished(workload):
        return workload
    return drop_reservation(workload, reasons.ON_HOLD, ON_HOLD, reads.gates, reads.now)
