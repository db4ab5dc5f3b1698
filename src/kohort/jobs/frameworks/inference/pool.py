"""InferencePools of Gateway API: they select pods of model servers and create none: nothing is queued (JOB-238)."""

from typing import ClassVar, Final

from kohort.api.codec import JsonObject
from kohort.api.resource import Resource
from kohort.jobs.contract import ClusterReader
from kohort.jobs.defaulting.webhook_only import WebhookOnly
from kohort.jobs.frameworks.inference.types import POOLS

WARNING: Final = (
    "metadata.labels[kueue.x-k8s.io/queue-name]: an InferencePool has no pods of its own, and the label has no effect: "
    "set it on the Deployments whose pods spec.selector matches"
)


class InferencePoolFramework(WebhookOnly):
    """The framework of InferencePools, which only warns of a queue name."""

    name: ClassVar[str] = "inference.networking.k8s.io/inferencepool"
    resource: ClassVar[Resource] = POOLS
    is_propagator: ClassVar[bool] = True
    creates_jobs: ClassVar[bool] = False
    runs_to_completion: ClassVar[bool] = False

    def warnings(self, obj: JsonObject, reads: ClusterReader) -> list[str]:
        """Where the queue belongs."""
        return [WARNING]
