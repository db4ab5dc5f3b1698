"""Waits for the end of a job and reports each change of its state.

Every watch event is reported; positions in the queue are polled while the job is pending.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

from kohort.api.codec import JsonObject
from kohort.api.conditions import is_true
from kohort.api.core.batch import Job
from kohort.api.core.pods import Pod
from kohort.api.kueue.v1beta2 import Workload
from kohort.cli.job_progress import JobPhase, JobProgress, progress_of
from kohort.cli.positions import positions
from kohort.jobs.keys import JOB_UID_LABEL
from kohort.kube.client import Client
from kohort.kube.clock import within
from kohort.kube.informer import Informer, SharedInformerFactory
from kohort.kube.options import ListScope

POSITION_SECONDS: Final = 5.0
"""Polling interval of the position of a pending job."""
UNSEEN_SECONDS: Final = 10.0
"""How long a job may have no Workload before a warning."""
NO_TIMEOUT: Final = 1e9
NOT_QUEUED: Final = JobProgress(JobPhase.UNSEEN, "not queued yet: is the manager running? (check with `kohort doctor`)")
FAILED: Final = 1
"""Exit code of a job that was stopped, or that failed without an exit code of a container."""

ReportProgress = Callable[[JobProgress], None]


class JobWatcher:
    """Watches one Job and its Workload."""

    def __init__(
        self, client: Client, job: JsonObject, informers: SharedInformerFactory, report: ReportProgress
    ) -> None:
        metadata = job["metadata"]
        self.namespace, self.name = metadata["namespace"], metadata["name"]
        self._client = client
        self._report = report
        self._position: int | None = None
        self._last: JobProgress | None = None
        self._has_warned = False
        self._changed = asyncio.Event()
        self._jobs = informers.of(Job.resource, ListScope(self.namespace, fields=f"metadata.name={self.name}"))
        marked = f"{JOB_UID_LABEL}={metadata['uid']}"
        self._workloads: Informer[Workload] = informers.of(Workload, ListScope(self.namespace, labels=marked))

    async def wait(self) -> JobProgress:
        """Report every change until the job has ended, and return the last one; raises errors of the client."""
        for informer in (self._jobs, self._workloads):
            await check_access(informer)
            await informer.wait_for_sync()
        self._jobs.subscribe(self._on_change)
        self._workloads.subscribe(self._on_change)
        while True:
            now = self._progress()
            if now.phase is JobPhase.QUEUED:
                self._position = await self._read_position()
                now = self._progress()
            self._report_if_new(now)
            if now.is_end:
                return now
            await self._pause(now)

    def _on_change(self, _old: object, _new: object) -> None:
        """Report a change, except of a pending job, whose position must be requested first."""
        now = self._progress()
        if now.phase is not JobPhase.QUEUED:
            self._position = None
            self._report_if_new(now)
        self._changed.set()

    def _report_if_new(self, now: JobProgress) -> None:
        if now != self._last and not self._is_stale(now):
            if now.phase is not JobPhase.UNSEEN:
                self._report(now)
            self._last = now

    def _is_stale(self, now: JobProgress) -> bool:
        """Whether it is outdated: the end is final, and ADMITTED after RUNNING means that pods have finished."""
        last = self._last
        return last is not None and (last.is_end or (last.phase, now.phase) == (JobPhase.RUNNING, JobPhase.ADMITTED))

    def _progress(self) -> JobProgress:
        job = next(iter(self._jobs.cache), None)
        workloads = sorted(self._workloads.cache, key=lambda each: (each.metadata.creation_timestamp, _name(each)))
        return progress_of(job, workloads[-1] if workloads else None, self._position)

    async def _pause(self, now: JobProgress) -> None:
        """Wait for a change, at most for the polling interval of the position."""
        seconds = {JobPhase.QUEUED: POSITION_SECONDS, JobPhase.UNSEEN: UNSEEN_SECONDS}.get(now.phase, NO_TIMEOUT)
        try:
            await within(self._client.clock, seconds, self._changed.wait())
        except TimeoutError:
            if now.phase is JobPhase.UNSEEN and not self._has_warned:
                self._has_warned = True
                self._report(NOT_QUEUED)
        self._changed.clear()

    async def _read_position(self) -> int | None:
        """The position in the LocalQueue, from the visibility API; None if that is not served."""
        workload = next(iter(self._workloads.cache), None)
        if workload is None or not workload.spec.queue_name:
            return None
        waiting = await positions(self._client, self.namespace, workload.spec.queue_name)
        return waiting.get(_name(workload))


@asynccontextmanager
async def watching_job(client: Client, job: JsonObject, report: ReportProgress) -> AsyncIterator[JobWatcher]:
    """Runs a job watcher until the context exits."""
    informers = SharedInformerFactory(client)
    watcher = JobWatcher(client, job, informers, report)
    informers.start()
    try:
        yield watcher
    finally:
        await informers.stop()


async def check_access(informer: Informer[Any]) -> None:
    """Raise if the server rejects a list request: an informer would retry forever."""
    await informer.objects.page(informer.scope, limit=1)


async def exit_code(client: Client, job: JsonObject, end: JobProgress) -> int:
    """0 for a job that succeeded; that of a failed container if the Job failed; otherwise 1."""
    if end.phase is JobPhase.SUCCEEDED:
        return 0
    if end.phase is not JobPhase.FAILED:
        return FAILED
    metadata = job["metadata"]
    pods = await client.of(Pod).list(
        ListScope(metadata["namespace"], labels=f"batch.kubernetes.io/job-name={metadata['name']}")
    )
    return next((code for pod in pods.items if not _is_stopped(pod) for code in _failures(pod)), FAILED)


def _is_stopped(pod: Pod) -> bool:
    """Whether its containers ended because it was deleted or disrupted: their exit code is that of a signal."""
    return pod.metadata.deletion_timestamp is not None or is_true(pod.status.conditions, "DisruptionTarget")


def _failures(pod: Pod) -> list[int]:
    """The exit codes of its failed containers."""
    ended = [status.state.terminated for status in pod.status.container_statuses]
    return [end.exit_code for end in ended if end is not None and 0 < end.exit_code < 256]


def _name(workload: Workload) -> str:
    return workload.metadata.name
