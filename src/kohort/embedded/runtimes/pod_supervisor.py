"""Drives the supervision state machine: feeds events, executes its commands, reports to the agent."""

import asyncio
import contextlib
import logging
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, Protocol

from kohort.embedded.nodes.runtime import (
    ContainerWaiting,
    PodEvent,
    PodFailure,
    PodStatusSink,
    Running,
    RuntimeContainerStatus,
)
from kohort.embedded.runtimes.container_messages import (
    ContainerCommand,
    ContainerEvent,
    ContainerNotCreated,
    Kill,
    PreStop,
    PreStopped,
    Start,
    TerminateContainer,
)
from kohort.embedded.runtimes.pod_containers import PodContainers, PreviousContainerState
from kohort.embedded.runtimes.pods import RunContainer, RunPod, pod_containers
from kohort.embedded.runtimes.probes.manager import Listeners, ProbeManager
from kohort.embedded.runtimes.probes.prober import ExecResult
from kohort.embedded.runtimes.retries import Retries
from kohort.embedded.runtimes.supervision import Supervision
from kohort.kube.clock import Clock, within

log = logging.getLogger(__name__)

RETRY = 10.0
SLACK = 5.0
"""Seconds beyond the grace period that a termination may take."""


class ContainerDriver(Protocol):
    """Executes commands of the supervision and answers with events."""

    def start(self, name: str, attempt: int) -> None:
        """Starts a container."""
        ...

    def pre_stop(self, name: str, seconds: float) -> None:
        """Runs its preStop hook."""
        ...

    def term(self, name: str) -> None:
        """Sends SIGTERM."""
        ...

    def kill(self, name: str) -> None:
        """Kills it."""
        ...

    async def execute(self, name: str, command: Sequence[str]) -> ExecResult:
        """Runs a probe command in it; cancellation ends the command."""
        ...

    def finished(self) -> None:
        """Called when nothing will run again."""
        ...


