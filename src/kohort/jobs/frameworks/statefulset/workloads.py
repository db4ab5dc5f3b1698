"""The Workload of a StatefulSet: created when the set has replicas, on hold while it has none (JOB-176, JOB-178)."""

from collections.abc import Sequence
from copy import deepcopy
from typing import ClassVar

from msgspec.structs import replace

from kohort.api.codec import JsonObject
from kohort.api.gates import Gate
from kohort.api.kueue.group import RESOURCE_IN_USE_FINALIZER
from kohort.api.kueue.keys import ADMISSION_GATED_BY_ANNOTATION, JOB_UID_LABEL, QUEUE_NAME_LABEL
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.v1beta2.workload import WorkloadSpec
from kohort.api.meta import ObjectKey, ObjectMeta, OwnerReference
from kohort.api.resource import Resource
from kohort.engine.lifecycle import reasons
from kohort.engine.lifecycle.admission import drop_reservation
from kohort.engine.lifecycle.conditions import is_finished, is_on_hold, is_reserved
from kohort.engine.lifecycle.writes import WriteTarget
from kohort.jobs.contract import JobKey, WatchedKind
from kohort.jobs.defaulting.job_context import set_label
from kohort.jobs.effects import CreateWorkload, Effect, PatchObject, PatchWorkload, record_event
from kohort.jobs.frameworks.pods.loading import BY_GROUP, PODS
from kohort.jobs.frameworks.pods.parents import is_foreign, replicas_of
from kohort.jobs.frameworks.pods.writes import drop_gates
from kohort.jobs.frameworks.statefulset.members import set_of
from kohort.jobs.frameworks.statefulset.sets import (
    FRAMEWORK,
    STATEFULSETS,
    is_outgoing,
    set_pod_set,
    set_workload_name,
)
from kohort.jobs.keys import (
    ADMISSION_GATE,
    GROUP_WORKLOAD_ANNOTATION,
    JOB_OWNER_GVK_ANNOTATION,
    JOB_OWNER_NAME_ANNOTATION,
    MULTIKUEUE_ORIGIN_LABEL,
    TOPOLOGY_GATE,
)
from kohort.jobs.objects import annotations, is_terminating, labels, metadata, queue_name, uid
from kohort.jobs.planners import Planner
from kohort.jobs.priority import resolve_priority, with_priority
from kohort.jobs.reconcile_pass import PassPlan, PassReader
from kohort.jobs.scope import selects_namespace
from kohort.jobs.workload_builder import copied_annotations, stored, with_demand

MANAGER = "kueue-statefulset-controller"
OWNER_GVK = f"{STATEFULSETS.api_version}, Kind={STATEFULSETS.kind}"
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
        if not _is_ours(obj, ancestor, reads):
            return PassPlan()
        key = ObjectKey(metadata(obj).get("namespace", ""), set_workload_name(obj, reads.gates))
        pods = reads.find(PODS, BY_GROUP, f"{key.namespace}/{key.name}")
        workload = reads.workload(key)
        settled = _new(obj, reads) if workload is None else _in_line(obj, workload, reads)
        return PassPlan((*_pods_in_line(obj, pods), *settled))


def _is_ours(obj: JsonObject, ancestor: JsonObject | None, reads: PassReader) -> bool:
    """Whether the set is managed (JOB-2); one that is being deleted is left to garbage collection."""
    namespace = reads.namespace_labels(metadata(obj).get("namespace", ""))
    if namespace is None or not selects_namespace(reads.configuration, namespace):
        return False
    if ancestor is not None or is_terminating(obj):
        return False
    return bool(queue_name(obj)) or reads.configuration.manage_jobs_without_queue_name


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
    pod_sets = [set_pod_set(obj, reads.gates)]
    head = ObjectMeta(
        name=set_workload_name(obj, reads.gates),
        namespace=metadata(obj).get("namespace", ""),
        labels={JOB_UID_LABEL: uid(obj)},
        annotations={**copied_annotations(obj, reads.configuration, reads.gates), **_marks(obj)},
        owner_references=(_owner(obj),),
        finalizers=(RESOURCE_IN_USE_FINALIZER,),
    )
    built = Workload(metadata=head, spec=WorkloadSpec(pod_sets=stored(pod_sets, reads.gates)))
    priority = resolve_priority(obj, pod_sets, reads)
    recorded = record_event(obj, "CreatedWorkload", f"Created Workload: {head.namespace}/{head.name}")
    return CreateWorkload(with_priority(with_demand(built, obj), priority), obj), recorded


def _owner(obj: JsonObject) -> OwnerReference:
    name = metadata(obj).get("name", "")
    return OwnerReference(api_version=STATEFULSETS.api_version, kind=STATEFULSETS.kind, name=name, uid=uid(obj))


def _marks(obj: JsonObject) -> dict[str, str]:
    return {
        GROUP_WORKLOAD_ANNOTATION: "true",
        JOB_OWNER_GVK_ANNOTATION: OWNER_GVK,
        JOB_OWNER_NAME_ANNOTATION: metadata(obj).get("name", ""),
    }


def _in_line(obj: JsonObject, workload: Workload, reads: PassReader) -> list[Effect]:
    """Update owner, queue, gates and size from the set, and hold the Workload without replicas (JOB-178)."""
    followed = _followed(obj, workload, reads)
    effects: list[Effect] = []
    if followed is not workload:
        effects.append(PatchWorkload(workload, followed, MANAGER, WriteTarget.OBJECT))
    if _gated_by(followed) != _gated_by(workload):
        effects.append(
            record_event(obj, "UpdatedWorkload", f'Updated workload AdmissionGatedBy to "{_gated_by(followed)}"')
        )
    held = _held(obj, followed, reads)
    if held is not followed:
        effects.append(PatchWorkload(followed, held, MANAGER))
    return effects


def _followed(obj: JsonObject, workload: Workload, reads: PassReader) -> Workload:
    head, spec = workload.metadata, workload.spec
    noted = dict(head.annotations)
    if reads.gates.enabled(Gate.AdmissionGatedBy):
        noted.pop(ADMISSION_GATED_BY_ANNOTATION, None)
        gated_by = annotations(obj).get(ADMISSION_GATED_BY_ANNOTATION)
        noted |= {ADMISSION_GATED_BY_ANNOTATION: gated_by} if gated_by else {}
    owners = head.owner_references
    if replicas_of(obj) and all(owner.uid != uid(obj) for owner in owners):
        owners, noted = (*owners, _owner(obj)), noted | _marks(obj)
    if replicas_of(obj):
        spec = replace(spec, queue_name=queue_name(obj) or None)
    if replicas_of(obj) and is_on_hold(workload):
        spec = replace(spec, pod_sets=stored([set_pod_set(obj, reads.gates)], reads.gates))
    followed = replace(workload, metadata=replace(head, annotations=noted, owner_references=owners), spec=spec)
    return workload if followed == workload else followed


def _gated_by(workload: Workload) -> str:
    return workload.metadata.annotations.get(ADMISSION_GATED_BY_ANNOTATION, "")


def _held(obj: JsonObject, workload: Workload, reads: PassReader) -> Workload:
    if replicas_of(obj):
        if not is_on_hold(workload):
            return workload
        reason = reasons.controller_reason(reasons.PENDING_EVALUATION, reads.gates)
        return drop_reservation(workload, reason, NO_LONGER_ON_HOLD, reads.gates, reads.now)
    if not is_reserved(workload) or is_finished(workload):
        return workload
    return drop_reservation(workload, reasons.ON_HOLD, ON_HOLD, reads.gates, reads.now)
