"""Events and commands of container supervision."""

from dataclasses import dataclass
from datetime import datetime

from kohort.embedded.nodes.runtime import ContainerWaiting, Terminated


@dataclass(frozen=True, slots=True)
class Started:
    """The container is running."""

    name: str
    at: datetime


@dataclass(frozen=True, slots=True)
class ContainerEnded:
    """The container terminated or could not be started."""

    name: str
    how: Terminated


@dataclass(frozen=True, slots=True)
class ContainerNotCreated:
    """The container cannot be created yet; retried after the given seconds."""

    name: str
    why: ContainerWaiting
    retry: float


@dataclass(frozen=True, slots=True)
class PreStopped:
    """The container's preStop hook ended."""

    name: str


@dataclass(frozen=True, slots=True)
class StartedUp:
    """The startup probe of a container start succeeded."""

    name: str
    attempt: int


@dataclass(frozen=True, slots=True)
class Checked:
    """Result of the readiness probe of a container start."""

    name: str
    attempt: int
    ready: bool


@dataclass(frozen=True, slots=True)
class Unhealthy:
    """A container start failed a probe too often and must be terminated."""

    name: str
    attempt: int
    probe: str
    """`liveness` or `startup`."""
    grace: float | None = None
    """terminationGracePeriodSeconds of the probe, if set."""


ProbeEvent = StartedUp | Checked | Unhealthy
"""Probe events."""
ContainerEvent = Started | ContainerEnded | ContainerNotCreated | PreStopped | ProbeEvent


@dataclass(frozen=True, slots=True)
class ProbedContainer:
    """A running container start whose probes are to be executed."""

    name: str
    attempt: int
    since: datetime


@dataclass(frozen=True, slots=True)
class Start:
    """Start a container for the n-th time."""

    name: str
    attempt: int


@dataclass(frozen=True, slots=True)
class PreStop:
    """Run the container's preStop hook with a timeout."""

    name: str
    seconds: float


@dataclass(frozen=True, slots=True)
class TerminateContainer:
    """Send SIGTERM to the container."""

    name: str


@dataclass(frozen=True, slots=True)
class Kill:
    """Kill the container."""

    name: str


ContainerCommand = Start | PreStop | TerminateContainer | Kill
