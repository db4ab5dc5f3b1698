"""The TTL-after-finished controller.

A Job is read live before its deletion, since ttlSecondsAfterFinished may have been raised.
"""

from datetime import datetime, timedelta

from kohort.api.meta import ObjectKey
from kohort.embedded.controllers.builtin import BuiltinController
from kohort.embedded.controllers.jobs.views import COMPLETE, FAILED, JOBS, JobView
from kohort.kube.client import Client
from kohort.kube.controller import RequeueAfter
from kohort.kube.errors import StatusError
from kohort.kube.informer import SharedInformerFactory
from kohort.kube.options import DeletionOptions


class ExpiredJobs(BuiltinController[ObjectKey]):
    """Deletes Jobs whose TTL after finishing expired."""

    NAME = "ttl-after-finished-controller"

    def __init__(self, client: Client, informers: SharedInformerFactory) -> None:
        super().__init__(client)
        self._objects = client.of(JOBS)
        self._jobs = informers.of(JOBS)
        self._jobs.subscribe(self._on_job)

    def _on_job(self, _: JobView | None, new: JobView | None) -> None:
        left = None if new is None else self._left(new)
        if new is not None and left is not None:
            self._queue.add_after(new.key, left)

    def _left(self, job: JobView) -> float | None:
        """Seconds until a Job expires; None if it does not."""
        expiry = None if job.is_terminating else expiry_of(job)
        return None if expiry is None else (expiry - self._clock.wall()).total_seconds()

    async def reconcile(self, key: ObjectKey) -> RequeueAfter | None:
        """Deletes a Job if its TTL has expired."""
        cached = self._jobs.cache.get(key)
        if cached is None or self._left(cached) is None:
            return None
        try:
            return await self._look(key)
        except StatusError as error:
            if not error.is_not_found:
                raise
            return None

    async def _look(self, key: ObjectKey) -> RequeueAfter | None:
        live = await self._objects.get(key)
        left = self._left(live)
        if left is None:
            return None
        if left > 0:
            return RequeueAfter(left)
        await self._objects.delete(key, DeletionOptions(propagation="Foreground", uid=live.metadata.uid))
        return None


def expiry_of(job: JobView) -> datetime | None:
    """When a finished Job expires; None if it does not."""
    limit = job.spec.ttl_seconds_after_finished
    ends = (each for each in job.status.conditions if each.type in (COMPLETE, FAILED) and each.status == "True")
    end = next((each.last_transition_time for each in ends), None)
    return None if limit is None or end is None else end + timedelta(seconds=limit)
