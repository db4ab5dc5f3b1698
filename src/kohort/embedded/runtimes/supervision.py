"""The state machine of a pod's containers: events and time in, orders out; it starts, signals and waits for nothing.

Every event is taken down first; then `_advance` looks at the whole pod and gives the orders that are due.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from kohort.api.times import SECOND, format_duration
from kohort.embedded.nodes.runtime import (
    ContainerWaiting,
    PodEvent,
    PodFailure,
    PodState,
    Running,
    RuntimeContainerStatus,
    State,
    Terminated,
)
from kohort.embedded.runtimes.container_messages import (
    Checked,
    ContainerEnded,
    ContainerNotCreated,
    Event,
    Finding,
    Kill,
    Order,
    PreStop,
    PreStopped,
    ProbedContainer,
    Start,
    Started,
    StartedUp,
    TerminateContainer,
    Unhealthy,
)
from kohort.embedded.runtimes.crash_loops import CrashLoop
from kohort.embedded.runtimes.pod_containers import (
    ContainerRestartPolicy,
    ContainerRole,
    PodContainers,
    PreviousContainerState,
    SupervisedContainer,
)

LEAST_AFTER_PRE_STOP = 2.0
"""Seconds that a container has between SIGTERM and SIGKILL even if its preStop hook used up the grace."""


class ContainerPhase(Enum):
    """Where a container is between two starts."""

    IDLE = "its turn has not come"
    HELD = "it may start at a set time"
    STARTING = "it was ordered to start"
    RUNNING = "it runs"
    OVER = "it never starts again"


class TerminationStep(Enum):
    """How far the ending of a container has got."""

    NOT = 0
    PRE_STOP = 1
    TERM = 2
    KILL = 3


@dataclass(slots=True)
class ContainerRecord:
    """One container now."""

    member: SupervisedContainer
    state: State
    phase: ContainerPhase = ContainerPhase.IDLE
    attempt: int = -1
    """Number of the start that was last ordered; the first is 0."""
    restarts: int = 0
    ran: bool = False
    last: Terminated | None = None
    due: float = 0.0
    ending: TerminationStep = TerminationStep.NOT
    kill_at: float = 0.0
    is_unhealthy: bool = False
    """Whether it is ended for what its probes said, and not because it is not needed any more."""
    is_starting: bool = False
    """Whether it runs, and its startup probe has yet to pass."""
    is_ready: bool = False
    loop: CrashLoop = field(default_factory=CrashLoop)

    @property
    def alive(self) -> bool:
        """Whether there is something that could be signalled, now or in a moment."""
        return self.phase in (ContainerPhase.STARTING, ContainerPhase.RUNNING)

    def status(self) -> RuntimeContainerStatus:
        """The container as the agent is told."""
        runs = isinstance(self.state, Running)
        ready, starting = runs and self.is_ready, runs and self.is_starting
        return RuntimeContainerStatus(self.member.name, self.state, self.restarts, self.last, ready, starting)


class Supervision:
    """What the containers of one pod do, and what is to be done with them."""

    def __init__(self, crew: PodContainers, past: Mapping[str, PreviousContainerState] | None = None) -> None:
        self._crew = crew
        has_init = any(member.role is not ContainerRole.MAIN for member in crew.members)
        self._blank = ContainerWaiting("PodInitializing" if has_init else "ContainerCreating")
        self._records = {member.name: ContainerRecord(member, self._blank) for member in crew.members}
        self._stop_by: float | None = None
        self._failure: PodFailure | None = None
        self._notes: list[PodEvent] = []
        self._orders: list[Order] = []
        self._past = dict(past or {})

    # What goes in

    def begin(self, now: float) -> list[Order]:
        """Take over the pod: start what should run."""
        for name, past in self._past.items():
            self._remember(self._records[name], past, now)
        return self._advance(now)

    def apply(self, event: Event, now: float) -> list[Order]:
        """Take in what happened to a container."""
        record = self._records[event.name]
        match event:
            case Started():
                self._started(record, event)
            case ContainerEnded():
                self._ended(record, event.how, now)
            case ContainerNotCreated():
                record.phase, record.due, record.state = ContainerPhase.HELD, now + event.retry, event.why
                record.attempt -= 1
            case PreStopped() if record.ending is TerminationStep.PRE_STOP:
                self._term(record, now)
            case PreStopped():
                pass
            case StartedUp() | Checked() | Unhealthy():
                self._found(record, event, now)
        return self._advance(now)

    def tick(self, now: float) -> list[Order]:
        """Look whether something is due."""
        return self._advance(now)

    def stop(self, grace: float, now: float) -> list[Order]:
        """End all containers; a second call can only hurry."""
        by = now + max(0.0, grace)
        self._stop_by = by if self._stop_by is None else min(by, self._stop_by)
        for record in self._records.values():
            if record.ending is not TerminationStep.NOT:
                record.kill_at = min(record.kill_at, self._stop_by)
        return self._advance(now)

    def fail(self, failure: PodFailure, now: float) -> list[Order]:
        """Give up on the pod."""
        self._failure = failure
        return self.stop(0.0, now)

    # What comes out

    @property
    def state(self) -> PodState:
        """All containers now."""
        main = tuple(record.status() for record in self._of(ContainerRole.MAIN))
        init = tuple(record.status() for record in self._of(ContainerRole.INIT, ContainerRole.SIDECAR))
        return PodState(main, init, self._failure, self.settled)

    @property
    def settled(self) -> bool:
        """Whether nothing will ever happen again."""
        return all(record.phase is ContainerPhase.OVER for record in self._records.values())

    @property
    def wake(self) -> float | None:
        """When `tick` has something to do, if nothing happens before."""
        return min(self._moments(), default=None)

    @property
    def watched(self) -> list[ProbedContainer]:
        """The containers whose probes are to be asked: those that run, and are to."""
        return [
            ProbedContainer(name, record.attempt, record.state.started)
            for name, record in self._records.items()
            if isinstance(record.state, Running)
            and record.phase is ContainerPhase.RUNNING
            and record.ending is TerminationStep.NOT
        ]

    def take_notes(self) -> list[PodEvent]:
        """The events since the last call."""
        notes, self._notes = self._notes, []
        return notes

    # Taking down what happened

    def _remember(self, record: ContainerRecord, past: PreviousContainerState, now: float) -> None:
        record.attempt = record.restarts = past.attempt
        record.state, record.last, record.phase, record.ran = past.state, past.last, ContainerPhase.RUNNING, True
        probes = record.member.probes
        record.is_starting = probes.startup is not None and not past.ready
        record.is_ready = past.ready or (probes.startup is None and probes.readiness is None)
        if isinstance(past.state, Terminated):
            self._ended(record, past.state, now)

    def _started(self, record: ContainerRecord, event: Started) -> None:
        if isinstance(record.state, Terminated):
            record.last = record.state
        record.phase, record.state = ContainerPhase.RUNNING, Running(event.at)
        record.restarts = record.attempt
        probes = record.member.probes
        record.is_starting = probes.startup is not None
        record.is_ready = not record.is_starting and probes.readiness is None
        record.ran = record.ran or not record.is_starting

    def _found(self, record: ContainerRecord, event: Finding, now: float) -> None:
        """Take in what a probe found, if it concerns the start that runs, and is to run on."""
        if (
            record.attempt != event.attempt
            or record.phase is not ContainerPhase.RUNNING
            or record.ending is not TerminationStep.NOT
        ):
            return
        match event:
            case StartedUp():
                record.is_starting, record.ran = False, True
                record.is_ready = record.is_ready or record.member.probes.readiness is None
            case Checked():
                record.is_ready = event.ready
            case Unhealthy():
                self._condemn(record, event, now)

    def _condemn(self, record: ContainerRecord, event: Unhealthy, now: float) -> None:
        """End a container for what its probes said."""
        record.is_unhealthy = True
        again = ", will be restarted" if self._restarts(record, 1) else ""
        grace = self._crew.grace if event.grace is None else event.grace
        self._end(record, now + grace, now, f"Container {event.name} failed {event.probe} probe{again}")

    def _ended(self, record: ContainerRecord, how: Terminated, now: float) -> None:
        if not record.alive:
            return
        if isinstance(record.state, Terminated) and record.state is not how:
            record.last = record.state
        record.state, record.restarts = how, record.attempt
        is_wanted = self._stop_by is None and (record.ending is TerminationStep.NOT or record.is_unhealthy)
        code = 1 if record.is_unhealthy else how.exit_code
        record.ending, record.is_unhealthy = TerminationStep.NOT, False
        if is_wanted and self._restarts(record, code):
            self._hold(record, how, now)
        else:
            record.phase = ContainerPhase.OVER

    def _restarts(self, record: ContainerRecord, exit_code: int) -> bool:
        match record.member.role:
            case ContainerRole.SIDECAR:
                return True
            case ContainerRole.INIT:
                return exit_code != 0 and self._crew.policy is not ContainerRestartPolicy.NEVER
            case ContainerRole.MAIN:
                return self._crew.policy.restarts(exit_code)

    def _hold(self, record: ContainerRecord, how: Terminated, now: float) -> None:
        wait = record.loop.wait(now)
        record.phase, record.due = ContainerPhase.HELD, now + wait
        if not wait:
            return
        name, pod = record.member.name, self._crew.pod
        length = format_duration(int(wait) * SECOND)
        record.last = how
        message = f"back-off {length} restarting failed container={name} pod={pod}"
        record.state = ContainerWaiting("CrashLoopBackOff", message)
        self._note("Warning", "BackOff", f"Back-off restarting failed container {name} in pod {pod}")

    # Deciding

    def _advance(self, now: float) -> list[Order]:
        if self._stop_by is not None:
            self._drop_waiting()
            self._end_in_turn(self._stop_by, now)
        elif self._gave_up():
            self._wind_down(now)
        else:
            self._bring_up(now)
        self._kill_overdue(now)
        orders, self._orders = self._orders, []
        return orders

    def _gave_up(self) -> bool:
        """Whether an init container failed for good, or all main ones are over."""
        failed = any(r.phase is ContainerPhase.OVER and not _succeeded(r) for r in self._of(ContainerRole.INIT))
        return failed or all(r.phase is ContainerPhase.OVER for r in self._of(ContainerRole.MAIN))

    def _bring_up(self, now: float) -> None:
        for record in self._of(ContainerRole.INIT, ContainerRole.SIDECAR):
            self._start_if_due(record, now)
            if not (_succeeded(record) if record.member.role is ContainerRole.INIT else record.ran):
                self._restart_sidecars(now)
                return
        for record in self._of(ContainerRole.MAIN):
            self._start_if_due(record, now)

    def _restart_sidecars(self, now: float) -> None:
        for record in self._of(ContainerRole.SIDECAR):
            if record.phase is ContainerPhase.HELD:
                self._start_if_due(record, now)

    def _start_if_due(self, record: ContainerRecord, now: float) -> None:
        if record.phase is ContainerPhase.HELD and now < record.due:
            return
        if record.phase not in (ContainerPhase.IDLE, ContainerPhase.HELD):
            return
        record.attempt += 1
        record.phase = ContainerPhase.STARTING
        self._orders.append(Start(record.member.name, record.attempt))

    def _wind_down(self, now: float) -> None:
        """The pod has done what it will do: what has not run never will, and sidecars are asked to end."""
        self._drop_waiting()
        self._end_in_turn(now + self._crew.grace, now)

    def _end_in_turn(self, by: float, now: float) -> None:
        """Main and init containers at once; then sidecars, the last one first."""
        others = [record for record in self._of(ContainerRole.INIT, ContainerRole.MAIN) if record.alive]
        for record in others:
            self._end(record, by, now, f"Stopping container {record.member.name}")
        if others:
            return
        for record in reversed(self._of(ContainerRole.SIDECAR)):
            if record.alive:
                self._end(record, by, now, f"Stopping container {record.member.name}")
                return

    def _drop_waiting(self) -> None:
        for record in self._records.values():
            if record.phase in (ContainerPhase.IDLE, ContainerPhase.HELD):
                record.phase = ContainerPhase.OVER
                if record.last is not None and isinstance(record.state, ContainerWaiting):
                    record.state, record.last = record.last, None

    def _end(self, record: ContainerRecord, by: float, now: float, why: str) -> None:
        """Begin to end a container that runs; one that is still starting is ended as soon as it has."""
        if record.ending is not TerminationStep.NOT or record.phase is not ContainerPhase.RUNNING:
            return
        record.kill_at = by
        self._note("Normal", "Killing", why)
        if record.member.pre_stop and by > now:
            record.ending = TerminationStep.PRE_STOP
            self._orders.append(PreStop(record.member.name, by - now))
        else:
            self._term(record, now)

    def _term(self, record: ContainerRecord, now: float) -> None:
        if record.ending is TerminationStep.PRE_STOP and record.kill_at > now:
            record.kill_at = max(record.kill_at, now + LEAST_AFTER_PRE_STOP)
        record.ending = TerminationStep.TERM
        if record.kill_at > now:
            self._orders.append(TerminateContainer(record.member.name))

    def _kill_overdue(self, now: float) -> None:
        for record in self._records.values():
            if record.phase is not ContainerPhase.RUNNING or record.ending in (
                TerminationStep.NOT,
                TerminationStep.KILL,
            ):
                continue
            if now >= record.kill_at:
                record.ending = TerminationStep.KILL
                self._orders.append(Kill(record.member.name))
        if self._stop_by is not None and now >= self._stop_by:
            self._kill_remaining()

    def _kill_remaining(self) -> None:
        """The time of the whole pod is up: nobody waits for a turn."""
        for record in self._records.values():
            if record.phase is ContainerPhase.RUNNING and record.ending is TerminationStep.NOT:
                record.ending = TerminationStep.KILL
                self._orders.append(Kill(record.member.name))

    def _moments(self) -> Iterable[float]:
        for record in self._records.values():
            if record.phase is ContainerPhase.HELD:
                yield record.due
            elif record.phase is ContainerPhase.RUNNING and record.ending in (
                TerminationStep.PRE_STOP,
                TerminationStep.TERM,
            ):
                yield record.kill_at
            elif (
                record.phase is ContainerPhase.RUNNING
                and record.ending is TerminationStep.NOT
                and self._stop_by is not None
            ):
                yield self._stop_by

    def _of(self, *roles: ContainerRole) -> list[ContainerRecord]:
        return [record for record in self._records.values() if record.member.role in roles]

    def _note(self, kind: str, reason: str, message: str) -> None:
        self._notes.append(PodEvent("Warning" if kind == "Warning" else "Normal", reason, message))


def _succeeded(record: ContainerRecord) -> bool:
    return record.phase is ContainerPhase.OVER and isinstance(record.state, Terminated) and record.state.exit_code == 0
