"""Kinds without a suspend field, whose pods are gated individually, such as Deployments.

The webhook marks the pod template; the pods are then queued by the pod framework.
"""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any, ClassVar

from kohort.api.codec import JsonObject
from kohort.api.kueue.keys import PRIORITY_CLASS_LABEL, QUEUE_NAME_LABEL
from kohort.jobs.contract import ClusterReader
from kohort.jobs.defaulting.job_context import set_annotation, set_label
from kohort.jobs.defaulting.webhook_only import WebhookOnly
from kohort.jobs.keys import MANAGED_LABEL, SUSPENDING_PARENT_ANNOTATION
from kohort.jobs.objects import annotations, labels, metadata


class PodParent(WebhookOnly):
    """A kind that is suspended by gating its pods (JOB-173)."""

    queues_pods: ClassVar[bool] = True
    implies: ClassVar[tuple[str, ...]] = ("pod",)
    defaults_on_update: ClassVar[bool] = True
    runs_to_completion: ClassVar[bool] = False
    pod_spec: ClassVar[tuple[str, ...]] = ("spec", "template", "spec")
    has_one_pod_set: ClassVar[bool] = True

    def is_foreign(self, obj: JsonObject) -> bool:
        """Whether another framework manages the object's pods (JOB-175, JOB-197)."""
        return is_foreign(obj, self.name)

    def is_suspended(self, obj: JsonObject) -> bool:
        """Whether no replica is ready (JOB-174)."""
        return not (obj.get("status") or {}).get("readyReplicas")

    def pods_per_workload(self, obj: JsonObject) -> int | None:
        """The number of pods that are placed together; None if it is not known."""
        return 1

    def queued_dependents(self, obj: JsonObject) -> Iterator[JsonObject]:
        """Its pods (JOB-173)."""
        template = (obj.get("spec") or {}).get("template") or {}
        for number in range(replicas_of(obj)):
            head = {**(template.get("metadata") or {}), "name": f"{metadata(obj).get('name', '')}-{number}"}
            head["namespace"] = metadata(obj).get("namespace", "")
            yield {"apiVersion": "v1", "kind": "Pod", "metadata": head, "spec": deepcopy(template.get("spec") or {})}

    def template_counts(self, obj: JsonObject, reads: ClusterReader) -> list[int | None]:
        """The pods of each Workload."""
        return [self.pods_per_workload(obj)]

    def suspend(self, obj: JsonObject) -> None:
        """Mark the template, so that its pods are gated and queued individually (JOB-173)."""
        template = pod_template(obj)
        set_annotation(template, SUSPENDING_PARENT_ANNOTATION, self.name)
        set_label(template, MANAGED_LABEL, "true")
        for name in (QUEUE_NAME_LABEL, PRIORITY_CLASS_LABEL):
            value = labels(obj).get(name)
            if value:
                set_label(template, name, value)


def is_foreign(obj: JsonObject, framework: str) -> bool:
    """Whether the pods of an object are gated by another framework."""
    template = (obj.get("spec") or {}).get("template") or {}
    return annotations(template).get(SUSPENDING_PARENT_ANNOTATION, framework) != framework


def replicas_of(obj: JsonObject) -> int:
    """The desired number of pods."""
    count = (obj.get("spec") or {}).get("replicas")
    return 1 if count is None else int(count)


def pod_template(obj: JsonObject) -> dict[str, Any]:
    """The pod template of an object, created if it has none."""
    spec = obj.setdefault("spec", {})
    template: dict[str, Any] = spec.setdefault("template", {})
    return template
