"""StatefulSets (§19.2): one Workload for all replicas, created before their pods, which form a pod group."""

from typing import ClassVar

from kohort.api.codec import JsonObject
from kohort.api.fields import FieldError
from kohort.api.resource import Resource
from kohort.jobs.contract import ClusterReader
from kohort.jobs.defaulting.job_context import set_annotation
from kohort.jobs.frameworks.pods.parents import PodParent, pod_template
from kohort.jobs.frameworks.statefulset.changes import change_errors
from kohort.jobs.frameworks.statefulset.members import MemberPlanner
from kohort.jobs.frameworks.statefulset.sets import FRAMEWORK, STATEFULSETS, replicas_of
from kohort.jobs.frameworks.statefulset.workloads import SetPlanner
from kohort.jobs.keys import SUSPENDING_PARENT_ANNOTATION
from kohort.jobs.planners import Planner


class StatefulSetFramework(PodParent):
    """The framework of StatefulSets: webhooks, and two controllers in addition to those of pods."""

    name: ClassVar[str] = FRAMEWORK
    resource: ClassVar[Resource] = STATEFULSETS

    planners: ClassVar[tuple[Planner, ...]] = (SetPlanner(), MemberPlanner())

    def suspend(self, obj: JsonObject) -> None:
        """Mark the template; pods get the rest when they exist (JOB-175, JOB-177)."""
        set_annotation(pod_template(obj), SUSPENDING_PARENT_ANNOTATION, self.name)

    def pods_per_workload(self, obj: JsonObject) -> int | None:
        """All replicas; without any, the number that the set is scaled to is not known."""
        return replicas_of(obj) or None

    def validate_update(self, old: JsonObject, new: JsonObject, reads: ClusterReader) -> list[FieldError]:
        """JOB-178, JOB-180, DEV-5."""
        return change_errors(old, new, reads)
