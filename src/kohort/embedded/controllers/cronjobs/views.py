"""Partial views of CronJobs; job templates stay encoded as received."""

from typing import ClassVar, Final

import msgspec

from kohort.api.core.batch import CronJob
from kohort.api.core.objects import ObjectReference, ObjectView
from kohort.api.meta import Time
from kohort.api.struct import View
from kohort.kube.resource_types import TypedResource

SCHEDULED: Final = "batch.kubernetes.io/cronjob-scheduled-timestamp"
"""Annotation of a Job: its scheduled time."""


class CronJobSpecView(View):
    """Spec of a CronJob."""

    schedule: str = ""
    time_zone: str = ""
    starting_deadline_seconds: int | None = None
    concurrency_policy: str = "Allow"
    suspend: bool = False
    job_template: msgspec.Raw = msgspec.Raw(b"{}")
    successful_jobs_history_limit: int | None = None
    failed_jobs_history_limit: int | None = None


class CronJobStatusView(View):
    """Status of a CronJob."""

    active: tuple[ObjectReference, ...] = ()
    last_schedule_time: Time | None = None
    last_successful_time: Time | None = None


class CronJobView(ObjectView):
    """A CronJob."""

    resource: ClassVar = CronJob.resource

    spec: CronJobSpecView = CronJobSpecView()
    status: CronJobStatusView = CronJobStatusView()


def _with_own_template(found: CronJobView) -> CronJobView:
    """Copies the template's bytes, which otherwise would keep the whole response in memory."""
    spec = msgspec.structs.replace(found.spec, job_template=found.spec.job_template.copy())
    return msgspec.structs.replace(found, spec=spec)


CRON_JOBS = TypedResource(CronJobView.resource, CronJobView, _with_own_template)
