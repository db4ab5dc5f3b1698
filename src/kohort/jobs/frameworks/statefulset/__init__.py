"""StatefulSets (§19.2): one Workload for all replicas, created before their pods, which form a pod group."""

from collections.abc import Iterator
from typing import ClassVar

from kohort.api.codec import JsonObject
from kohort.api.core.apps import StatefulSet
from kohort.api.core.objects import ObjectView
from kohort.api.fields import FieldError
from kohort.api.permissions import Permission
from kohort.api.resource import Resource
from kohort.jobs.contract import ClusterReader
from kohort.jobs.defaulting.job_context import set_annotation
from kohort.jobs.frameworks.pods.parents import PodParent, pod_template, replicas_of
from kohort.jobs.frameworks.statefulset.changes import change_errors
from kohort.jobs.frameworks.statefulset.members import MemberPlanner
from kohort.jobs.frameworks.statefulset.sets import FRAMEWORK, INDEX_LABELS, STATEFULSETS, set_pod_set
from kohort.jobs.frameworks.statefulset.workloads import SetPlanner
from kohort.jobs.keys import SUSPENDING_PARENT_ANNOTATION
from kohort.jobs.planners import Planner
from kohort.jobs.podsets import JobPodSet
from kohort.jobs.topology import IndexLabels


class StatefulSetFramework(PodParent):
    """The framework of StatefulSets: webhooks, and two controllers in addition to those of pods."""

    name: ClassVar[str] = FRAMEWORK
    resource: ClassVar[Resource] = STATEFULSETS
    view: ClassVar[type[ObjectView]] = StatefulSet
    index_labels: ClassVar[IndexLabels | None] = INDEX_LABELS
    dispatches: ClassVar[bool] = True
    planners: ClassVar[tuple[Planner, ...]] = (SetPlanner(), MemberPlanner())

    @property
    def permissions(self) -> tuple[Permission, ...]:
        """Those of pod parents, and to own Workloads."""
        resource = self.resource
        return (*super().permissions, Permission(resource.group, (f"{resource.plural}/finalizers",), ("update",)))

    def pod_sets(self, obj: JsonObject, reads: ClusterReader) -> list[JobPodSet]:
        """All replicas (JOB-176)."""
        return [set_pod_set(obj, reads.gates)]

    def queued_dependents(self, obj: JsonObject) -> Iterator[JsonObject]:
        """None: all replicas have one Workload."""
        return iter(())

    def suspend(self, obj: JsonObject) -> None:
        """Mark the template; pods get the rest when they exist (JOB-175, JOB-177)."""
        set_annotation(pod_template(obj), SUSPENDING_PARENT_ANNOTATION, self.name)

    def pods_per_workload(self, obj: JsonObject) -> int | None:
        """All replicas; without any, the number that the set is scaled to is not known."""
        return replicas_of(obj) or None

    def validate_update(self, old: JsonObject, new: JsonObject, reads: ClusterReader) -> list[FieldError]:
        """JOB-178, JOB-180, DEV-5."""
        return change_errors(old, new, reads)
