"""Carries out what is planned for each Job, and plans again until nothing is left to do at the moment.

Pods that have ended come in bursts, so a change of a pod is looked at a moment later, together with those that follow.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeVar

from kohort.api.meta import ObjectKey
from kohort.api.selectors import compile_selector
from kohort.embedded.controllers.builtin import BuiltinController
from kohort.embedded.controllers.controller_ref import ControllerRefManager, pods_by_controller
from kohort.embedded.controllers.expectations import PodExpectations
from kohort.embedded.controllers.jobs.completion import JobEnd, restarts
from kohort.embedded.controllers.jobs.failures import NO_FAILURES, FailureRecord
from kohort.embedded.controllers.jobs.making import pods_to_make
from kohort.embedded.controllers.jobs.orphans import PATIENT, OrphanPods
from kohort.embedded.controllers.jobs.plan import JobPlan, plan
from kohort.embedded.controllers.jobs.views import JOBS, TRACKING, SeenJob, is_tracked
from kohort.embedded.controllers.pod_control import PodControl
from kohort.embedded.controllers.status_writer import StatusWriter, status_patch
from kohort.embedded.controllers.views import ControllerPod, controller_of, reference_to
from kohort.kube.client import Client
from kohort.kube.controller import RequeueAfter
from kohort.kube.errors import KubeError, StatusError
from kohort.kube.informer import SharedInformerFactory

log = logging.getLogger(__name__)

T = TypeVar("T")

GATHERING = 0.25
"""Seconds between a change of a pod and the look at its Job."""
GATHERING_MANY = 1.0
"""The same for a Job of many pods, each look at which takes longer."""
MANY = 100
_ROUNDS = 8
"""Plans in one go; a Job that still has something to do waits for its next turn."""
_ABREAST = 64
"""Requests about the pods of one Job at a time."""
_BY_UID, _BY_HAND = "uid", "manual"
_UID_LABEL = "batch.kubernetes.io/controller-uid"


class JobController(BuiltinController[ObjectKey]):
    """Runs the Jobs of one API server."""

    NAME = "job-controller"
    WORKERS = 16
    LIMITS = PATIENT

    def __init__(self, client: Client, informers: SharedInformerFactory) -> None:
        super().__init__(client)
        self._hands = PodControl(client, self._recorder)
        self._claims = ControllerRefManager(client, (TRACKING,))
        self._expectations = PodExpectations(client.clock)
        self._reports = StatusWriter(client, JOBS)
        self._records: dict[str, FailureRecord] = {}
        self._jobs = informers.of(JOBS)
        self._jobs.index(_BY_UID, _uid)
        self._jobs.index(_BY_HAND, _by_hand)
        self._pods = pods_by_controller(informers)
        self._orphans = OrphanPods(client, self._hands, self._jobs.cache, self._pods.cache)
        self._jobs.subscribe(self._on_job)
        self._pods.subscribe(self._on_pod)

    def start(self) -> None:
        """Begin to work; the informers must be live, or pods would seem to be missing."""
        super().start()
        self._orphans.start()

    async def stop(self) -> None:
        """Finish what has begun, and take up nothing more."""
        await self._orphans.stop()
        await super().stop()

    # News

    def _on_job(self, old: SeenJob | None, new: SeenJob | None) -> None:
        if new is None:
            if old is not None:
                self._forget(old)
            return
        if new.is_finished:
            self._forget(new)
        elif old is None or old.metadata.generation != new.metadata.generation or new.is_leaving != old.is_leaving:
            self._queue.add(new.key)
        elif not self._reports.is_own(new):
            self._queue.add_after(new.key, GATHERING)

    def _forget(self, job: SeenJob) -> None:
        """The Job is over: what is left of its pods is nobody's to count."""
        uid = job.metadata.uid
        self._expectations.forget(uid)
        self._reports.forget(job.metadata)
        self._records.pop(uid, None)
        self._orphans.look_at_pods_of(uid)

    def _on_pod(self, old: ControllerPod | None, new: ControllerPod | None) -> None:
        self._expectations.observe(old, new)
        for uid in _owners(old, new) if _matters(old, new) else ():
            self._look_at(uid)
        if new is None:
            return
        if is_tracked(new):
            self._orphans.look_at(new)
        if controller_of(new.metadata) is None and _may_find_owner(old, new):
            self._offer(new)

    def _look_at(self, uid: str) -> None:
        for job in self._jobs.cache.find(_BY_UID, uid):
            self._queue.add_after(job.key, GATHERING if job.spec.parallelism <= MANY else GATHERING_MANY)

    def _offer(self, pod: ControllerPod) -> None:
        """Have the Jobs looked at that might adopt a stray."""
        self._look_at(pod.metadata.labels.get(_UID_LABEL, ""))
        for job in self._jobs.cache.find(_BY_HAND, pod.metadata.namespace):
            self._queue.add_after(job.key, GATHERING)

    # Work

    async def reconcile(self, key: ObjectKey) -> RequeueAfter | None:
        """Do all that can be done about a Job now."""
        cached = self._jobs.cache.get(key)
        if cached is None:
            return None
        job = self._reports.newest(cached)
        if job.is_finished or job.is_foreign:
            return None
        try:
            return await self._work_on(job)
        except StatusError as error:
            if error.is_not_found:
                return None  # the Job, or all of its namespace, has gone; the caches will show it
            if not error.is_conflict:
                raise
            log.debug("%s: somebody else wrote first; looking again", key)
            return RequeueAfter(GATHERING)

    async def _work_on(self, job: SeenJob) -> RequeueAfter | None:
        for _ in range(_ROUNDS):
            planned = await self._plan(job)
            refusal: KubeError | None = None
            if planned.touches_pods:
                refusal = await self._staff(job, planned)
                planned = await self._plan(job, planned.ending)
            written = await self._report(job, planned)
            await self._release(job, planned.release)
            if refusal is not None:
                raise refusal
            if written is job and not planned.release and not planned.touches_pods:
                return None if planned.again is None else RequeueAfter(planned.again)
            if written.is_finished:
                return None
            job = written
        return RequeueAfter(GATHERING)

    async def _plan(self, job: SeenJob, decided: JobEnd | None = None) -> JobPlan:
        claimed = await self._claims.claim(job, compile_selector(job.spec.selector), self._pods.cache)
        pods = self._expectations.overlay(job.metadata.uid, claimed)
        record = self._records.get(job.metadata.uid, NO_FAILURES)
        return plan(job, pods, self._clock.wall(), record, decided)

    async def _staff(self, job: SeenJob, planned: JobPlan) -> KubeError | None:
        """Remove and make pods; the first refusal, where there is one."""
        refusals = [
            *await _each(planned.dismissals, lambda pod: self._dismiss(job, pod)),
            *await _each(planned.deletes, lambda pod: self._delete(job, pod)),
        ]
        batch = await self._hands.create_all(job, pods_to_make(job, planned.creates)) if planned.creates else None
        for pod in batch.made if batch else ():
            self._expectations.created(job.metadata.uid, pod)
        if batch is not None and batch.refusal is not None:
            refusals.append(batch.refusal)
        return refusals[0] if refusals else None

    async def _dismiss(self, job: SeenJob, pod: ControllerPod) -> None:
        await self._drop_finalizer(job, pod)
        await self._delete(job, pod)

    async def _delete(self, job: SeenJob, pod: ControllerPod) -> None:
        await self._hands.delete(job, pod)
        self._expectations.deleted(job.metadata.uid, pod)

    async def _drop_finalizer(self, job: SeenJob, pod: ControllerPod) -> None:
        if is_tracked(pod):
            await self._hands.drop_finalizer(pod, TRACKING)
            self._expectations.released(job.metadata.uid, pod, TRACKING)

    async def _report(self, job: SeenJob, planned: JobPlan) -> SeenJob:
        """Write the status where it changed; the very same Job where it did not."""
        changes = status_patch(job.status, planned.status)
        if not changes:
            return job
        written = await self._reports.write(job, changes)
        self._records[job.metadata.uid] = planned.record
        for note in planned.notes:
            self._recorder.record(reference_to(job), note)
        return written

    async def _release(self, job: SeenJob, pods: Iterable[ControllerPod]) -> None:
        refusals = await _each(pods, lambda pod: self._drop_finalizer(job, pod))
        if refusals:
            raise refusals[0]


