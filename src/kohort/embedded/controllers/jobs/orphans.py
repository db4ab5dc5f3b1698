"""Frees pods that wait to be counted by a Job that never will: it is gone, over, or not theirs any more.

The finalizer of such a pod would keep it for ever. That the Job is gone is asked of the server, never of a cache.
"""

from kohort.api.meta import ObjectKey, OwnerReference
from kohort.embedded.controllers.builtin import BuiltinController
from kohort.embedded.controllers.controller_ref import pods_of
from kohort.embedded.controllers.jobs.views import JOBS, TRACKING, SeenJob, is_tracked
from kohort.embedded.controllers.pod_control import PodControl
from kohort.embedded.controllers.views import ControllerPod, controller_of
from kohort.kube.backoff import Backoff
from kohort.kube.client import Client
from kohort.kube.controller import RequeueAfter
from kohort.kube.errors import StatusError
from kohort.kube.indexer import Indexer
from kohort.kube.workqueue import RetryLimits

UNSEEN = 1.0
"""Seconds until a Job that the server has and the cache does not show is looked up again."""
PATIENT = RetryLimits(Backoff(base=1.0, cap=60.0, jitter=0.0), rate=50.0, burst=500)
"""What a server refused for Jobs is not asked again at once: each refusal is an event too."""


class OrphanPods(BuiltinController[ObjectKey]):
    """Looks after tracked pods without a Job that counts them."""

    NAME = "job-orphan-pods"
    WORKERS = 8
    LIMITS = PATIENT

    def __init__(self, client: Client, hands: PodControl, jobs: Indexer[SeenJob], pods: Indexer[ControllerPod]) -> None:
        super().__init__(client)
        self._hands = hands
        self._jobs = jobs
        self._pods = pods

    def look_at(self, pod: ControllerPod) -> None:
        """Free a tracked pod, if nobody counts it."""
        owner = controller_of(pod.metadata)
        if owner is None or (_is_job(owner) and not self._counts(self._cached(pod, owner))):
            self._queue.add(pod.key)

    def look_at_pods_of(self, uid: str) -> None:
        """Free the pods of a Job that is over."""
        for pod in pods_of(self._pods, uid):
            if is_tracked(pod):
                self._queue.add(pod.key)

    async def reconcile(self, key: ObjectKey) -> RequeueAfter | None:
        """Take the finalizer off one pod, unless a Job counts it after all."""
        pod = self._pods.get(key)
        if pod is None or not is_tracked(pod):
            return None
        owner = controller_of(pod.metadata)
        if owner is not None:
            if not _is_job(owner):
                return None
            job = self._cached(pod, owner)
            if job is None and await self._exists(pod, owner):
                return RequeueAfter(UNSEEN)
            if self._counts(job):
                return None
        await self._hands.drop_finalizer(pod, TRACKING)
        return None

    def _cached(self, pod: ControllerPod, owner: OwnerReference) -> SeenJob | None:
        job = self._jobs.get((pod.metadata.namespace, owner.name))
        return job if job is not None and job.metadata.uid == owner.uid else None

    def _counts(self, job: SeenJob | None) -> bool:
        """Whether a Job will count its pods, by this controller or by another's."""
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
    return owner.kind == "Job" and owner.api_version == SeenJob.resource.api_version
