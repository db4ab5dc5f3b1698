"""Waiting for a job to end, with a line for each change of its state.

Every change that a watch brings is told, also those that the next one undoes; only positions are asked for, now and
then, while the job waits.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

from kohort.api.codec import JsonObject
from kohort.api.core.batch import Job
from kohort.api.core.pods import Pod
from kohort.api.kueue.v1beta2 import Workload
from kohort.cli.job_progress import JobPhase, JobProgress, stage
from kohort.cli.positions import positions
from kohort.jobs.keys import JOB_UID_LABEL
from kohort.kube.client import Client
from kohort.kube.clock import within
from kohort.kube.informer import Informer, SharedInformerFactory
from kohort.kube.options import ListScope

POSITION_SECONDS: Final = 5.0
"""How often a waiting job's position is asked for."""
UNSEEN_SECONDS: Final = 10.0
"""How long a job may go unnoticed before that is told."""
FOR_EVER: Final = 1e9
UNNOTICED: Final = JobProgress(JobPhase.UNSEEN, "nobody has queued it yet: does Kohort run here? `kohort doctor` looks")
FAILED: Final = 1
"""Exit code of a job that failed without one of its own."""

Tell = Callable[[JobProgress], None]


class JobWatcher:
    """Follows one Job and its Workload."""

    def __init__(self, client: Client, job: JsonObject, informers: SharedInformerFactory, tell: Tell) -> None:
        metadata = job["metadata"]
        self.namespace, self.name = metadata["namespace"], metadata["name"]
        self._client = client
        self._tell = tell
        self._position: int | None = None
        self._last: JobProgress | None = None
        self._has_wondered = False
        self._changed = asyncio.Event()
        self._jobs = informers.of(Job.resource, ListScope(self.namespace, fields=f"metadata.name={self.name}"))
        marked = f"{JOB_UID_LABEL}={metadata['uid']}"
        self._workloads: Informer[Workload] = informers.of(Workload, ListScope(self.namespace, labels=marked))

    async def wait(self) -> JobProgress:
        """Tell every change until the job has ended; how it did. Raises what keeps us from seeing it."""
        for informer in (self._jobs, self._workloads):
            await seen(informer)
            await informer.wait_for_sync()
        self._jobs.subscribe(self._look)
        self._workloads.subscribe(self._look)
        while True:
            now = self._stage()
            if now.phase is JobPhase.QUEUED:
                self._position = await self._asked_position()
                now = self._stage()
            self._say(now)
            if now.is_end:
                return now
            await self._pause(now)

    def _look(self, _old: object, _new: object) -> None:
        """Tell what a change made of the job, unless a position belongs to it, which takes a question."""
        now = self._stage()
        if now.phase is not JobPhase.QUEUED:
            self._position = None
            self._say(now)
        self._changed.set()

    def _say(self, now: JobProgress) -> None:
        if now != self._last and not self._is_stale(now):
            if now.phase is not JobPhase.UNSEEN:
                self._tell(now)
            self._last = now

    def _is_stale(self, now: JobProgress) -> bool:
        """Whether that is no news: nothing follows the end, and a job whose pods end one by one was admitted before."""
        last = self._last
        return last is not None and (last.is_end or (last.phase, now.phase) == (JobPhase.RUNNING, JobPhase.ADMITTED))

    def _stage(self) -> JobProgress:
        job = next(iter(self._jobs.cache), None)
        workloads = sorted(self._workloads.cache, key=lambda each: (each.metadata.creation_timestamp, _name(each)))
        return stage(job, workloads[-1] if workloads else None, self._position)

    async def _pause(self, now: JobProgress) -> None:
        """Until something changes; a waiting job's position does so unseen."""
        seconds = {JobPhase.QUEUED: POSITION_SECONDS, JobPhase.UNSEEN: UNSEEN_SECONDS}.get(now.phase, FOR_EVER)
        try:
            await within(self._client.clock, seconds, self._changed.wait())
        except TimeoutError:
            if now.phase is JobPhase.UNSEEN and not self._has_wondered:
                self._has_wondered = True
                self._tell(UNNOTICED)
        self._changed.clear()

    async def _asked_position(self) -> int | None:
        """The position in the LocalQueue, from the visibility API; None where that is not served."""
        workload = next(iter(self._workloads.cache), None)
        if workload is None or not workload.spec.queue_name:
            return None
        waiting = await positions(self._client, self.namespace, workload.spec.queue_name)
        return waiting.get(_name(workload))


@asynccontextmanager
async def watching_job(client: Client, job: JsonObject, tell: Tell) -> AsyncIterator[JobWatcher]:
    """A waiter whose watches are open for as long as the block lasts."""
    informers = SharedInformerFactory(client)
    waiter = JobWatcher(client, job, informers, tell)
    informers.start()
    try:
        yield waiter
    finally:
        await informers.stop()


async def seen(informer: Informer[Any]) -> None:
    """See that the server lets us look: an informer would wait for ever for one that says no."""
    await informer.objects.page(informer.scope, limit=1)


async def exit_code(client: Client, job: JsonObject, end: JobProgress) -> int:
    """0 for a job that succeeded, else the exit code of a container that failed, as far as one is known."""
    if end.phase is JobPhase.SUCCEEDED:
        return 0
    metadata = job["metadata"]
    pods = await client.of(Pod).list(
        ListScope(metadata["namespace"], labels=f"batch.kubernetes.io/job-name={metadata['name']}")
    )
    codes = [
        status.state.terminated.exit_code
        for pod in pods.items
        for status in pod.status.container_statuses
        if status.state.terminated is not None
    ]
    return next((code for code in codes if 0 < code < 256), FAILED)


def _name(workload: Workload) -> str:
    return workload.metadata.name
