"""CronJobs: labels are propagated to their Jobs, which are queued individually (JOB-194).

`spec.suspend` is left to the user, and a CronJob never is a managed owner.
"""

from typing import ClassVar

from kohort.api.resource import Resource
from kohort.jobs.defaulting.webhook_only import Propagator


class CronJobFramework(Propagator):
    """The framework of CronJobs."""

    name: ClassVar[str] = "batch/cronjob"
    resource: ClassVar[Resource] = Resource("batch", "v1", "CronJob", "cronjobs", namespaced=True)
    defaults_on_update: ClassVar[bool] = True
    target: ClassVar[tuple[str, ...]] = ("spec", "jobTemplate")
