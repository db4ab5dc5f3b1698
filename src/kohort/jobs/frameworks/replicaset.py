"""ReplicaSets that stand alone: every pod is queued by itself, as those of Deployments are (JOB-196).

One that a Deployment made carries the Deployment's labels and is left to it; so it stays a kind that is walked through.
"""

from typing import ClassVar

from kohort.api.codec import JsonObject
from kohort.api.resource import Resource
from kohort.jobs.frameworks.pods.parents import PodParent


class ReplicaSetFramework(PodParent):
    """The framework of ReplicaSets."""

    name: ClassVar[str] = "replicaset"
    resource: ClassVar[Resource] = Resource("apps", "v1", "ReplicaSet", "replicasets", namespaced=True)
    is_propagator: ClassVar[bool] = True

    def is_foreign(self, obj: JsonObject) -> bool:
        """Whether the ReplicaSet has a controller, or another framework gates its pods (JOB-197)."""
        owners = (obj.get("metadata") or {}).get("ownerReferences") or ()
        return any(owner.get("controller") for owner in owners) or super().is_foreign(obj)
