"""What a container's probes ask, how often, and how many answers make up a verdict; no clock, no I/O."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from kohort.api.struct import View


class Purpose(Enum):
    """What a probe is for, as messages name it."""

    STARTUP = "Startup"
    READINESS = "Readiness"
    LIVENESS = "Liveness"


class Command(View):
    """A command in the container."""

    command: tuple[str, ...] = ()


class Header(View):
    """One header of a request."""

    name: str
    value: str = ""


class HttpGet(View):
    """A request that is to be answered with a status from 200 to 399."""

    port: int | str
    path: str = ""
    host: str = ""
    scheme: str = "HTTP"
    http_headers: tuple[Header, ...] = ()


class TcpSocket(View):
    """A connection that is to be taken."""

    port: int | str
    host: str = ""


class Probe(View):
    """One probe of a container."""

    exec: Command | None = None
    http_get: HttpGet | None = None
    tcp_socket: TcpSocket | None = None
    grpc: dict[str, Any] | None = None
    initial_delay_seconds: int = 0
    period_seconds: int = 10
    timeout_seconds: int = 1
    success_threshold: int = 1
    failure_threshold: int = 3
    termination_grace_period_seconds: int | None = None

    @property
    def question(self) -> Command | HttpGet | TcpSocket | None:
        """What is asked; None where it can't be asked here."""
        return self.exec or self.http_get or self.tcp_socket


@dataclass(frozen=True, slots=True)
class Probes:
    """The probes of a container, and its ports by name."""

    startup: Probe | None = None
    readiness: Probe | None = None
    liveness: Probe | None = None
    ports: Mapping[str, int] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return any((self.startup, self.readiness, self.liveness))

    def of(self, purpose: Purpose) -> Probe | None:
        """The probe for a purpose."""
        found = {Purpose.STARTUP: self.startup, Purpose.READINESS: self.readiness, Purpose.LIVENESS: self.liveness}
        return found[purpose]


NO_PROBES = Probes()


class ProbeOutcome(Enum):
    """What came of asking once."""

    PASSED = "passed"
    FAILED = "failed"
    ERRORED = "errored"
    """Nobody could ask; that says nothing about the container."""


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """What came of asking once, and why it was not well."""

    outcome: ProbeOutcome
    message: str = ""


@dataclass(slots=True)
class ProbeState:
    """What the answers to a probe say together: a run of equal ones turns it, as long as its threshold."""

    probe: Probe
    holds: bool | None = None
    """None until enough was heard."""
    _last: ProbeOutcome | None = None
    _run: int = 0

    def hear(self, outcome: ProbeOutcome) -> bool | None:
        """Take in an answer; the verdict after it."""
        if outcome is ProbeOutcome.ERRORED:
            return self.holds
        self._run = self._run + 1 if outcome is self._last else 1
        self._last = outcome
        passed = outcome is ProbeOutcome.PASSED
        if self._run >= (self.probe.success_threshold if passed else self.probe.failure_threshold):
            self.holds = passed
        return self.holds
