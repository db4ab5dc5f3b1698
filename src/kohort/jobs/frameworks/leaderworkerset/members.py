"""The pods of a LeaderWorkerSet: each joins the pod group of its index (JOB-185)."""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from datetime import datetime
from typing import ClassVar, Final

from kohort.api.codec import JsonObject
from kohort.api.core.apps import StatefulSet
from kohort.api.kueue.keys import QUEUE_NAME_LABEL
from kohort.api.meta import ObjectKey
from kohort.api.resource import Resource
from kohort.jobs.contract import ClusterReader, IndexValues, JobKey, WatchedKind
from kohort.jobs.defaulting.job_context import set_annotation, set_label
from kohort.jobs.effects import PatchObject
from kohort.jobs.frameworks.leaderworkerset.groups import (
    FRAMEWORK,
    GROUP_INDEX_LABEL,
    LEADER,
    LEADER_NAME_ANNOTATION,
    MAIN,
    NAME_LABEL,
    SETS,
    WORKER,
    group_size,
    group_workload_name,
    has_leader,
)
from kohort.jobs.frameworks.pods.loading import PODS
from kohort.jobs.frameworks.pods.members import is_terminated
from kohort.jobs.frameworks.pods.writes import drop_gates, remove_finalizer
from kohort.jobs.frameworks.statefulset.sets import is_outgoing
from kohort.jobs.keys import (
    ADMISSION_GATE,
    MANAGED_LABEL,
    POD_GROUP_NAME,
    POD_GROUP_TOTAL_COUNT_ANNOTATION,
    PREBUILT_WORKLOAD,
    ROLE_HASH_ANNOTATION,
    SUSPENDING_PARENT_ANNOTATION,
    TOPOLOGY_GATE,
)
from kohort.jobs.objects import annotations, controller_owner, gates, is_terminating, labels, metadata, queue_name
from kohort.jobs.planners import Planner
from kohort.jobs.reconcile_pass import PassPlan, PassReader

BY_SET: Final = "leaderworkerset"
"""Index of pods by namespace and LeaderWorkerSet."""
STATEFULSETS: Final = StatefulSet.resource
ORPHAN_AGE: Final = 60.0
"""Seconds after which an owner that is not cached counts as deleted: caches are not older."""


def _set_values(pod: JsonObject) -> Iterable[str]:
    name = labels(pod).get(NAME_LABEL)
    return (f"{metadata(pod).get('namespace', '')}/{name}",) if name and _is_member(pod) else ()


def _pods_of_set(obj: JsonObject, reads: ClusterReader) -> Iterable[JobKey]:
    """The pods of a LeaderWorkerSet."""
    return _pods(obj, metadata(obj).get("name", ""), reads)


def _outgoing_pods(obj: JsonObject, reads: ClusterReader) -> Iterable[JobKey]:
    """The pods of a StatefulSet during a rollout (JOB-26)."""
    status = obj.get("status") or {}
    name = labels(obj).get(NAME_LABEL)
    return _pods(obj, name, reads) if name and status.get("currentRevision") != status.get("updateRevision") else ()


def _pods(obj: JsonObject, name: str, reads: ClusterReader) -> list[JobKey]:
    namespace = metadata(obj).get("namespace", "")
    pods = reads.find(PODS, BY_SET, f"{namespace}/{name}")
    return [JobKey(namespace, metadata(pod)["name"]) for pod in pods]


class GroupMemberPlanner(Planner):
    """Plans the pods of LeaderWorkerSets."""

    name: ClassVar[str] = "leaderworkerset_pod"
    resource: ClassVar[Resource] = PODS
    is_top_level: ClassVar[bool] = True
    indexes: ClassVar[Mapping[str, IndexValues]] = {BY_SET: _set_values}
    watches: ClassVar[tuple[WatchedKind, ...]] = (
        WatchedKind(SETS, _pods_of_set, delay=1.0),
        WatchedKind(STATEFULSETS, _outgoing_pods, delay=1.0),
    )

    def key(self, obj: JsonObject) -> JobKey | None:
        """The key of a pod that a LeaderWorkerSet gates, else None."""
        return super().key(obj) if _is_member(obj) else None

    def plan(self, obj: JsonObject, ancestor: JsonObject | None, reads: PassReader) -> PassPlan:
        """Add a pod to its group; remove the gates of one that is outside of it."""
        if is_terminated(obj) or is_terminating(obj):
            return PassPlan(remove_finalizer(obj))
        owner = controller_owner(obj)
        if owner is None or owner.get("kind") != STATEFULSETS.kind:
            return PassPlan()  # it is queued on its own (DEV-9)
        namespace = metadata(obj).get("namespace", "")
        stateful_set = reads.get(STATEFULSETS, ObjectKey(namespace, owner.get("name", "")))
        parent = reads.get(SETS, ObjectKey(namespace, labels(obj).get(NAME_LABEL, "")))
        if parent is None or stateful_set is None:
            return _orphaned(obj, reads.now)
        if is_terminating(parent):
            return PassPlan()
        if is_outgoing(obj, stateful_set):
            return _ungated(obj)
        member = deepcopy(obj)
        if queue_name(parent) or reads.configuration.manage_jobs_without_queue_name:
            _stamp(member, parent, reads)
        return PassPlan((PatchObject(obj, member),) if member != obj else ())


def _is_member(pod: JsonObject) -> bool:
    return annotations(pod).get(SUSPENDING_PARENT_ANNOTATION) == FRAMEWORK


def _orphaned(pod: JsonObject, now: datetime) -> PassPlan:
    """Let a pod without owners run, once they can't merely be missing from the caches (DEV-12)."""
    created = metadata(pod).get("creationTimestamp")
    age = (now - datetime.fromisoformat(created)).total_seconds() if created else ORPHAN_AGE
    return _ungated(pod) if age >= ORPHAN_AGE else PassPlan(requeue_after=ORPHAN_AGE - age)


def _ungated(pod: JsonObject) -> PassPlan:
    ungated = deepcopy(pod)
    drop_gates(ungated, ADMISSION_GATE, TOPOLOGY_GATE)
    return PassPlan((PatchObject(pod, ungated),) if ungated != pod else ())


def _stamp(member: JsonObject, parent: JsonObject, reads: PassReader) -> None:
    index = labels(member).get(GROUP_INDEX_LABEL)
    if index is None:
        return
    name = group_workload_name(parent, index, reads.gates)
    set_label(member, MANAGED_LABEL, "true")
    if queue_name(parent) and gates(member):
        set_label(member, QUEUE_NAME_LABEL, queue_name(parent))
    stamps = {
        PREBUILT_WORKLOAD: name,
        POD_GROUP_NAME: name,
        POD_GROUP_TOTAL_COUNT_ANNOTATION: str(group_size(parent)),
        ROLE_HASH_ANNOTATION: _role(member, parent),
    }
    if annotations(member).get(POD_GROUP_NAME) != name:
        for key, value in stamps.items():
            set_annotation(member, key, value)


def _role(pod: JsonObject, parent: JsonObject) -> str:
    if not has_leader(parent):
        return MAIN
    return WORKER if LEADER_NAME_ANNOTATION in annotations(pod) else LEADER
