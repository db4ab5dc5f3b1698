"""A simulated pod: a state machine driven by the clock; all its containers change state together.

It stores times and derives the container states on demand, since there may be a hundred thousand pods.
"""

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from enum import Enum

from kohort.embedded.nodes.runtime import (
    ContainerWaiting,
    PodState,
    PodStatusSink,
    Running,
    RuntimeContainerStatus,
    RuntimeValue,
    State,
    Terminated,
)
from kohort.embedded.nodes.shapes import PodStatusShape
from kohort.embedded.nodes.simulated.log_text import following, log_lines, selected
from kohort.embedded.nodes.simulated.plans import FOREVER, SimulatedPodPlan
from kohort.embedded.nodes.timers import Timer, Timers
from kohort.embedded.server.subresources.logs import PodLogOptions
from kohort.kube.backoff import Backoff
from kohort.kube.clock import Clock
from kohort.kube.errors import bad_request

_BACK_OFF = Backoff(base=10.0, cap=300.0, jitter=0.0)
_RESET_SECONDS = 600.0
"""Seconds of running after which earlier failures are reset."""
TERM, KILL = 143, 137


class SimulatedPhase(Enum):
    """Phase of a simulated pod."""

    STARTING = "starting"
    INITIALIZING = "initializing"
    RUNNING = "running"
    WAITING = "waiting for its restart"
    ENDED = "ended"


class PodIdentity(RuntimeValue):
    """Namespace, name, UID and node of a pod."""

    namespace: str
    name: str
    uid: str
    node: str


class PreviousPodState(RuntimeValue):
    """What a previous agent reported about the pod."""

    arrived: datetime
    started: datetime | None = None
    attempt: int = 0
    last: Terminated | None = None
    end: Terminated | None = None
    """How a finished pod terminated."""


