"""Stops a Notebook that is evicted, if it is annotated so, instead of queueing it again silently (JOB-208)."""

from collections.abc import Iterable
from copy import deepcopy
from enum import Enum
from typing import ClassVar, Final

from kohort.api.codec import JsonObject
from kohort.api.conditions import truncate_note
from kohort.api.core.apps import StatefulSet
from kohort.api.core.objects import ObjectView
from kohort.api.core.pods import PodTemplateSpec
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.resource import Resource
from kohort.api.struct import View
from kohort.api.times import format_time
from kohort.engine.lifecycle.conditions import EVICTED, condition, is_evicted, is_finished
from kohort.jobs.contract import JobKey
from kohort.jobs.defaulting.job_context import set_annotation
from kohort.jobs.effects import PatchObject, record_event
from kohort.jobs.objects import annotations, metadata, queue_name
from kohort.jobs.planners import Planner
from kohort.jobs.reconcile_pass import PassPlan, PassReader
from kohort.jobs.registry import group_kind

NOTEBOOKS = Resource("kubeflow.org", "v1", "Notebook", "notebooks", namespaced=True)
STOP_ANNOTATION: Final = "kubeflow-resource-stopped"
"""Annotation that makes the notebook controller scale to 0: with the time of the stop."""
EVICTION_POLICY_ANNOTATION: Final = "kohort.dev/eviction-policy"


class EvictionPolicy(Enum):
    """What happens to an evicted Notebook."""

    REQUEUE = "Requeue"
    """Its pod waits for quota again."""
    STOP = "Stop"
    """It is stopped until a user starts it."""


class NotebookSpec(View):
    """The fields that are read."""

    template: PodTemplateSpec = PodTemplateSpec()


class NotebookStatus(View):
    """The fields that are read."""

    ready_replicas: int = 0


class Notebook(ObjectView):
    """A kubeflow.org/v1 Notebook."""

    resource: ClassVar = NOTEBOOKS

    spec: NotebookSpec = NotebookSpec()
    status: NotebookStatus = NotebookStatus()


def is_stopped(obj: JsonObject) -> bool:
    """Whether the Notebook is stopped, or about to be."""
    return STOP_ANNOTATION in annotations(obj)


class EvictedNotebookPlanner(Planner):
    """Plans Notebooks whose StatefulSet is evicted."""

    name: ClassVar[str] = "notebook"
    resource: ClassVar[Resource] = NOTEBOOKS
    is_top_level: ClassVar[bool] = True
    follows_workloads: ClassVar[bool] = True

    def objects_of(self, workload: Workload) -> Iterable[JobKey]:
        """The Notebook with the name of the StatefulSet that owns the Workload."""
        kind = StatefulSet.resource.group, StatefulSet.resource.kind
        for owner in workload.metadata.owner_references:
            if group_kind(owner.api_version, owner.kind) == kind:
                yield JobKey(workload.metadata.namespace, owner.name)

    def plan(self, obj: JsonObject, ancestor: JsonObject | None, reads: PassReader) -> PassPlan:
        """Stop the Notebook."""
        if annotations(obj).get(EVICTION_POLICY_ANNOTATION) != EvictionPolicy.STOP.value:
            return PassPlan()
        evicted = None if is_stopped(obj) or not queue_name(obj) else _evicted_workload(obj, reads)
        if evicted is None:
            return PassPlan()
        stopped = deepcopy(obj)
        set_annotation(stopped, STOP_ANNOTATION, format_time(reads.now))
        cause = condition(evicted, EVICTED)
        message = f"stopped because it was evicted: {cause.message if cause is not None else ''}"
        return PassPlan((PatchObject(obj, stopped), record_event(obj, "Stopped", truncate_note(message))))


def _evicted_workload(obj: JsonObject, reads: PassReader) -> Workload | None:
    namespace, name = metadata(obj).get("namespace", ""), metadata(obj).get("name", "")
    sets = StatefulSet.resource
    owned = reads.owned_workloads(namespace, sets.api_version, sets.kind, name)
    return next((each for each in owned if is_evicted(each) and not is_finished(each)), None)
