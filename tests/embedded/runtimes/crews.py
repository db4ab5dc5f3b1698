"""Crews of containers for supervision, and a world that obeys its orders as slowly or oddly as a test likes."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Self

from kohort.embedded.nodes.runtime import RuntimeContainerStatus, Terminated
from kohort.embedded.runtimes.container_messages import (
    ContainerCommand,
    ContainerEnded,
    Kill,
    PreStop,
    ProbeEvent,
    Start,
    Started,
    TerminateContainer,
)
from kohort.embedded.runtimes.pod_containers import (
    ContainerRestartPolicy,
    ContainerRole,
    PodContainers,
    SupervisedContainer,
)
from kohort.embedded.runtimes.probes.spec import NO_PROBES, Probes
from kohort.embedded.runtimes.supervision import Supervision

START = datetime(2026, 1, 1, tzinfo=UTC)


def crew(
    *members: SupervisedContainer, policy: ContainerRestartPolicy = ContainerRestartPolicy.ALWAYS, grace: float = 30.0
) -> PodContainers:
    return PodContainers("web_default(u1)", members, policy, grace)


def main(name: str = "main", *, pre_stop: bool = False, probes: Probes = NO_PROBES) -> SupervisedContainer:
    return SupervisedContainer(name, ContainerRole.MAIN, pre_stop, probes)


def init(name: str) -> SupervisedContainer:
    return SupervisedContainer(name, ContainerRole.INIT)


def sidecar(name: str, *, probes: Probes = NO_PROBES) -> SupervisedContainer:
    return SupervisedContainer(name, ContainerRole.SIDECAR, probes=probes)


@dataclass
class Play:
    """A supervision and the orders it gave, in virtual time."""

    machine: Supervision
    now: float = 0.0
    orders: list[ContainerCommand] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        *members: SupervisedContainer,
        policy: ContainerRestartPolicy = ContainerRestartPolicy.ALWAYS,
        grace: float = 30.0,
    ) -> Self:
        play = cls(Supervision(crew(*members, policy=policy, grace=grace)))
        play.orders += play.machine.begin(0.0)
        return play

    def wall(self) -> datetime:
        return START + timedelta(seconds=self.now)

    def taken(self) -> list[ContainerCommand]:
        """The orders since the last look."""
        orders, self.orders = self.orders, []
        return orders

    def started(self, *names: str) -> None:
        for name in names:
            self.orders += self.machine.apply(Started(name, self.wall()), self.now)

    def ended(self, name: str, code: int = 0) -> None:
        how = Terminated(code, "Completed" if code == 0 else "Error", self.wall(), self.wall())
        self.orders += self.machine.apply(ContainerEnded(name, how), self.now)

    def found(self, finding: ProbeEvent) -> None:
        self.orders += self.machine.apply(finding, self.now)

    def ran(self, name: str, code: int = 0) -> None:
        """Start as ordered, and end at once."""
        self.started(name)
        self.ended(name, code)

    def stop(self, grace: float) -> None:
        self.orders += self.machine.stop(grace, self.now)

    def later(self, seconds: float) -> None:
        """Move time on, looking whenever supervision asked to be woken."""
        end = self.now + seconds
        while (wake := self.machine.wake) is not None and wake <= end:
            self.now = max(self.now, wake)
            self.orders += self.machine.tick(self.now)
        self.now = end

    def status(self, name: str) -> RuntimeContainerStatus:
        state = self.machine.state
        return next(each for each in (*state.init, *state.containers) if each.name == name)


__all__ = ["Kill", "Play", "PreStop", "Start", "TerminateContainer", "crew", "init", "main", "sidecar"]
