"""Generates users' work on a real API server: creates Workloads when they are due, and finishes them when they ran.

It plays the part that job controllers play, the same for whichever manager admits: a Workload that is admitted runs for
its time and is finished, one that is evicted gives its quota back at once and starts over when it is admitted again.
"""

import asyncio
import heapq
import statistics
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

import msgspec

from benchmarks.scenarios import NAMESPACE, BenchmarkScenario, JobClass, workload
from kohort.api.gates import DEFAULT_GATES
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.meta import Condition, ObjectMeta
from kohort.engine.lifecycle.conditions import is_admitted, is_evicted, is_finished, is_reserved
from kohort.engine.lifecycle.eviction import release
from kohort.kube.client import Client
from kohort.kube.errors import StatusError
from kohort.kube.informer import Informer
from kohort.kube.options import ListScope

WORKERS = 32
"""Requests in flight."""
HERE = ListScope(namespace=NAMESPACE)

Task = Callable[[], Awaitable[None]]


@dataclass(slots=True)
class Job:
    """The generator's state of one Workload."""

    kind: JobClass
    created: float = 0.0
    admitted: float = 0.0
    """When it was first seen admitted."""
    runs: int = 0
    """Starts and stops so far: an end planned for an earlier run does not count."""
    running: bool = False
    is_ending: bool = False
    """It is due to finish, but was changed in between: it finishes after the next event."""
    released: str = ""
    """The version that was last given back."""
    finished: bool = False
    seen: Workload | None = None
    """As it was last seen."""

    @property
    def is_placed(self) -> bool:
        admission = self.seen.status.admission if self.seen else None
        return admission is not None and all(each.topology_assignment for each in admission.pod_set_assignments)


@dataclass(frozen=True, slots=True)
class Run:
    """What became of all jobs."""

    seconds: float
    """From the first creation to the last end."""
    waits: dict[str, float]
    """Median seconds from creation to admission, per class."""
    evictions: int
    requests: int
    """Requests of the generator."""
    placed: int
    """Jobs whose pods have a topology assignment."""


