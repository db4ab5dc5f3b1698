"""Removes the tracking finalizer of pods that no Job will count: it is deleted, finished or no longer their owner.

The finalizer would otherwise block deletion forever. That the Job is gone is confirmed by a live read, never by a
cache.
"""

from kohort.api.meta import ObjectKey, OwnerReference
from kohort.embedded.controllers.builtin import BuiltinController
from kohort.embedded.controllers.controller_ref import pods_of
from kohort.embedded.controllers.jobs.views import JOBS, TRACKING, JobView, is_tracked
from kohort.embedded.controllers.pod_control import PodControl
from kohort.embedded.controllers.views import ControllerPod, controller_of
from kohort.kube.backoff import Backoff
from kohort.kube.client import Client
from kohort.kube.controller import RequeueAfter
from kohort.kube.errors import StatusError
from kohort.kube.indexer import Indexer
from kohort.kube.workqueue import RetryLimits

UNSEEN_SECONDS = 1.0
"""Seconds until a Job that exists but is missing in the cache is read again."""
SLOW_RETRIES = RetryLimits(Backoff(base=1.0, cap=60.0, jitter=0.0), rate=50.0, burst=500)
"""Slow retries after a rejection, since each rejection is also an event."""


class OrphanPods(BuiltinController[ObjectKey]):
    """Reconciles tracked pods without a Job that counts them."""

    NAME = "job-orphan-pods"
    WORKERS = 8
    LIMITS = SLOW_RETRIES

    def __init__(
        self, client: Client, pod_control: PodControl, jobs: Indexer[JobView], pods: Indexer[ControllerPod]
    ) -> None:
        super().__init__(client)
        self._pod_control = pod_control
        self._jobs = jobs
        self._pods = pods

    def enqueue(self, pod: ControllerPod) -> None:
        """Enqueues a tracked pod unless a Job counts it."""
        owner = controller_of(pod.metadata)
        if owner is None or (_is_job(owner) and not self._counts(self._cached(pod, owner))):
            self._queue.add(pod.key)

    def enqueue_pods_of(self, uid: str) -> None:
        """Enqueues the pods of a finished Job."""
        for pod in pods_of(self._pods, uid):
            if is_tracked(pod):
                self._queue.add(pod.key)

    async def reconcile(self, key: ObjectKey) -> RequeueAfter | None:
        """Removes the finalizer of one pod unless a Job counts it."""
        pod = self._pods.get(key)
        if pod is None or not is_tracked(pod):
            return None
        owner = controller_of(pod.metadata)
        if owner is not None:
            if not _is_job(owner):
                return None
            job = self._cached(pod, owner)
            if job is None and await self._exists(pod, owner):
                return RequeueAfter(UNSEEN_SECONDS)
            if self._counts(job):
                return None
        await self._pod_control.drop_finalizer(pod, TRACKING)
        return None

    def _cached(self, pod: ControllerPod, owner: OwnerReference) -> JobView | None:
        job = self._jobs.get((pod.metadata.namespace, owner.name))
        return job if job is not None and job.metadata.uid == owner.uid else None

    def _counts(self, job: JobView | None) -> bool:
        """Whether a Job will count its pods, by this or another controller."""
        return job is not None and (job.is_foreign or not job.is_finished)

    async def _exists(self, pod: ControllerPod, owner: OwnerReference) -> bool:
        try:
            job = await self._client.of(JOBS).get((pod.metadata.namespace, owner.name))
        except StatusError as error:
            if error.is_not_found:
                return False
            raise
        return job.metadata.uid == owner.uid and self._counts(job)


def _is_job(owner: OwnerReference) -> bool:
    return owner.kind == "Job" and owner.api_version == JobView.resource.api_version
