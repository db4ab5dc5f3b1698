"""CronJobs: labels are propagated to their Jobs, which are queued individually (JOB-194).

`spec.suspend` is left to the user, and a CronJob never is a managed owner.
"""

from collections.abc import Iterator
from copy import deepcopy
from typing import ClassVar

from kohort.api.codec import JsonObject
from kohort.api.core.batch import CronJob
from kohort.api.core.objects import ObjectView
from kohort.api.resource import Resource
from kohort.jobs.defaulting.webhook_only import Propagator
from kohort.jobs.objects import metadata


class CronJobFramework(Propagator):
    """The framework of CronJobs."""

    name: ClassVar[str] = "batch/cronjob"
    resource: ClassVar[Resource] = CronJob.resource
    view: ClassVar[type[ObjectView]] = CronJob
    pod_spec: ClassVar[tuple[str, ...]] = ("spec", "jobTemplate", "spec", "template", "spec")
    has_one_pod_set: ClassVar[bool] = True
    defaults_on_update: ClassVar[bool] = True
    labels_path: ClassVar[tuple[str, ...]] = ("spec", "jobTemplate", "metadata", "labels")

    def queued_dependents(self, obj: JsonObject) -> Iterator[JsonObject]:
        """Its next Job."""
        template = (obj.get("spec") or {}).get("jobTemplate") or {}
        head = {**metadata(template), "name": f"{metadata(obj).get('name', '')}-next"}
        head["namespace"] = metadata(obj).get("namespace", "")
        yield {"apiVersion": "batch/v1", "kind": "Job", "metadata": head, "spec": deepcopy(template.get("spec") or {})}
