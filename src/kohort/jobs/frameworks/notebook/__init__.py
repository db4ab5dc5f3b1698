"""Kubeflow Notebooks (§20.5): the StatefulSet of a Notebook is queued, with the labels of the Notebook.

The notebook controller labels only the pods, and rewrites the metadata of the StatefulSet at each reconcile: so the
webhook of StatefulSets takes the labels from the Notebook, each time.
"""

from typing import ClassVar, Final

from kohort.api.codec import JsonObject
from kohort.api.core.objects import ObjectView
from kohort.api.fields import ROOT, FieldError, invalid, not_supported
from kohort.api.objects import METADATA
from kohort.api.resource import GroupKind, Resource
from kohort.jobs.contract import ClusterReader
from kohort.jobs.defaulting.webhook_only import WebhookOnly
from kohort.jobs.frameworks.notebook.stops import (
    EVICTION_POLICY_ANNOTATION,
    NOTEBOOKS,
    STOP_ANNOTATION,
    EvictedNotebookPlanner,
    EvictionPolicy,
    Notebook,
    is_stopped,
)
from kohort.jobs.frameworks.pods.shape import shape_change_errors
from kohort.jobs.objects import annotations, queue_name, value_at
from kohort.jobs.planners import Planner
from kohort.jobs.validation.labels import QUEUE_NAME

POD_SPEC_PATH: Final = ("spec", "template", "spec")
POD_SPEC: Final = ROOT / "spec" / "template" / "spec"
WARNING: Final = (
    "a Notebook cannot be suspended: its pod waits for quota, and a preemption deletes the pod with its kernels and "
    "unsaved work"
)
STOP_FIRST: Final = (
    f"cannot change while the Notebook runs: stop it first (annotation {STOP_ANNOTATION}), then change it"
)


class NotebookFramework(WebhookOnly):
    """The framework of Notebooks."""

    name: ClassVar[str] = "kubeflow.org/notebook"
    resource: ClassVar[Resource] = NOTEBOOKS
    view: ClassVar[type[ObjectView]] = Notebook
    is_propagator: ClassVar[bool] = True
    implies: ClassVar[tuple[str, ...]] = ("statefulset", "pod")
    labeled_dependents: ClassVar[frozenset[GroupKind]] = frozenset({("apps", "StatefulSet")})
    planners: ClassVar[tuple[Planner, ...]] = (EvictedNotebookPlanner(),)
    runs_to_completion: ClassVar[bool] = False

    def loses_state(self, obj: JsonObject) -> bool:
        """Always: kernels and unsaved work (JOB-210)."""
        return True

    def warnings(self, obj: JsonObject, reads: ClusterReader) -> list[str]:
        """What a preemption does to it."""
        return [WARNING]

    def validate_create(self, obj: JsonObject, reads: ClusterReader) -> list[FieldError]:
        """The eviction policy must be known (JOB-208)."""
        policy = annotations(obj).get(EVICTION_POLICY_ANNOTATION)
        known = tuple(each.value for each in EvictionPolicy)
        if policy is None or policy in known:
            return []
        path = (METADATA / "annotations")[EVICTION_POLICY_ANNOTATION]
        return [not_supported(path, policy, known, "JOB-208")]

    def validate_update(self, old: JsonObject, new: JsonObject, reads: ClusterReader) -> list[FieldError]:
        """Reject what the webhook of its StatefulSet would reject again and again (JOB-180, JOB-210)."""
        before = self.validate_create(old, reads)
        errors = [each for each in self.validate_create(new, reads) if each not in before]
        if not queue_name(old) or is_stopped(old):
            return errors
        changes = shape_change_errors(_pod_spec(new), _pod_spec(old), POD_SPEC)
        errors += [invalid(each.path, each.value, STOP_FIRST, "JOB-210") for each in changes]
        if queue_name(new) != queue_name(old) and value_at(old, ("status", "readyReplicas")):
            errors.append(invalid(QUEUE_NAME, queue_name(new), STOP_FIRST, "JOB-210"))
        return errors


def _pod_spec(obj: JsonObject) -> JsonObject:
    return value_at(obj, POD_SPEC_PATH) or {}
