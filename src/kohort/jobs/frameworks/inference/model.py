"""KubeAI Models: the pods that KubeAI creates for a Model are queued one by one, with the labels of the Model.

KubeAI copies no labels of a Model to its pods: so the webhook of pods takes them from the Model (JOB-237).
"""

from typing import ClassVar, Final

from kohort.api.codec import JsonObject
from kohort.api.core.objects import ObjectView
from kohort.api.resource import GroupKind, Resource
from kohort.jobs.contract import ClusterReader
from kohort.jobs.defaulting.webhook_only import WebhookOnly
from kohort.jobs.frameworks.inference.types import MODELS, Model
from kohort.jobs.objects import value_at

WARNING: Final = (
    "a Model cannot be suspended: each of its pods waits for quota on its own, and a preemption deletes a pod, which "
    "KubeAI replaces by one that waits"
)
FROM_ZERO: Final = "spec.minReplicas: the first request to a Model without pods waits for quota too: set 1 or more"


class ModelFramework(WebhookOnly):
    """The framework of Models."""

    name: ClassVar[str] = "kubeai.org/model"
    resource: ClassVar[Resource] = MODELS
    view: ClassVar[type[ObjectView]] = Model
    is_propagator: ClassVar[bool] = True
    implies: ClassVar[tuple[str, ...]] = ("pod",)
    labeled_dependents: ClassVar[frozenset[GroupKind]] = frozenset(
        {("", "Pod"), ("leaderworkerset.x-k8s.io", "LeaderWorkerSet")}
    )
    runs_to_completion: ClassVar[bool] = False

    def loses_state(self, obj: JsonObject) -> bool:
        """Always: requests in progress, and the loaded weights."""
        return True

    def warnings(self, obj: JsonObject, reads: ClusterReader) -> list[str]:
        """What is queued, and what an idle Model means."""
        return [WARNING, *([] if value_at(obj, ("spec", "minReplicas")) else [FROM_ZERO])]
