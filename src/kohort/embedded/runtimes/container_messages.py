"""The words of supervision: what happened to a container, and what is to be done with it."""

from dataclasses import dataclass
from datetime import datetime

from kohort.embedded.nodes.runtime import ContainerWaiting, Terminated


@dataclass(frozen=True, slots=True)
class Started:
    """The container runs."""

    name: str
    at: datetime


@dataclass(frozen=True, slots=True)
class ContainerEnded:
    """The container ended, or could not be started at all."""

    name: str
    how: Terminated


@dataclass(frozen=True, slots=True)
class ContainerNotCreated:
    """Something that the container needs is not there yet; it may be tried again in so many seconds."""

    name: str
    why: ContainerWaiting
    retry: float


@dataclass(frozen=True, slots=True)
class PreStopped:
    """The container's preStop hook ended, in whatever way."""

    name: str


@dataclass(frozen=True, slots=True)
class StartedUp:
    """A start of the container has passed its startup probe."""

    name: str
    attempt: int


@dataclass(frozen=True, slots=True)
class Checked:
    """What the readiness probe says of a start of the container."""

    name: str
    attempt: int
    ready: bool


@dataclass(frozen=True, slots=True)
class Unhealthy:
    """A start of the container has failed a probe too often, so that it must end, and perhaps start again."""

    name: str
    attempt: int
    probe: str
    """`liveness` or `startup`."""
    grace: float | None = None
    """Seconds until it is killed, where the probe names its own."""


Finding = StartedUp | Checked | Unhealthy
"""What probes find."""
Event = Started | ContainerEnded | ContainerNotCreated | PreStopped | Finding


@dataclass(frozen=True, slots=True)
class ProbedContainer:
    """A start of a container that runs, and whose probes are to be asked."""

    name: str
    attempt: int
    since: datetime


@dataclass(frozen=True, slots=True)
class Start:
    """Start a container, for the n-th time."""

    name: str
    attempt: int


@dataclass(frozen=True, slots=True)
class PreStop:
    """Run the container's preStop hook, for at most so many seconds."""

    name: str
    seconds: float


@dataclass(frozen=True, slots=True)
class TerminateContainer:
    """Ask the container to end."""

    name: str


@dataclass(frozen=True, slots=True)
class Kill:
    """End the container."""

    name: str


Order = Start | PreStop | TerminateContainer | Kill
