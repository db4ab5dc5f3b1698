"""LeaderWorkerSets (§19.3): a Workload for each group, created before its pods, which form a pod group."""

from collections.abc import Iterator
from typing import ClassVar, Final

from kohort.api.codec import JsonObject
from kohort.api.core.objects import ObjectView
from kohort.api.core.templates import pod_templates
from kohort.api.fields import ROOT, FieldError, invalid
from kohort.api.gates import Gate
from kohort.api.kueue.keys import PRIORITY_CLASS_LABEL, QUEUE_NAME_LABEL
from kohort.api.permissions import READ, Permission
from kohort.api.resource import Resource
from kohort.jobs.contract import ClusterReader, UserRoles
from kohort.jobs.defaulting.job_context import set_annotation, set_label
from kohort.jobs.frameworks.leaderworkerset.groups import (
    FRAMEWORK,
    INDEX_LABELS,
    LEADER_PATH,
    SETS,
    WORKER_PATH,
    group_pod_sets,
    group_size,
    has_leader,
)
from kohort.jobs.frameworks.leaderworkerset.members import STATEFULSETS, GroupMemberPlanner
from kohort.jobs.frameworks.leaderworkerset.types import LeaderWorkerSet
from kohort.jobs.frameworks.leaderworkerset.workloads import GroupPlanner
from kohort.jobs.frameworks.pods.parents import PodParent, replicas_of
from kohort.jobs.frameworks.pods.shape import IMMUTABLE, shape_change_errors
from kohort.jobs.keys import (
    POD_GROUP_SERVING_ANNOTATION,
    POD_INDEX_OFFSET_ANNOTATION,
    PODSET_GROUP_ANNOTATION,
    SUSPENDING_PARENT_ANNOTATION,
)
from kohort.jobs.objects import annotations, labels, value_at
from kohort.jobs.planners import Planner
from kohort.jobs.podsets import JobPodSet
from kohort.jobs.topology import IndexLabels

MAX_REPLICAS: Final = 1_000_000
TEMPLATES: Final = ROOT / "spec" / "leaderWorkerTemplate"
RULE = "JOB-186"


class LeaderWorkerSetFramework(PodParent):
    """The framework of LeaderWorkerSets: webhooks, and two controllers in addition to those of pods."""

    name: ClassVar[str] = FRAMEWORK
    resource: ClassVar[Resource] = SETS
    view: ClassVar[type[ObjectView]] = LeaderWorkerSet
    pod_spec: ClassVar[tuple[str, ...]] = (*WORKER_PATH, "spec")
    has_one_pod_set: ClassVar[bool] = False
    index_labels: ClassVar[IndexLabels | None] = INDEX_LABELS
    user_roles: ClassVar[UserRoles | None] = UserRoles()
    dispatches: ClassVar[bool] = True
    planners: ClassVar[tuple[Planner, ...]] = (GroupPlanner(), GroupMemberPlanner())

    @property
    def permissions(self) -> tuple[Permission, ...]:
        """Those of pod parents, to own Workloads, and to find the StatefulSets of its pods."""
        return (
            *super().permissions,
            Permission(SETS.group, (f"{SETS.plural}/finalizers",), ("update",)),
            Permission(STATEFULSETS.group, (STATEFULSETS.plural,), READ),
        )

    def pod_sets(self, obj: JsonObject, reads: ClusterReader) -> list[JobPodSet]:
        """Those of one group (JOB-183)."""
        return group_pod_sets(obj, reads.gates)

    def queued_dependents(self, obj: JsonObject) -> Iterator[JsonObject]:
        """None: a group has one Workload."""
        return iter(())

    def template_counts(self, obj: JsonObject, reads: ClusterReader) -> list[int | None]:
        """The pods of a group, in the order in which the templates are written."""
        counts = {id(value_at(obj, LEADER_PATH)): 1}
        counts[id(value_at(obj, WORKER_PATH))] = group_size(obj) - has_leader(obj)
        return [counts.get(id(template.value)) for template in pod_templates(obj)]

    def suspend(self, obj: JsonObject) -> None:
        """Mark both templates (JOB-184)."""
        for template in _templates(obj):
            set_annotation(template, SUSPENDING_PARENT_ANNOTATION, self.name)
            set_annotation(template, POD_GROUP_SERVING_ANNOTATION, "true")
            for name in (QUEUE_NAME_LABEL, PRIORITY_CLASS_LABEL):
                value = labels(obj).get(name)
                if value:
                    set_label(template, name, value)

    def default(self, obj: JsonObject, reads: ClusterReader) -> None:
        """Number workers after their leader (JOB-184)."""
        if not reads.gates.enabled(Gate.TopologyAwareScheduling) or not has_leader(obj):
            return
        leader, worker = _templates(obj)
        is_marked = annotations(worker).get(SUSPENDING_PARENT_ANNOTATION) == self.name
        if is_marked and PODSET_GROUP_ANNOTATION not in annotations(leader):
            set_annotation(worker, POD_INDEX_OFFSET_ANNOTATION, "1")

    def validate_create(self, obj: JsonObject, reads: ClusterReader) -> list[FieldError]:
        """JOB-184."""
        return list(_replica_errors(obj))

    def validate_update(self, old: JsonObject, new: JsonObject, reads: ClusterReader) -> list[FieldError]:
        """JOB-186."""
        return [*_replica_errors(new), *_group_errors(old, new, reads)]


def _templates(obj: JsonObject) -> list[JsonObject]:
    """The templates of leaders, if there are any, and of workers."""
    found = (value_at(obj, path) for path in (LEADER_PATH, WORKER_PATH))
    return [template for template in found if template is not None]


def _replica_errors(obj: JsonObject) -> Iterator[FieldError]:
    count = replicas_of(obj)
    if not 0 <= count <= MAX_REPLICAS:
        yield invalid(ROOT / "spec" / "replicas", count, f"must be between 0 and {MAX_REPLICAS}", "JOB-184")


def _group_errors(old: JsonObject, new: JsonObject, reads: ClusterReader) -> Iterator[FieldError]:
    if reads.gates.enabled(Gate.LWSImmutableGroupSize) and group_size(old) != group_size(new):
        yield invalid(TEMPLATES / "size", group_size(new), IMMUTABLE, RULE)
    if has_leader(old) != has_leader(new):
        yield invalid(TEMPLATES / "leaderTemplate", value_at(new, LEADER_PATH), IMMUTABLE, RULE)
    elif has_leader(new):
        yield from _shape_errors(old, new, LEADER_PATH)
    yield from _shape_errors(old, new, WORKER_PATH)


def _shape_errors(old: JsonObject, new: JsonObject, path: tuple[str, ...]) -> list[FieldError]:
    was, now = (value_at(obj, (*path, "spec")) or {} for obj in (old, new))
    return shape_change_errors(now, was, TEMPLATES / path[-1] / "spec")