class PodSupervisor:
    """A supervised pod."""

    def __init__(
        self,
        containers: PodContainers,
        past: Mapping[str, PreviousContainerState],
        driver: ContainerDriver,
        reports: PodStatusSink,
        clock: Clock,
    ) -> None:
        self._machine = Supervision(containers, past)
        self._driver = driver
        self._reports = reports
        self._clock = clock
        self._timer: asyncio.Task[None] | None = None
        self._timer_at: float | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._over = asyncio.Event()
        self._preparing: dict[str, asyncio.Task[None]] = {}
        probes = {member.name: member.probes for member in containers.members}
        self._watch = ProbeManager(probes, Listeners(driver.execute, self.feed, reports.note), clock)

    def begin(self) -> None:
        """Starts supervision."""
        self._execute(self._machine.begin(self._clock.now()))

    def feed(self, event: ContainerEvent) -> None:
        """Processes an event."""
        self._execute(self._machine.apply(event, self._clock.now()))

    def stop(self, grace: float) -> None:
        """Stops all containers; preparations are cancelled."""
        self._execute(self._machine.stop(grace, self._clock.now()))
        for name in list(self._preparing):
            self._preparing[name].cancel()
            self.prepared(name)
            self.feed(ContainerNotCreated(name, ContainerWaiting("ContainerCreating"), 0.0))

    def prepare(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        """Runs the preparation of a container until `prepared` or until the pod stops."""
        self._preparing[name] = self.spawn(self._guarded(name, work))

    def prepared(self, name: str) -> None:
        """The preparation of a container succeeded or failed."""
        self._preparing.pop(name, None)

    async def _guarded(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        """Contains unexpected errors, so that the pod can still be stopped."""
        try:
            await work
        except Exception as error:
            log.exception("preparing container %s failed", name)
            if name in self._preparing:
                self.prepared(name)
                self.note("Warning", "Failed", f"Error: {error}")
                self.feed(ContainerNotCreated(name, ContainerWaiting("CreateContainerError", str(error)), RETRY))

    def fail(self, failure: PodFailure) -> None:
        """Fails the pod."""
        self._execute(self._machine.fail(failure, self._clock.now()))

    def note(self, kind: str, reason: str, message: str) -> None:
        """Records an event."""
        self._reports.note(PodEvent("Warning" if kind == "Warning" else "Normal", reason, message))

    @property
    def settled(self) -> bool:
        """Whether nothing will run again."""
        return self._machine.settled

    @property
    def is_running(self) -> bool:
        """Whether a container is running."""
        state = self._machine.state
        return any(isinstance(each.state, Running) for each in (*state.init, *state.containers))

    async def end(self, grace: float) -> None:
        """Stops all containers and waits for them with a timeout."""
        self.stop(grace)
        with contextlib.suppress(TimeoutError):
            await within(self._clock, grace + SLACK, self._wait())

    async def _wait(self) -> None:
        await self._over.wait()

    def status(self, name: str) -> RuntimeContainerStatus:
        """The current status of a container."""
        state = self._machine.state
        return next(each for each in (*state.containers, *state.init) if each.name == name)

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Runs a background task of the pod."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    async def close(self) -> None:
        """Ends supervision; containers are not affected."""
        tasks = [*self._tasks, *([self._timer] if self._timer else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._watch.close()
        self._timer = None

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.error("pod worker failed", exc_info=task.exception())

    def _execute(self, orders: list[ContainerCommand]) -> None:
        for note in self._machine.take_notes():
            self._reports.note(note)
        self._reports.state(self._machine.state)
        for order in orders:
            self._dispatch(order)
        self._watch.follow(self._machine.watched)
        self._set_timer()
        if self._machine.settled and not self._over.is_set():
            self._over.set()
            self._driver.finished()

    def _dispatch(self, order: ContainerCommand) -> None:
        match order:
            case Start():
                self._driver.start(order.name, order.attempt)
            case PreStop():
                self._driver.pre_stop(order.name, order.seconds)
            case TerminateContainer():
                self._driver.term(order.name)
            case Kill():
                self._driver.kill(order.name)

    def _set_timer(self) -> None:
        at = self._machine.wake
        if at == self._timer_at:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = at
        self._timer = None if at is None else asyncio.create_task(self._on_timer(at))

    async def _on_timer(self, at: float) -> None:
        await self._clock.sleep(at - self._clock.now())
        self._timer = self._timer_at = None
        self._execute(self._machine.tick(self._clock.now()))


class SupervisedPod(ABC):
    """The part of a running pod that all runtimes have in common: its supervision, starts and preStop hooks."""

    pod: RunPod
    _clock: Clock
    _retries: Retries
    _supervisor: PodSupervisor

    @abstractmethod
    async def execute(self, name: str, command: Sequence[str]) -> ExecResult:
        """Runs a command in a container."""

    @abstractmethod
    async def _start(self, container: RunContainer, attempt: int) -> None:
        """Prepares a container and starts it."""

    def start(self, name: str, attempt: int) -> None:
        """Starts a container."""
        self._supervisor.prepare(name, self._start(self.pod.container(name), attempt))

    def pre_stop(self, name: str, seconds: float) -> None:
        """Runs a preStop hook."""
        self._supervisor.spawn(self._pre_stop(self.pod.container(name), seconds))

    async def _pre_stop(self, container: RunContainer, seconds: float) -> None:
        handler = container.lifecycle.pre_stop
        command = (handler.exec or {}).get("command") if handler else None
        wait = float((handler.sleep or {}).get("seconds") or 0) if handler else 0.0
        if wait:
            await self._clock.sleep(min(wait, seconds))
        elif not (command and await self._hook(container.name, command, seconds)):
            self._supervisor.note("Warning", "FailedPreStopHook", "PreStopHook failed")
        self._supervisor.feed(PreStopped(container.name))

    async def _hook(self, name: str, command: Sequence[str], seconds: float) -> bool:
        try:
            return (await within(self._clock, seconds, self.execute(name, command))).code == 0
        except TimeoutError:
            return False

    def _refuse(self, name: str, why: ContainerWaiting) -> None:
        """Reports a failed preparation, which is repeated after a backoff."""
        self._supervisor.prepared(name)
        self._supervisor.feed(ContainerNotCreated(name, why, self._retries.next(name)))

    def stop(self, grace: float) -> None:
        """Stops all containers."""
        self._supervisor.stop(grace)

    async def end(self) -> None:
        """Stops all containers with the pod's grace period and waits for them."""
        await self._supervisor.end(pod_containers(self.pod).grace)

    @property
    def settled(self) -> bool:
        """Whether nothing will run again."""
        return self._supervisor.settled

    @property
    def is_running(self) -> bool:
        """Whether a container is running."""
        return self._supervisor.is_running
