"""Supervision with hands and a clock: feeds the state machine, has its orders carried out, tells the agent."""

import asyncio
import contextlib
import logging
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
    ContainerNotCreated,
    Event,
    Kill,
    Order,
    PreStop,
    Start,
    TerminateContainer,
)
from kohort.embedded.runtimes.pod_containers import PodContainers, PreviousContainerState
from kohort.embedded.runtimes.probes.manager import Listeners, ProbeManager
from kohort.embedded.runtimes.probes.prober import ExecResult
from kohort.embedded.runtimes.supervision import Supervision
from kohort.kube.clock import Clock, within

log = logging.getLogger(__name__)

RETRY = 10.0
SLACK = 5.0
"""Seconds beyond the grace that an end may take."""


class ContainerDriver(Protocol):
    """What carries orders out, whatever containers are made of; it answers with events."""

    def start(self, name: str, attempt: int) -> None:
        """Start a container."""
        ...

    def pre_stop(self, name: str, seconds: float) -> None:
        """Run its preStop hook."""
        ...

    def term(self, name: str) -> None:
        """Ask it to end."""
        ...

    def kill(self, name: str) -> None:
        """End it."""
        ...

    async def execute(self, name: str, command: Sequence[str]) -> ExecResult:
        """Run a command in it, for a probe; cancelled, the command ends."""
        ...

    def finished(self) -> None:
        """Nothing will run again."""
        ...


class PodSupervisor:
    """A pod under supervision."""

    def __init__(
        self,
        crew: PodContainers,
        past: Mapping[str, PreviousContainerState],
        hands: ContainerDriver,
        reports: PodStatusSink,
        clock: Clock,
    ) -> None:
        self._machine = Supervision(crew, past)
        self._hands = hands
        self._reports = reports
        self._clock = clock
        self._alarm: asyncio.Task[None] | None = None
        self._alarm_at: float | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._over = asyncio.Event()
        self._preparing: dict[str, asyncio.Task[None]] = {}
        probes = {member.name: member.probes for member in crew.members}
        self._watch = ProbeManager(probes, Listeners(hands.execute, self.feed, reports.note), clock)

    def begin(self) -> None:
        """Take over."""
        self._carry_out(self._machine.begin(self._clock.now()))

    def feed(self, event: Event) -> None:
        """Take in what happened."""
        self._carry_out(self._machine.apply(event, self._clock.now()))

    def stop(self, grace: float) -> None:
        """End all containers; what is only being prepared is given up."""
        self._carry_out(self._machine.stop(grace, self._clock.now()))
        for name in list(self._preparing):
            self._preparing[name].cancel()
            self.prepared(name)
            self.feed(ContainerNotCreated(name, ContainerWaiting("ContainerCreating"), 0.0))

    def prepare(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        """Let the preparation of a container go on, until `prepared` or until the pod stops."""
        self._preparing[name] = self.spawn(self._guarded(name, work))

    def prepared(self, name: str) -> None:
        """The container starts now, or its preparation has failed."""
        self._preparing.pop(name, None)

    async def _guarded(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        """Whatever goes wrong that nobody thought of must not leave a pod that can't be ended."""
        try:
            await work
        except Exception as error:
            log.exception("container %s can't be prepared", name)
            if name in self._preparing:
                self.prepared(name)
                self.note("Warning", "Failed", f"Error: {error}")
                self.feed(ContainerNotCreated(name, ContainerWaiting("CreateContainerError", str(error)), RETRY))

    def fail(self, failure: PodFailure) -> None:
        """Give up on the pod."""
        self._carry_out(self._machine.fail(failure, self._clock.now()))

    def note(self, kind: str, reason: str, message: str) -> None:
        """Tell people something."""
        self._reports.note(PodEvent("Warning" if kind == "Warning" else "Normal", reason, message))

    @property
    def settled(self) -> bool:
        """Whether nothing will run again."""
        return self._machine.settled

    @property
    def is_running(self) -> bool:
        """Whether a container runs."""
        state = self._machine.state
        return any(isinstance(each.state, Running) for each in (*state.init, *state.containers))

    async def end(self, grace: float) -> None:
        """End all containers and wait until they have, but not for ever."""
        self.stop(grace)
        with contextlib.suppress(TimeoutError):
            await within(self._clock, grace + SLACK, self._wait())

    async def _wait(self) -> None:
        await self._over.wait()

    def status(self, name: str) -> RuntimeContainerStatus:
        """One container now."""
        state = self._machine.state
        return next(each for each in (*state.containers, *state.init) if each.name == name)

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Let something go on that belongs to the pod."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    async def close(self) -> None:
        """Stop looking after the pod; its containers are not touched."""
        tasks = [*self._tasks, *([self._alarm] if self._alarm else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._watch.close()
        self._alarm = None

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.error("work for a pod failed", exc_info=task.exception())

    def _carry_out(self, orders: list[Order]) -> None:
        for note in self._machine.take_notes():
            self._reports.note(note)
        self._reports.state(self._machine.state)
        for order in orders:
            self._give(order)
        self._watch.follow(self._machine.watched)
        self._set_alarm()
        if self._machine.settled and not self._over.is_set():
            self._over.set()
            self._hands.finished()

    def _give(self, order: Order) -> None:
        match order:
            case Start():
                self._hands.start(order.name, order.attempt)
            case PreStop():
                self._hands.pre_stop(order.name, order.seconds)
            case TerminateContainer():
                self._hands.term(order.name)
            case Kill():
                self._hands.kill(order.name)

    def _set_alarm(self) -> None:
        at = self._machine.wake
        if at == self._alarm_at:
            return
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm_at = at
        self._alarm = None if at is None else asyncio.create_task(self._ring(at))

    async def _ring(self, at: float) -> None:
        await self._clock.sleep(at - self._clock.now())
        self._alarm = self._alarm_at = None
        self._carry_out(self._machine.tick(self._clock.now()))
