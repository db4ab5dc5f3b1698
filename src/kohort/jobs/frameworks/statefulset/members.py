"""The pods of a StatefulSet: each joins the set's pod group once (JOB-177)."""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import ClassVar

from kohort.api.codec import JsonObject
from kohort.api.kueue.keys import PRIORITY_CLASS_LABEL, QUEUE_NAME_LABEL
from kohort.api.meta import ObjectKey
from kohort.api.resource import Resource
from kohort.jobs.contract import ClusterReader, IndexValues, JobKey, WatchedKind
from kohort.jobs.defaulting.job_context import set_annotation, set_label
from kohort.jobs.effects import PatchObject
from kohort.jobs.frameworks.pods.loading import BY_GROUP, PODS, group_values
from kohort.jobs.frameworks.pods.members import group_name, is_terminated
from kohort.jobs.frameworks.pods.parents import replicas_of
from kohort.jobs.frameworks.pods.writes import remove_finalizer
from kohort.jobs.frameworks.statefulset.sets import (
    FRAMEWORK,
    INDEX_LABELS,
    STATEFULSETS,
    set_workload_name,
)
from kohort.jobs.keys import (
    MANAGED_LABEL,
    POD_GROUP_FAST_ADMISSION_ANNOTATION,
    POD_GROUP_NAME,
    POD_GROUP_SERVING_ANNOTATION,
    POD_GROUP_TOTAL_COUNT_ANNOTATION,
    POD_INDEX_LABEL_ANNOTATION,
    PREBUILT_WORKLOAD,
    ROLE_HASH_ANNOTATION,
    SUSPENDING_PARENT_ANNOTATION,
)
from kohort.jobs.objects import annotations, controller_owner, is_terminating, labels, metadata, queue_name
from kohort.jobs.planners import Planner
from kohort.jobs.reconcile_pass import PassPlan, PassReader

ROLE = "main"


class MemberPlanner(Planner):
    """Plans the pods of StatefulSets."""

    name: ClassVar[str] = "statefulset_pod"
    resource: ClassVar[Resource] = PODS
    is_top_level: ClassVar[bool] = True
    indexes: ClassVar[Mapping[str, IndexValues]] = {BY_GROUP: group_values}
    watches: ClassVar[tuple[WatchedKind, ...]] = (WatchedKind(STATEFULSETS, lambda _set, _reads: ()),)
    """Read only: events of pods and the set's planner trigger changes."""

    def key(self, obj: JsonObject) -> JobKey | None:
        """The key of a pod that a StatefulSet gates, else None."""
        return super().key(obj) if is_member(obj) else None

    def plan(self, obj: JsonObject, ancestor: JsonObject | None, reads: PassReader) -> PassPlan:
        """Add a pod to its set's group; remove the finalizer of a terminated one."""
        return _plan(obj, reads)


def is_member(pod: JsonObject) -> bool:
    """Whether a StatefulSet gates the pod."""
    return annotations(pod).get(SUSPENDING_PARENT_ANNOTATION) == FRAMEWORK


def set_of(pod: JsonObject, reads: ClusterReader) -> Iterable[JobKey]:
    """The StatefulSet to reconcile for an event of a pod."""
    owner = controller_owner(pod)
    if owner is not None and is_member(pod) and _is_set(owner["apiVersion"], owner["kind"]):
        yield JobKey(metadata(pod).get("namespace", ""), owner["name"])


def _is_set(api_version: str, kind: str) -> bool:
    return (api_version, kind) == (STATEFULSETS.api_version, STATEFULSETS.kind)


def _plan(obj: JsonObject, reads: PassReader) -> PassPlan:
    if is_terminated(obj) or is_terminating(obj):
        return PassPlan(remove_finalizer(obj))
    owner = next(iter(set_of(obj, reads)), None)
    parent = reads.get(STATEFULSETS, ObjectKey(owner.namespace, owner.name)) if owner is not None else None
    if parent is None:
        return PassPlan()
    member = deepcopy(obj)
    if group_name(obj) == set_workload_name(parent, reads.gates):
        _update_queue(member, parent)
    elif queue_name(parent) or reads.configuration.manage_jobs_without_queue_name:
        _stamp(member, parent, reads)
    return PassPlan((PatchObject(obj, member),) if member != obj else ())


def _update_queue(member: JsonObject, parent: JsonObject) -> None:
    if queue_name(parent):
        set_label(member, QUEUE_NAME_LABEL, queue_name(parent))


def _stamp(member: JsonObject, parent: JsonObject, reads: ClusterReader) -> None:
    name = set_workload_name(parent, reads.gates)
    set_label(member, MANAGED_LABEL, "true")
    _update_queue(member, parent)
    priority_class = labels(parent).get(PRIORITY_CLASS_LABEL)
    if priority_class:
        set_label(member, PRIORITY_CLASS_LABEL, priority_class)
    stamps = {
        PREBUILT_WORKLOAD: name,
        POD_GROUP_NAME: name,
        POD_GROUP_TOTAL_COUNT_ANNOTATION: str(replicas_of(parent)),
        POD_GROUP_FAST_ADMISSION_ANNOTATION: "true",
        POD_GROUP_SERVING_ANNOTATION: "true",
        POD_INDEX_LABEL_ANNOTATION: INDEX_LABELS.pod,
        ROLE_HASH_ANNOTATION: ROLE,
    }
    for key, value in stamps.items():
        set_annotation(member, key, value)
