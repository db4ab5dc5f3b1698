"""Pods for the supervision of containers, and a harness that executes its commands when and how a test requires."""

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


def pod_containers(
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
class SupervisionHarness:
    """A supervision and its commands, in virtual time."""

    supervision: Supervision
    now: float = 0.0
    commands: list[ContainerCommand] = field(default_factory=list)

    @classmethod
    def create(
        cls,
        *members: SupervisedContainer,
        policy: ContainerRestartPolicy = ContainerRestartPolicy.ALWAYS,
        grace: float = 30.0,
    ) -> Self:
        harness = cls(Supervision(pod_containers(*members, policy=policy, grace=grace)))
        harness.commands += harness.supervision.begin(0.0)
        return harness

    def wall(self) -> datetime:
        return START + timedelta(seconds=self.now)

    def take_commands(self) -> list[ContainerCommand]:
        """The commands since the last call."""
        commands, self.commands = self.commands, []
        return commands

    def started(self, *names: str) -> None:
        for name in names:
            self.commands += self.supervision.apply(Started(name, self.wall()), self.now)

    def ended(self, name: str, code: int = 0) -> None:
        how = Terminated(code, "Completed" if code == 0 else "Error", self.wall(), self.wall())
        self.commands += self.supervision.apply(ContainerEnded(name, how), self.now)

    def probed(self, finding: ProbeEvent) -> None:
        self.commands += self.supervision.apply(finding, self.now)

    def run_once(self, name: str, code: int = 0) -> None:
        """Report that a container started and ended."""
        self.started(name)
        self.ended(name, code)

    def stop(self, grace: float) -> None:
        self.commands += self.supervision.stop(grace, self.now)

    def advance(self, seconds: float) -> None:
        """Advance time, with a tick whenever supervision requested one."""
        end = self.now + seconds
        while (wake := self.supervision.wake) is not None and wake <= end:
            self.now = max(self.now, wake)
            self.commands += self.supervision.tick(self.now)
        self.now = end

    def status(self, name: str) -> RuntimeContainerStatus:
        state = self.supervision.state
        return next(each for each in (*state.init, *state.containers) if each.name == name)


__all__ = [
    "Kill",
    "PreStop",
    "Start",
    "SupervisionHarness",
    "TerminateContainer",
    "init",
    "main",
    "pod_containers",
    "sidecar",
]