def _uid(job: SeenJob) -> tuple[str]:
    return (job.metadata.uid,)


def _by_hand(job: SeenJob) -> tuple[str, ...]:
    """The namespace, for Jobs whose selector may match pods that were not made for them."""
    return (job.metadata.namespace,) if job.spec.manual_selector else ()


def _owners(*states: ControllerPod | None) -> set[str]:
    """The uids of the Jobs that a pod belongs to, or belonged to before."""
    owners = (controller_of(pod.metadata) for pod in states if pod is not None)
    return {owner.uid for owner in owners if owner is not None and owner.kind == SeenJob.KIND}


def _matters(old: ControllerPod | None, new: ControllerPod | None) -> bool:
    """Whether a change of a pod can change anything for its Job."""
    if old is None or new is None:
        return True
    left, right = old.metadata, new.metadata
    return (
        old.status.phase != new.status.phase
        or old.is_ready != new.is_ready
        or old.is_leaving != new.is_leaving
        or left.finalizers != right.finalizers
        or left.owner_references != right.owner_references
        or left.labels != right.labels
        or restarts(old) != restarts(new)
        or ((new.is_leaving or new.is_finished) and old.status != new.status)
    )


def _may_find_owner(old: ControllerPod | None, new: ControllerPod) -> bool:
    if old is None:
        return True
    left, right = old.metadata, new.metadata
    return left.labels != right.labels or left.owner_references != right.owner_references


async def _each(things: Iterable[T], work: Callable[[T], Coroutine[Any, Any, None]]) -> list[KubeError]:
    """Do something with each, so many at a time; what the server refused."""
    waiting, refusals = list(things), list[KubeError]()
    for start in range(0, len(waiting), _ABREAST):
        part = waiting[start : start + _ABREAST]
        for answer in await asyncio.gather(*(work(each) for each in part), return_exceptions=True):
            if isinstance(answer, KubeError):
                refusals.append(answer)
            elif isinstance(answer, BaseException):
                raise answer
    return refusals
