"""The Job controller: executes the plan of each Job and plans again until nothing is left to do.

Pods finish in bursts, so a pod event enqueues its Job with a delay that collects those that follow.
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
from kohort.embedded.controllers.jobs.making import build_pods
from kohort.embedded.controllers.jobs.orphans import SLOW_RETRIES, OrphanPods
from kohort.embedded.controllers.jobs.plan import JobPlan, plan
from kohort.embedded.controllers.jobs.views import JOBS, TRACKING, JobView, is_tracked
from kohort.embedded.controllers.pod_control import PodControl
from kohort.embedded.controllers.status_writer import StatusWriter, status_patch
from kohort.embedded.controllers.views import ControllerPod, controller_of, reference_to
from kohort.kube.client import Client
from kohort.kube.controller import RequeueAfter
from kohort.kube.errors import KubeError, StatusError
from kohort.kube.informer import SharedInformerFactory

log = logging.getLogger(__name__)

T = TypeVar("T")

EVENT_DELAY = 0.25
"""Seconds between a pod event and the reconcile of its Job."""
EVENT_DELAY_LARGE = 1.0
"""The same for a Job of many pods, whose reconcile takes longer."""
MANY = 100
_MAX_PLANS = 8
"""Plans per reconcile; a Job with more to do is requeued."""
_MAX_CONCURRENT = 64
"""Concurrent requests for the pods of one Job."""
_BY_UID, _MANUAL_SELECTOR = "uid", "manual"
_UID_LABEL = "batch.kubernetes.io/controller-uid"


class JobController(BuiltinController[ObjectKey]):
    """Reconciles the Jobs of one API server."""

    NAME = "job-controller"
    WORKERS = 16
    LIMITS = SLOW_RETRIES

    def __init__(self, client: Client, informers: SharedInformerFactory) -> None:
        super().__init__(client)
        self._pod_control = PodControl(client, self._recorder)
        self._ref_manager = ControllerRefManager(client, (TRACKING,))
        self._expectations = PodExpectations(client.clock)
        self._reports = StatusWriter(client, JOBS)
        self._records: dict[str, FailureRecord] = {}
        self._jobs = informers.of(JOBS)
        self._jobs.index(_BY_UID, _uid)
        self._jobs.index(_MANUAL_SELECTOR, _manual_selector)
        self._pods = pods_by_controller(informers)
        self._orphans = OrphanPods(client, self._pod_control, self._jobs.cache, self._pods.cache)
        self._jobs.subscribe(self._on_job)
        self._pods.subscribe(self._on_pod)

    def start(self) -> None:
        """Starts the workers; the informers must have synced, or pods would seem to be missing."""
        super().start()
        self._orphans.start()

    async def stop(self) -> None:
        """Finishes reconciles in progress."""
        await self._orphans.stop()
        await super().stop()

    # Event handlers

    def _on_job(self, old: JobView | None, new: JobView | None) -> None:
        if new is None:
            if old is not None:
                self._forget(old)
            return
        if new.is_finished:
            self._forget(new)
        elif (
            old is None
            or old.metadata.generation != new.metadata.generation
            or new.is_terminating != old.is_terminating
        ):
            self._queue.add(new.key)
        elif not self._reports.is_own(new):
            self._queue.add_after(new.key, EVENT_DELAY)

    def _forget(self, job: JobView) -> None:
        """Drops the state of a finished or deleted Job and releases its pods."""
        uid = job.metadata.uid
        self._expectations.forget(uid)
        self._reports.forget(job.metadata)
        self._records.pop(uid, None)
        self._orphans.enqueue_pods_of(uid)

    def _on_pod(self, old: ControllerPod | None, new: ControllerPod | None) -> None:
        self._expectations.observe(old, new)
        for uid in _owners(old, new) if _matters(old, new) else ():
            self._enqueue(uid)
        if new is None:
            return
        if is_tracked(new):
            self._orphans.enqueue(new)
        if controller_of(new.metadata) is None and _may_find_owner(old, new):
            self._enqueue_adopters(new)

    def _enqueue(self, uid: str) -> None:
        for job in self._jobs.cache.find(_BY_UID, uid):
            self._queue.add_after(job.key, EVENT_DELAY if job.spec.parallelism <= MANY else EVENT_DELAY_LARGE)

    def _enqueue_adopters(self, pod: ControllerPod) -> None:
        """Enqueues the Jobs that might adopt an orphan."""
        self._enqueue(pod.metadata.labels.get(_UID_LABEL, ""))
        for job in self._jobs.cache.find(_MANUAL_SELECTOR, pod.metadata.namespace):
            self._queue.add_after(job.key, EVENT_DELAY)

    # Reconciliation

    async def reconcile(self, key: ObjectKey) -> RequeueAfter | None:
        """Executes plans for a Job until nothing is left to do now."""
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
                return None  # the Job or its namespace was deleted; the caches will show it
            if not error.is_conflict:
                raise
            log.debug("%s: conflict, reconciling again", key)
            return RequeueAfter(EVENT_DELAY)

    async def _work_on(self, job: JobView) -> RequeueAfter | None:
        for _ in range(_MAX_PLANS):
            planned = await self._plan(job)
            rejection: KubeError | None = None
            if planned.touches_pods:
                rejection = await self._change_pods(job, planned)
                planned = await self._plan(job, planned.ending)
            written = await self._report(job, planned)
            await self._release(job, planned.release)
            if rejection is not None:
                raise rejection
            if written is job and not planned.release and not planned.touches_pods:
                return None if planned.again is None else RequeueAfter(planned.again)
            if written.is_finished:
                return None
            job = written
        return RequeueAfter(EVENT_DELAY)

    async def _plan(self, job: JobView, decided: JobEnd | None = None) -> JobPlan:
        claimed = await self._ref_manager.claim(job, compile_selector(job.spec.selector), self._pods.cache)
        pods = self._expectations.overlay(job.metadata.uid, claimed)
        record = self._records.get(job.metadata.uid, NO_FAILURES)
        return plan(job, pods, self._clock.wall(), record, decided)

    async def _change_pods(self, job: JobView, planned: JobPlan) -> KubeError | None:
        """Deletes and creates pods; returns the first rejection, if any."""
        rejections = [
            *await _each(planned.removals, lambda pod: self._remove_surplus(job, pod)),
            *await _each(planned.deletes, lambda pod: self._delete(job, pod)),
        ]
        batch = await self._pod_control.create_all(job, build_pods(job, planned.creates)) if planned.creates else None
        for pod in batch.made if batch else ():
            self._expectations.created(job.metadata.uid, pod)
        if batch is not None and batch.rejection is not None:
            rejections.append(batch.rejection)
        return rejections[0] if rejections else None

    async def _remove_surplus(self, job: JobView, pod: ControllerPod) -> None:
        await self._drop_finalizer(job, pod)
        await self._delete(job, pod)

    async def _delete(self, job: JobView, pod: ControllerPod) -> None:
        await self._pod_control.delete(job, pod)
        self._expectations.deleted(job.metadata.uid, pod)

    async def _drop_finalizer(self, job: JobView, pod: ControllerPod) -> None:
        if is_tracked(pod):
            await self._pod_control.drop_finalizer(pod, TRACKING)
            self._expectations.released(job.metadata.uid, pod, TRACKING)

    async def _report(self, job: JobView, planned: JobPlan) -> JobView:
        """Writes the status if it changed; returns the same Job otherwise."""
        changes = status_patch(job.status, planned.status)
        if not changes:
            return job
        written = await self._reports.write(job, changes)
        self._records[job.metadata.uid] = planned.record
        for note in planned.notes:
            self._recorder.record(reference_to(job), note)
        return written

    async def _release(self, job: JobView, pods: Iterable[ControllerPod]) -> None:
        rejections = await _each(pods, lambda pod: self._drop_finalizer(job, pod))
        if rejections:
            raise rejections[0]


def _uid(job: JobView) -> tuple[str]:
    return (job.metadata.uid,)


def _manual_selector(job: JobView) -> tuple[str, ...]:
    """Index by namespace of Jobs with a manual selector, which may match pods of others."""
    return (job.metadata.namespace,) if job.spec.manual_selector else ()


def _owners(*states: ControllerPod | None) -> set[str]:
    """Index of pods by the UIDs of their present and former Jobs."""
    owners = (controller_of(pod.metadata) for pod in states if pod is not None)
    return {owner.uid for owner in owners if owner is not None and owner.kind == JobView.KIND}


def _matters(old: ControllerPod | None, new: ControllerPod | None) -> bool:
    """Whether a pod event can affect its Job."""
    if old is None or new is None:
        return True
    left, right = old.metadata, new.metadata
    return (
        old.status.phase != new.status.phase
        or old.is_ready != new.is_ready
        or old.is_terminating != new.is_terminating
        or left.finalizers != right.finalizers
        or left.owner_references != right.owner_references
        or left.labels != right.labels
        or restarts(old) != restarts(new)
        or ((new.is_terminating or new.is_finished) and old.status != new.status)
    )


def _may_find_owner(old: ControllerPod | None, new: ControllerPod) -> bool:
    if old is None:
        return True
    left, right = old.metadata, new.metadata
    return left.labels != right.labels or left.owner_references != right.owner_references


async def _each(things: Iterable[T], work: Callable[[T], Coroutine[Any, Any, None]]) -> list[KubeError]:
    """Runs the action for each item with bounded concurrency; returns the rejections."""
    waiting, rejections = list(things), list[KubeError]()
    for start in range(0, len(waiting), _MAX_CONCURRENT):
        part = waiting[start : start + _MAX_CONCURRENT]
        for answer in await asyncio.gather(*(work(each) for each in part), return_exceptions=True):
            if isinstance(answer, KubeError):
                rejections.append(answer)
            elif isinstance(answer, BaseException):
                raise answer
    return rejections
