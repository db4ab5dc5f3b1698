"""Deployments: every pod is queued individually; there is no Workload for the whole (JOB-173)."""

from typing import ClassVar

from kohort.api.codec import JsonObject
from kohort.api.core.apps import Deployment
from kohort.api.core.objects import ObjectView
from kohort.api.resource import Resource
from kohort.jobs.frameworks.pods.parents import PodParent


class DeploymentFramework(PodParent):
    """The framework of Deployments."""

    name: ClassVar[str] = "deployment"
    resource: ClassVar[Resource] = Deployment.resource
    view: ClassVar[type[ObjectView]] = Deployment

    def is_foreign(self, obj: JsonObject) -> bool:
        """Never: no other framework gates the pods of a Deployment."""
        return False
