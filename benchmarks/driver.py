"""A cluster in virtual time round the engine: jobs arrive, run from their admission on, and stop when preempted.

Only what the engine itself does is timed. Every decision is written by the lifecycle functions and comes back as a
watch would bring it, encoded and decoded anew, so that no shortcut by identity flatters the figures.
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import Enum
from heapq import heappop, heappush

from benchmarks.scenarios import BenchmarkScenario, JobClass, workload
from kohort.api.codec import decode, encode
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.meta import ObjectKey
from kohort.engine.decisions import Decision, Evict, KeepPending, Reserve
from kohort.engine.engine import Engine
from kohort.engine.events import ObjectUpserted
from kohort.engine.lifecycle.admission import NotAdmitted, Reservation, refuse, reserve
from kohort.engine.lifecycle.eviction import release
from kohort.engine.lifecycle.finishing import finish
from kohort.engine.lifecycle.preemption import PreemptionParty, PreemptionRecord, preempt
from kohort.engine.settings import EngineSettings

START = datetime(2026, 1, 1, tzinfo=UTC)


class Preempted(Enum):
    """What becomes of a preempted job's work."""

    STARTS_OVER = "starts over"
    RESUMES = "resumes"


class ArrivalProcess(Enum):
    """When jobs arrive besides those that are planned."""

    AS_PLANNED = "as planned"
    REPLENISHED = "replenished"
    """Another job of the same class arrives for each that is admitted, so that as many wait as before."""


@dataclass(slots=True)
class Job:
    """A job and the Workload that stands for it."""

    workload: Workload
    kind: JobClass
    queue: str
    left_ms: int
    starts: int = 0
    """How often it was started or stopped: an end that was planned for an earlier start does not count."""
    started_ms: int = 0


