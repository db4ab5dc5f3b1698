"""The state machine of a pod's containers: events and time in, commands out; without I/O.

Every event is recorded first; then `_advance` evaluates the whole pod and issues the commands that are due.
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
    ContainerCommand,
    ContainerEnded,
    ContainerEvent,
    ContainerNotCreated,
    Kill,
    PreStop,
    PreStopped,
    ProbedContainer,
    ProbeEvent,
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
"""Minimum seconds between SIGTERM and SIGKILL even if the preStop hook used up the grace period."""


class ContainerPhase(Enum):
    """Phase of a container between two starts."""

    IDLE = "its turn has not come"
    HELD = "it may start at a set time"
    STARTING = "it was ordered to start"
    RUNNING = "it runs"
    OVER = "it never starts again"


class TerminationStep(Enum):
    """Progress of a container's termination."""

    NOT = 0
    PRE_STOP = 1
    TERM = 2
    KILL = 3


@dataclass(slots=True)
class ContainerRecord:
    """State of a container."""

    member: SupervisedContainer
    state: State
    phase: ContainerPhase = ContainerPhase.IDLE
    attempt: int = -1
    """Number of the last ordered start; the first is 0."""
    restarts: int = 0
    ran: bool = False
    last: Terminated | None = None
    due: float = 0.0
    ending: TerminationStep = TerminationStep.NOT
    kill_at: float = 0.0
    is_unhealthy: bool = False
    """Whether it is terminated because of a failed probe."""
    is_starting: bool = False
    """Whether it is running and its startup probe has not succeeded yet."""
    is_ready: bool = False
    loop: CrashLoop = field(default_factory=CrashLoop)

    @property
    def alive(self) -> bool:
        """Whether there is or will be a process to signal."""
        return self.phase in (ContainerPhase.STARTING, ContainerPhase.RUNNING)

    def status(self) -> RuntimeContainerStatus:
        """The container status for the agent."""
        runs = isinstance(self.state, Running)
        ready, starting = runs and self.is_ready, runs and self.is_starting
        return RuntimeContainerStatus(self.member.name, self.state, self.restarts, self.last, ready, starting)


class Supervision:
    """The containers of one pod and the commands that are due."""

    def __init__(self, containers: PodContainers, past: Mapping[str, PreviousContainerState] | None = None) -> None:
        self._containers = containers
        has_init = any(member.role is not ContainerRole.MAIN for member in containers.members)
        self._blank = ContainerWaiting("PodInitializing" if has_init else "ContainerCreating")
        self._records = {member.name: ContainerRecord(member, self._blank) for member in containers.members}
        self._stop_by: float | None = None
        self._failure: PodFailure | None = None
        self._notes: list[PodEvent] = []
        self._orders: list[ContainerCommand] = []
        self._past = dict(past or {})

    # Inputs

    def begin(self, now: float) -> list[ContainerCommand]:
        """Adopts the pod and starts what should run."""
        for name, past in self._past.items():
            self._remember(self._records[name], past, now)
        return self._advance(now)

    def apply(self, event: ContainerEvent, now: float) -> list[ContainerCommand]:
        """Processes an event."""
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

    def tick(self, now: float) -> list[ContainerCommand]:
        """Issues commands that are due."""
        return self._advance(now)

    def stop(self, grace: float, now: float) -> list[ContainerCommand]:
        """Stops all containers; a second call can only shorten the grace period."""
        by = now + max(0.0, grace)
        self._stop_by = by if self._stop_by is None else min(by, self._stop_by)
        for record in self._records.values():
            if record.ending is not TerminationStep.NOT:
                record.kill_at = min(record.kill_at, self._stop_by)
        return self._advance(now)

    def fail(self, failure: PodFailure, now: float) -> list[ContainerCommand]:
        """Fails the pod."""
        self._failure = failure
        return self.stop(0.0, now)

    # Outputs

    @property
    def state(self) -> PodState:
        """The state of all containers."""
        main = tuple(record.status() for record in self._of(ContainerRole.MAIN))
        init = tuple(record.status() for record in self._of(ContainerRole.INIT, ContainerRole.SIDECAR))
        return PodState(main, init, self._failure, self.settled)

    @property
    def settled(self) -> bool:
        """Whether nothing will ever happen again."""
        return all(record.phase is ContainerPhase.OVER for record in self._records.values())

    @property
    def wake(self) -> float | None:
        """When `tick` is due next."""
        return min(self._moments(), default=None)

    @property
    def watched(self) -> list[ProbedContainer]:
        """The running containers whose probes are to be executed."""
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

    # Event processing

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

    def _found(self, record: ContainerRecord, event: ProbeEvent, now: float) -> None:
        """Processes a probe event if it concerns the current start."""
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
                self._fail_probe(record, event, now)

    def _fail_probe(self, record: ContainerRecord, event: Unhealthy, now: float) -> None:
        """Terminates a container because of a failed probe."""
        record.is_unhealthy = True
        again = ", will be restarted" if self._restarts(record, 1) else ""
        grace = self._containers.grace if event.grace is None else event.grace
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
                return exit_code != 0 and self._containers.policy is not ContainerRestartPolicy.NEVER
            case ContainerRole.MAIN:
                return self._containers.policy.restarts(exit_code)

    def _hold(self, record: ContainerRecord, how: Terminated, now: float) -> None:
        wait = record.loop.wait(now)
        record.phase, record.due = ContainerPhase.HELD, now + wait
        if not wait:
            return
        name, pod = record.member.name, self._containers.pod
        length = format_duration(int(wait) * SECOND)
        record.last = how
        message = f"back-off {length} restarting failed container={name} pod={pod}"
        record.state = ContainerWaiting("CrashLoopBackOff", message)
        self._note("Warning", "BackOff", f"Back-off restarting failed container {name} in pod {pod}")

    # Decisions

    def _advance(self, now: float) -> list[ContainerCommand]:
        if self._stop_by is not None:
            self._drop_waiting()
            self._terminate_in_order(self._stop_by, now)
        elif self._is_finished():
            self._finish_pod(now)
        else:
            self._bring_up(now)
        self._kill_overdue(now)
        orders, self._orders = self._orders, []
        return orders

    def _is_finished(self) -> bool:
        """Whether an init container failed permanently or all main containers are finished."""
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

    def _finish_pod(self, now: float) -> None:
        """The pod is finished: waiting containers never run, and sidecars are terminated."""
        self._drop_waiting()
        self._terminate_in_order(now + self._containers.grace, now)

    def _terminate_in_order(self, by: float, now: float) -> None:
        """Terminates main and init containers at once, then sidecars in reverse order."""
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
        """Starts the termination of a running container; one that is starting is terminated as soon as it runs."""
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
        """The grace period of the whole pod is over: kills the remaining containers."""
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
