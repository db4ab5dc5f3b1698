"""CronJobs as their controller sees them, with the template of their Jobs as the bytes that came."""

from typing import ClassVar, Final

import msgspec

from kohort.api.core.batch import CronJob
from kohort.api.core.objects import ObjectReference, ObjectView
from kohort.api.meta import ObjectKey, Time
from kohort.api.struct import View
from kohort.embedded.controllers.views import key_of
from kohort.kube.resource_types import TypedResource

SCHEDULED: Final = "batch.kubernetes.io/cronjob-scheduled-timestamp"
"""Annotation of a Job: the moment it was made for."""


class SeenCronJobSpec(View):
    """What Jobs are made, and when."""

    schedule: str = ""
    time_zone: str = ""
    starting_deadline_seconds: int | None = None
    concurrency_policy: str = "Allow"
    suspend: bool = False
    job_template: msgspec.Raw = msgspec.Raw(b"{}")
    successful_jobs_history_limit: int | None = None
    failed_jobs_history_limit: int | None = None


class SeenCronJobStatus(View):
    """Which Jobs run, when one was last made, and when one last succeeded."""

    active: tuple[ObjectReference, ...] = ()
    last_schedule_time: Time | None = None
    last_successful_time: Time | None = None


class SeenCronJob(ObjectView):
    """A CronJob."""

    resource: ClassVar = CronJob.resource

    spec: SeenCronJobSpec = SeenCronJobSpec()
    status: SeenCronJobStatus = SeenCronJobStatus()

    @property
    def key(self) -> ObjectKey:
        """Namespace and name."""
        return key_of(self.metadata)


def _with_own_template(found: SeenCronJob) -> SeenCronJob:
    """The CronJob with a copy of its template's bytes, which would otherwise keep the whole answer in memory."""
    spec = msgspec.structs.replace(found.spec, job_template=found.spec.job_template.copy())
    return msgspec.structs.replace(found, spec=spec)


CRON_JOBS = TypedResource(SeenCronJob.resource, SeenCronJob, _with_own_template)