@dataclass
class Driver:
    """The engine, the jobs, and what is due when."""

    settings: EngineSettings = field(default_factory=EngineSettings)
    preempted: Preempted = Preempted.STARTS_OVER
    supply: ArrivalProcess = ArrivalProcess.AS_PLANNED
    now_ms: int = 0
    cpu: float = 0.0
    """Seconds of CPU that `apply` and `schedule` took."""
    costs: list[float] = field(default_factory=list)
    """The same, step by step."""
    admissions: int = 0
    evictions: int = 0
    turns: int = 0
    finished: int = 0
    occupied: int = 0
    """Cores times milliseconds that jobs held, also for work that preemption destroyed."""

    def __post_init__(self) -> None:
        self.engine = Engine(self.settings)
        self.jobs: dict[ObjectKey, Job] = {}
        self._due: list[tuple[int, int, Job, int | None]] = []
        """Time, a number that keeps the order, the job, and which of its starts ends then; None for its arrival."""
        self._numbers = 0

    @property
    def now(self) -> datetime:
        return START + timedelta(milliseconds=self.now_ms)

    @property
    def cpu_per_admission(self) -> float:
        """Microseconds."""
        return self.cpu / self.admissions * 1e6

    def set_up(self, scenario: BenchmarkScenario, rounds: int = 1) -> None:
        """Create the queues and plan the arrivals; every round submits all jobs of the scenario again."""
        for thing in scenario.objects():
            self.engine.apply(ObjectUpserted(thing), self.now)
        for _ in range(rounds):
            for queue in scenario.queue_names():
                for kind in scenario.classes:
                    for index in range(kind.count):
                        self._plan_arrival(queue, kind, index * kind.every_ms)

    def run(self) -> None:
        """Let time pass until nothing is due."""
        while self._due:
            self.step()

    def run_for(self, admissions: int) -> None:
        """Let time pass until so many more were admitted; counting starts anew."""
        self.cpu, self.admissions = 0.0, 0
        while self._due and self.admissions < admissions:
            self.step()

    def step(self) -> None:
        """Everything that is due at the next moment happens; then the engine decides until it has nothing to say."""
        self.now_ms = self._due[0][0]
        before = self.cpu
        seen = []
        while self._due and self._due[0][0] == self.now_ms:
            _, _, job, start = heappop(self._due)
            if start is None:
                self.jobs[_key(job.workload)] = job
                seen.append(job.workload)
            elif start == job.starts:
                seen.append(self._finish(job))
        self.show(seen)
        while self.turn():
            pass
        self.costs.append(self.cpu - before)

    def turn(self) -> bool:
        """Run the scheduler and apply its decisions; whether a workload was admitted or evicted."""
        begin = time.process_time()
        decisions = self.engine.schedule(self.now)
        self.cpu += time.process_time() - begin
        self.turns += 1
        self.show([seen for decision in decisions for seen in self._carry_out(decision)])
        return any(not isinstance(decision, KeepPending) for decision in decisions)

    def show(self, workloads: Iterable[Workload]) -> None:
        """Let the engine see objects as a watch delivers them."""
        events = [ObjectUpserted(as_watched(each)) for each in workloads]
        now, apply = self.now, self.engine.apply
        begin = time.process_time()
        for event in events:
            apply(event, now)
        self.cpu += time.process_time() - begin

    # What decisions do to jobs

    def _carry_out(self, decision: Decision) -> Iterable[Workload]:
        job = self.jobs[decision.workload]
        match decision:
            case Reserve():
                yield self._start(job, decision)
            case Evict():
                yield self._preempt(job, decision)
                yield self._write(job, release(job.workload, self.settings.gates, self.now))
            case KeepPending():
                before = job.workload
                refusal = NotAdmitted(decision.reason, decision.message)
                if self._write(job, refuse(before, refusal, self.settings.gates, self.now).workload) is not before:
                    yield job.workload

    def _start(self, job: Job, decision: Reserve) -> Workload:
        self.admissions += 1
        job.starts += 1
        job.started_ms = self.now_ms
        self._plan(self.now_ms + job.left_ms, job, job.starts)
        if self.supply is ArrivalProcess.REPLENISHED:
            self._plan_arrival(job.queue, job.kind, self.now_ms + job.kind.every_ms)
        reservation = Reservation(decision.admission, frozenset(), decision.considered)
        return self._write(job, reserve(job.workload, reservation, self.settings.gates, self.now).workload)

    def _preempt(self, job: Job, decision: Evict) -> Workload:
        self.evictions += 1
        self._stop(job)
        if self.preempted is Preempted.RESUMES:
            job.left_ms -= self.now_ms - job.started_ms
        preemptor = PreemptionParty(self.jobs[decision.preemptor].workload.metadata.uid, path=decision.preemptor_path)
        preemption = PreemptionRecord(decision.reason, preemptor, PreemptionParty(path=decision.victim_path))  # type: ignore[arg-type]
        return self._write(job, preempt(job.workload, preemption, self.now).workload)

    def _finish(self, job: Job) -> Workload:
        self.finished += 1
        self._stop(job)
        # A finished job needs no events; its object stays, as in a cluster.
        del self.jobs[_key(job.workload)]
        return self._write(job, finish(job.workload, "Succeeded", "Job finished successfully", self.now))

    def _stop(self, job: Job) -> None:
        job.starts += 1
        self.occupied += job.kind.size * (self.now_ms - job.started_ms)

    def _write(self, job: Job, new: Workload) -> Workload:
        job.workload = new
        return new

    # Plans

    def _plan_arrival(self, queue: str, kind: JobClass, at_ms: int) -> None:
        born = START + timedelta(milliseconds=at_ms)
        made = workload(self._numbers, queue, kind.pod_set, kind.priority, born)
        self._plan(at_ms, Job(made, kind, queue, kind.run_ms), None)

    def _plan(self, at_ms: int, job: Job, start: int | None) -> None:
        self._numbers += 1
        heappush(self._due, (at_ms, self._numbers, job, start))


def _key(thing: Workload) -> ObjectKey:
    return ObjectKey(thing.metadata.namespace, thing.metadata.name)


def as_watched(thing: Workload) -> Workload:
    """The object as if it had just come over the wire."""
    return decode(encode(thing), Workload)
