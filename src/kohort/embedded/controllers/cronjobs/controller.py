"""The CronJob controller: executes the plan of each CronJob.

The name of a Job is derived from its scheduled time, so that a Job created before a crash is found again.
"""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import msgspec

from kohort.api.codec import Json, decode_json
from kohort.api.core.objects import ObjectReference
from kohort.api.meta import ObjectKey
from kohort.embedded.controllers.builtin import BuiltinController
from kohort.embedded.controllers.cronjobs.plan import CronPlan, job_name, plan
from kohort.embedded.controllers.cronjobs.views import CRON_JOBS, SCHEDULED, CronJobStatusView, CronJobView
from kohort.embedded.controllers.jobs.views import JOBS, JobView
from kohort.embedded.controllers.pod_control import controller_reference
from kohort.embedded.controllers.status_writer import StatusWriter, status_patch
from kohort.embedded.controllers.views import controller_of, reference_to
from kohort.kube.client import Client
from kohort.kube.controller import RequeueAfter
from kohort.kube.errors import StatusError
from kohort.kube.events import EventToRecord
from kohort.kube.informer import SharedInformerFactory
from kohort.kube.options import DeletionOptions
from kohort.kube.transport import Request

_BY_CRON_JOB = "cronjob"
_JSON = {"Content-Type": "application/json"}


class CronJobController(BuiltinController[ObjectKey]):
    """Reconciles the CronJobs of one API server."""

    NAME = "cronjob-controller"

    def __init__(self, client: Client, informers: SharedInformerFactory) -> None:
        super().__init__(client)
        self._objects = client.of(JOBS)
        self._reports = StatusWriter(client, CRON_JOBS)
        self._cron_jobs = informers.of(CRON_JOBS)
        self._jobs = informers.of(JOBS)
        self._jobs.index(_BY_CRON_JOB, _owner)
        self._cron_jobs.subscribe(self._on_cron_job)
        self._jobs.subscribe(self._on_job)

    def _on_cron_job(self, old: CronJobView | None, new: CronJobView | None) -> None:
        if new is not None:
            if not self._reports.is_own(new):
                self._queue.add(new.key)
        elif old is not None:
            self._reports.forget(old.metadata)

    def _on_job(self, old: JobView | None, new: JobView | None) -> None:
        job = new or old
        if job is None or (old is not None and new is not None and old.is_finished == new.is_finished):
            return
        owner = controller_of(job.metadata)
        if owner is not None and owner.kind == CronJobView.KIND:
            self._queue.add(ObjectKey(job.metadata.namespace, owner.name))

    async def reconcile(self, key: ObjectKey) -> RequeueAfter | None:
        """Executes what is due for a CronJob."""
        cached = self._cron_jobs.cache.get(key)
        if cached is None:
            return None
        found = self._reports.newest(cached)
        jobs = self._jobs.cache.find(_BY_CRON_JOB, found.metadata.uid)
        planned = plan(found, jobs, await self._gone(found, jobs), self._clock.wall())
        status = await self._execute(found, planned)
        changes = status_patch(found.status, status)
        if changes:
            await self._reports.write(found, changes)
        return None if planned.again is None else RequeueAfter(planned.again)

    async def _gone(self, found: CronJobView, jobs: list[JobView]) -> frozenset[str]:
        """The active Jobs that neither the cache nor the server has."""
        known = {job.metadata.uid for job in jobs}
        absent = [each for each in found.status.active if each.uid not in known]
        return frozenset([each.uid for each in absent if not await self._exists(each)])

    async def _exists(self, listed: ObjectReference) -> bool:
        return await self._get(ObjectKey(listed.namespace, listed.name)) is not None

    async def _get(self, key: ObjectKey) -> JobView | None:
        try:
            return await self._objects.get(key)
        except StatusError as error:
            if error.is_not_found:
                return None
            raise

    async def _execute(self, found: CronJobView, planned: CronPlan) -> CronJobStatusView:
        """Deletes Jobs, creates one, and returns the resulting status."""
        for note in planned.notes:
            self._record_event(found, note)
        for outdated in planned.outdated:
            await self._delete(found, outdated)
        if planned.start is None:
            return planned.status
        for name in planned.replaced:
            await self._replace(found, name)
        kept = tuple(each for each in planned.status.active if each.name not in planned.replaced)
        status = msgspec.structs.replace(planned.status, active=kept)
        job = await self._start(found, planned.start)
        if job is None:
            return status
        listed = (*kept, reference_to(job))
        return msgspec.structs.replace(status, active=listed, last_schedule_time=planned.start)

    async def _replace(self, found: CronJobView, name: str) -> None:
        job = await self._get(ObjectKey(found.metadata.namespace, name))
        if job is not None:
            await self._delete(found, job)

    async def _delete(self, found: CronJobView, job: JobView) -> None:
        try:
            await self._objects.delete(job.key, DeletionOptions(propagation="Background", uid=job.metadata.uid))
        except StatusError as error:
            if error.is_not_found:
                return
            self._record_event(found, EventToRecord("Warning", "FailedDelete", f"Deleted job: {error}"))
            raise
        self._record_event(found, EventToRecord("Normal", "SuccessfulDelete", f"Deleted job {job.metadata.name}"))

    async def _start(self, found: CronJobView, due: datetime) -> JobView | None:
        """Creates the Job for a scheduled time or finds it existing; None if another owner's Job has its name."""
        place = JOBS.resource.path(found.metadata.namespace)
        body = self._client.of(JOBS.resource).kind.body(job_for(found, due))
        try:
            job = JOBS.read(await self._client.call(Request("POST", place, (), _JSON, body)))
        except StatusError as error:
            if error.is_already_exists:
                return await self._own(found, job_name(found, due))
            self._record_event(found, EventToRecord("Warning", "FailedCreate", f"Error creating job: {error}"))
            raise
        self._record_event(found, EventToRecord("Normal", "SuccessfulCreate", f"Created job {job.metadata.name}"))
        return job

    async def _own(self, found: CronJobView, name: str) -> JobView | None:
        job = await self._get(ObjectKey(found.metadata.namespace, name))
        owner = controller_of(job.metadata) if job is not None else None
        return job if owner is not None and owner.uid == found.metadata.uid else None

    def _record_event(self, found: CronJobView, note: EventToRecord) -> None:
        self._recorder.record(reference_to(found), note)


def job_for(found: CronJobView, due: datetime) -> dict[str, Json]:
    """The manifest of the Job for a scheduled time."""
    template = decode_json(found.spec.job_template)
    metadata = template.get("metadata") or {}
    zone = ZoneInfo(found.spec.time_zone) if found.spec.time_zone else UTC
    moment = due.astimezone(zone).isoformat(timespec="seconds").replace("+00:00", "Z")
    return {
        "metadata": {
            "name": job_name(found, due),
            "labels": metadata.get("labels") or {},
            "annotations": {**(metadata.get("annotations") or {}), SCHEDULED: moment},
            "ownerReferences": [controller_reference(found)],
        },
        "spec": template.get("spec") or {},
    }


def _owner(job: JobView) -> tuple[str, ...]:
    owner = controller_of(job.metadata)
    return (owner.uid,) if owner is not None and owner.kind == CronJobView.KIND else ()