class SimulatedPod:
    """A pod without processes."""

    __slots__ = (
        "_attempt",
        "_begun",
        "_clock",
        "_failures",
        "_followers",
        "_is_ready",
        "_last",
        "_plan",
        "_reports",
        "_shape",
        "_stage",
        "_started",
        "_timer",
        "_timers",
        "_until",
        "identity",
    )

    def __init__(
        self,
        identity: PodIdentity,
        shape: PodStatusShape,
        plan: SimulatedPodPlan,
        reports: PodStatusSink,
        clock: Clock,
        timers: Timers,
    ) -> None:
        self.identity = identity
        self._shape = shape
        self._plan = plan
        self._reports = reports
        self._clock = clock
        self._timers = timers
        self._stage = SimulatedPhase.STARTING
        self._attempt = 0
        self._failures = 0
        self._begun: datetime | None = None
        self._started: datetime | None = None
        self._is_ready = False
        self._last: Terminated | None = None
        self._until: float | None = None
        """Latest end of a pod that is being stopped."""
        self._timer: Timer | None = None
        self._followers: set[asyncio.Event] | None = None

    # State transitions

    def begin(self, past: PreviousPodState) -> None:
        """Starts the pod or resumes it after a previous agent."""
        self._attempt, self._last = past.attempt, past.last
        if past.end is not None:
            self._begun = self._started = past.end.started
            self._stage = SimulatedPhase.RUNNING
            self._over(past.end)
        elif self._plan.waiting:
            self._report_state()
        elif past.started is not None:
            self._begun = past.started
            self._run(past.started)
        elif past.last is not None:
            self._begun = past.last.started
            self._failures = past.attempt
            self._back_off(past.last.finished)
        else:
            self._start(self._left(past.arrived, self._plan.start))

    def _start(self, wait: float) -> None:
        if wait <= 0:
            self._initialize()
            return
        self._report_state()
        self._timer = self._timers.after(wait, self._initialize)

    def _initialize(self) -> None:
        self._begun = self._clock.wall()
        plain = sum(not each.is_sidecar for each in self._shape.init)
        if not plain or not self._plan.init:
            self._run(self._begun)
            return
        self._stage = SimulatedPhase.INITIALIZING
        self._next_init()

    def _next_init(self) -> None:
        """Init containers run one after the other; each termination is reported."""
        done, wanted = self._inits_done(), sum(not each.is_sidecar for each in self._shape.init)
        if done >= wanted:
            self._run(self._clock.wall())
            return
        self._report_state()
        self._timer = self._timers.after(self._plan.init, self._next_init)

    def _inits_done(self) -> int:
        if self._begun is None or not self._plan.init:
            return 0
        return round((self._clock.wall() - self._begun).total_seconds() / self._plan.init)

    def _run(self, since: datetime) -> None:
        self._stage, self._started = SimulatedPhase.RUNNING, since
        left = self._left(since, self._plan.ready)
        self._is_ready = left <= 0
        self._report_state()
        if self._is_ready or self._plan.ready >= self._plan.run:
            self._finish_in_time(since)
        else:
            self._timer = self._timers.after(left, self._become_ready)

    def _become_ready(self) -> None:
        self._is_ready = True
        self._report_state()
        self._finish_in_time(self._started or self._clock.wall())

    def _finish_in_time(self, since: datetime) -> None:
        if self._plan.run != FOREVER:
            self._timer = self._timers.after(self._left(since, self._plan.run), self._finish)

    def _finish(self) -> None:
        code = self._plan.code_of(self._attempt)
        end = self._end(code, self._plan.reason if code else "Completed")
        if not self._shape.restarts(code):
            self._over(end)
            return
        self._last, self._started = end, None
        long = (end.finished - end.started).total_seconds() >= _RESET_SECONDS
        self._failures = 1 if long else self._failures + 1
        self._back_off(end.finished)

    def _back_off(self, since: datetime) -> None:
        """The first restart is immediate, later ones back off exponentially."""
        wait = 0.0 if self._failures <= 1 else self._left(since, self._wait())
        if wait <= 0:
            self._restart()
            return
        self._stage = SimulatedPhase.WAITING
        self._report_state()
        self._timer = self._timers.after(wait, self._restart)

    def _wait(self) -> float:
        return _BACK_OFF.steady(self._failures - 1)

    def _restart(self) -> None:
        self._attempt += 1
        self._run(self._clock.wall())

    def _left(self, since: datetime, seconds: float) -> float:
        """Remaining seconds of a period."""
        return seconds - (self._clock.wall() - since).total_seconds()

    def _end(self, code: int, reason: str) -> Terminated:
        now = self._clock.wall()
        return Terminated(code, reason, self._started or now, now)

    def _over(self, end: Terminated | None) -> None:
        """Enters the final state; `end` is that of the current run."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        state = self._final(end)
        self._stage, self._last = SimulatedPhase.ENDED, end or self._last
        self._reports.state(state)
        self._wake()

    # Runtime interface

    def stop(self, grace: float) -> None:
        """Stops within the time set by the plan, at most the grace period."""
        if self._stage is SimulatedPhase.ENDED:
            return
        if self._stage is not SimulatedPhase.RUNNING:
            self._over(None)
            return
        now = self._clock.now()
        self._until = min(self._until or now + self._plan.stop, now + grace)
        if self._until <= now:
            self._stopped()
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._timers.after(self._until - now, self._stopped)

    def _stopped(self) -> None:
        self._over(self._end(TERM, "Error"))

    def logs(self, options: PodLogOptions) -> AsyncIterator[bytes]:
        """The log lines of a simulated container."""
        if options.previous and not self._attempt:
            name = self.identity.name
            raise bad_request(f'previous terminated container "{options.container}" in pod "{name}" not found')
        return self._lines(options)

    async def _lines(self, options: PodLogOptions) -> AsyncIterator[bytes]:
        attempt = self._attempt - 1 if options.previous else self._attempt
        sent = 0
        while True:
            lines = log_lines(self.identity, self._plan, self._started_of(attempt), self._end_of(attempt), attempt)
            piece = selected(lines[sent:], options, self._clock.wall())
            yield piece
            sent, options = len(lines), following(options, len(piece))
            ended = attempt != self._attempt or self._stage in (SimulatedPhase.ENDED, SimulatedPhase.WAITING)
            if not options.follow or ended or options.limit_bytes == 0:
                return
            await self._wakeup()

    async def _wakeup(self) -> None:
        wake = asyncio.Event()
        self._followers = self._followers or set()
        self._followers.add(wake)
        try:
            await wake.wait()
        finally:
            self._followers.discard(wake)

    async def close(self) -> None:
        """Releases everything."""
        if self._timer is not None:
            self._timer.cancel()
        self._stage = SimulatedPhase.ENDED
        self._wake()

    def _wake(self) -> None:
        for follower in self._followers or ():
            follower.set()

    def _started_of(self, attempt: int) -> datetime | None:
        end = self._end_of(attempt)
        return end.started if end else self._started

    def _end_of(self, attempt: int) -> Terminated | None:
        """How a run terminated, if still in memory."""
        over = self._stage in (SimulatedPhase.ENDED, SimulatedPhase.WAITING)
        return self._last if attempt < self._attempt or over else None

    # Reported state

    def _report_state(self) -> None:
        self._reports.state(self.state())
        self._wake()

    def state(self) -> PodState:
        """The current state of all containers."""
        mains = tuple(self._main(each.name) for each in self._shape.containers)
        return PodState(mains, self._inits(self._stage, None)) if self._shape.init else PodState(mains)

    def _main(self, name: str) -> RuntimeContainerStatus:
        if self._stage is SimulatedPhase.RUNNING and self._started is not None:
            return RuntimeContainerStatus(name, Running(self._started), self._attempt, self._last, self._is_ready)
        if self._stage is SimulatedPhase.WAITING:
            return RuntimeContainerStatus(name, self._crash_loop(name), self._attempt, self._last)
        reason = self._plan.waiting or ("PodInitializing" if self._shape.init else "ContainerCreating")
        return RuntimeContainerStatus(name, ContainerWaiting(reason))

    def _crash_loop(self, name: str) -> ContainerWaiting:
        identity = self.identity
        wait = f"{self._wait():.0f}s"
        if self._wait() >= 60:
            wait = f"{int(self._wait()) // 60}m{int(self._wait()) % 60}s"
        where = f"container={name} pod={identity.name}_{identity.namespace}({identity.uid})"
        return ContainerWaiting("CrashLoopBackOff", f"back-off {wait} restarting failed {where}")

    def _final(self, end: Terminated | None) -> PodState:
        """The final state: running containers terminated, those awaiting a restart keep their last termination."""
        before = self._last if self._attempt else None
        if end is None and self._stage is SimulatedPhase.WAITING:
            end, before = self._last, None
        mains = tuple(
            self._main(each.name) if end is None else RuntimeContainerStatus(each.name, end, self._attempt, before)
            for each in self._shape.containers
        )
        return PodState(mains, self._inits(self._stage, self._clock.wall()), over=True)

    def _inits(self, stage: SimulatedPhase, ended: datetime | None) -> tuple[RuntimeContainerStatus, ...]:
        """Init containers in order; sidecars run from their turn until the pod ends."""
        if self._begun is None:
            return tuple(
                RuntimeContainerStatus(each.name, ContainerWaiting("PodInitializing")) for each in self._shape.init
            )
        found, start = [], self._begun
        done = self._inits_done() if stage is SimulatedPhase.INITIALIZING else len(self._shape.init)
        for each in self._shape.init:
            state: State = ContainerWaiting("PodInitializing")
            if done >= 0:
                state = Running(start)
            if each.is_sidecar and done >= 0 and ended is not None:
                state = Terminated(0, "Completed", start, ended)
            if not each.is_sidecar:
                end = start + timedelta(seconds=self._plan.init)
                if done > 0:
                    state = Terminated(0, "Completed", start, end)
                elif done == 0 and ended is not None:
                    state = Terminated(TERM, "Error", start, ended)
                start, done = end, done - 1
            ready = isinstance(state, Running) if each.is_sidecar else isinstance(state, Terminated)
            found.append(RuntimeContainerStatus(each.name, state, ready=ready))
        return tuple(found)
