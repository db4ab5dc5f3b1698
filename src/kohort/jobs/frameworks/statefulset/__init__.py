"""StatefulSets (§19.2): one Workload for all replicas, made before their pods, which then run as a group of its own."""

from functools import partial
from typing import ClassVar

from kohort.api.fields import FieldError
from kohort.api.resource import Resource
from kohort.jobs.contract import Reads, Watch
from kohort.jobs.defaulting.facts import set_annotation
from kohort.jobs.effects import Object
from kohort.jobs.frameworks.pods.loading import PODS
from kohort.jobs.frameworks.pods.parents import PodParent, pod_template
from kohort.jobs.frameworks.statefulset.changes import change_errors
from kohort.jobs.frameworks.statefulset.members import is_member, plan_member, set_of
from kohort.jobs.frameworks.statefulset.sets import FRAMEWORK, STATEFULSETS
from kohort.jobs.frameworks.statefulset.workloads import plan_set
from kohort.jobs.keys import SUSPENDING_PARENT_ANNOTATION
from kohort.jobs.planners import Planner


class StatefulSets(PodParent):
    """The framework of StatefulSets."""

    name: ClassVar[str] = FRAMEWORK
    resource: ClassVar[Resource] = STATEFULSETS

    @property
    def planners(self) -> tuple[Planner, ...]:
        """The controller of the sets, and the one that stamps their pods (JOB-177)."""
        pods = Watch(PODS, set_of, delay=1.0)
        sets = Planner(
            "statefulset", STATEFULSETS, self.is_ours, partial(plan_set, self), watches=(pods,), follows_workloads=True
        )
        return sets, Planner("statefulset_pod", PODS, is_member, plan_member)

    def is_ours(self, obj: Object) -> bool:
        """Whether no other framework has charge of the set's pods (JOB-175)."""
        return not self.is_foreign(obj)

    def suspend(self, obj: Object) -> None:
        """Mark the template; the rest is given to each pod when it exists (JOB-175, JOB-177)."""
        set_annotation(pod_template(obj), SUSPENDING_PARENT_ANNOTATION, self.name)

    def validate_update(self, old: Object, new: Object, reads: Reads) -> list[FieldError]:
        """JOB-178, JOB-180, DEV-5."""
        return change_errors(old, new, reads)