@dataclass
class WorkloadGenerator:
    """All users and all jobs of a scenario."""

    client: Client
    scenario: BenchmarkScenario
    evictions: int = 0
    requests: int = 0
    _jobs: dict[str, Job] = field(default_factory=dict)
    _left: int = 0
    _errands: asyncio.PriorityQueue[tuple[int, int, Task]] = field(default_factory=asyncio.PriorityQueue)
    _numbers: Iterator[int] = field(default_factory=lambda: iter(range(10**9)))
    _done: asyncio.Event = field(default_factory=asyncio.Event)
    _tasks: asyncio.TaskGroup = field(default_factory=asyncio.TaskGroup)

    def __post_init__(self) -> None:
        self._workloads = self.client.of(Workload)
        self._clock = self.client.clock

    async def play(self, limit: float) -> Run:
        """Run the scenario; raises TimeoutError if jobs are left after the limit."""
        self._left = self.scenario.jobs
        informer = Informer(self._workloads, HERE)
        informer.subscribe(lambda _, new: self._look(new) if new is not None else None)
        async with asyncio.timeout(limit), self._tasks as tasks:
            helpers = [tasks.create_task(informer.run()), *(tasks.create_task(self._work()) for _ in range(WORKERS))]
            await informer.wait_for_sync()
            begun = self._clock.now()
            await self._arrive(begun)
            await self._done.wait()
            ended = self._clock.now()
            for helper in helpers:
                helper.cancel()
        placed = sum(each.is_placed for each in self._jobs.values())
        return Run(ended - begun, self._waits(), self.evictions, self.requests, placed)

    @property
    def left(self) -> int:
        """Jobs that are not finished."""
        return self._left

    def _waits(self) -> dict[str, float]:
        return {
            kind.name: statistics.median(
                each.admitted - each.created for each in self._jobs.values() if each.kind is kind
            )
            for kind in self.scenario.classes
        }

    # Arrivals

    async def _arrive(self, begun: float) -> None:
        for number, (due, queue, kind) in enumerate(_arrivals(self.scenario)):
            wait = begun + due - self._clock.now()
            if wait > 0:
                await self._clock.sleep(wait)
            made = workload(number, queue, kind.pod_set, kind.priority, self._clock.wall())
            bare = msgspec.structs.replace(made, metadata=ObjectMeta(name=made.metadata.name, namespace=NAMESPACE))
            self._jobs[made.metadata.name] = Job(kind)
            self._ask(1, lambda bare=bare: self._create(bare))  # type: ignore[misc]

    async def _create(self, made: Workload) -> None:
        self._jobs[made.metadata.name].created = self._clock.now()
        await self._workloads.create(made)

    # What is seen

    def _look(self, seen: Workload) -> None:
        job = self._jobs[seen.metadata.name]
        job.seen = seen
        if job.finished or is_finished(seen):
            return
        if is_evicted(seen):
            self._give_back(seen, job)
        elif is_admitted(seen) and not job.running:
            self._start(seen, job)
        elif job.is_ending:
            self._end(seen.metadata.name, job, job.runs)

    def _start(self, seen: Workload, job: Job) -> None:
        job.running = True
        job.runs += 1
        job.admitted = job.admitted or self._clock.now()
        self._tasks.create_task(self._run(seen.metadata.name, job, job.runs))

    async def _run(self, name: str, job: Job, run: int) -> None:
        await self._clock.sleep(job.kind.run_ms / 1000)
        self._end(name, job, run)

    def _give_back(self, seen: Workload, job: Job) -> None:
        if job.running:
            job.running = job.is_ending = False
            job.runs += 1
            self.evictions += 1
        if is_reserved(seen) and job.released != seen.metadata.resource_version:
            job.released = seen.metadata.resource_version
            self._ask(0, lambda: self._release(seen))

    def _end(self, name: str, job: Job, run: int) -> None:
        if job.running and job.runs == run:
            job.is_ending = False
            self._ask(0, lambda: self._finish(name, job, run))

    # What is done

    async def _release(self, seen: Workload) -> None:
        # After a conflict another version is on its way, and is looked at then.
        await self._write(release(seen, DEFAULT_GATES, self._clock.wall()))

    async def _finish(self, name: str, job: Job, run: int) -> None:
        if not job.running or job.runs != run or job.seen is None:
            return
        tried = job.seen
        if await self._write(_finished(tried, self._clock.wall())):
            job.finished = True
            self._left -= 1
            if not self._left:
                self._done.set()
        elif job.seen is tried:
            job.is_ending = job.running
        else:
            self._end(name, job, run)

    async def _write(self, wanted: Workload) -> bool:
        """Replace the status, which costs the server less than a patch; False after a conflict."""
        try:
            await self._workloads.update(wanted, subresource="status")
        except StatusError as error:
            if not error.is_conflict:
                raise
            return False
        return True

    def _ask(self, rank: int, errand: Task) -> None:
        self._errands.put_nowait((rank, next(self._numbers), errand))

    async def _work(self) -> None:
        while True:
            _, _, errand = await self._errands.get()
            self.requests += 1
            await errand()


def _finished(seen: Workload, now: datetime) -> Workload:
    finished = Condition("Finished", "True", "Succeeded", "Job finished successfully", now.replace(microsecond=0))
    conditions = (*seen.status.conditions, finished)
    return msgspec.structs.replace(seen, status=msgspec.structs.replace(seen.status, conditions=conditions))


def _arrivals(scenario: BenchmarkScenario) -> Iterator[tuple[float, str, JobClass]]:
    """Seconds, queue and class of every job, in the order of time."""
    streams = [
        [((number + 1) * kind.every_ms / 1000, queue, kind) for number in range(kind.count)]
        for queue in scenario.queue_names()
        for kind in scenario.classes
    ]
    return heapq.merge(*streams, key=lambda each: each[0])
