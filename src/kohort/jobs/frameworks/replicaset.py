"""Standalone ReplicaSets: every pod is queued individually, as for Deployments (JOB-196).

ReplicaSets of a Deployment have its labels and are left to it.
"""

from typing import ClassVar

from kohort.api.codec import JsonObject
from kohort.api.core.apps import ReplicaSet
from kohort.api.core.objects import ObjectView
from kohort.api.resource import Resource
from kohort.jobs.frameworks.pods.parents import PodParent


class ReplicaSetFramework(PodParent):
    """The framework of ReplicaSets."""

    name: ClassVar[str] = "replicaset"
    resource: ClassVar[Resource] = ReplicaSet.resource
    view: ClassVar[type[ObjectView]] = ReplicaSet
    is_transit: ClassVar[bool] = True

    def is_foreign(self, obj: JsonObject) -> bool:
        """Whether the ReplicaSet has a controller, or another framework gates its pods (JOB-197)."""
        owners = (obj.get("metadata") or {}).get("ownerReferences") or ()
        return any(owner.get("controller") for owner in owners) or super().is_foreign(obj)
