"""Probe specs and the thresholds that turn results into a state; no clock, no I/O."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from kohort.api.struct import View


class Purpose(Enum):
    """The kind of a probe as used in messages."""

    STARTUP = "Startup"
    READINESS = "Readiness"
    LIVENESS = "Liveness"


class ExecAction(View):
    """A command in the container."""

    command: tuple[str, ...] = ()


class Header(View):
    """A request header."""

    name: str
    value: str = ""


class HttpGet(View):
    """An HTTP request; statuses from 200 to 399 are success."""

    port: int | str
    path: str = ""
    host: str = ""
    scheme: str = "HTTP"
    http_headers: tuple[Header, ...] = ()


class TcpSocket(View):
    """A TCP connection."""

    port: int | str
    host: str = ""


class Probe(View):
    """A probe of a container."""

    exec: ExecAction | None = None
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
    def action(self) -> ExecAction | HttpGet | TcpSocket | None:
        """The action; None if it is not supported."""
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
        """The probe of a kind."""
        found = {Purpose.STARTUP: self.startup, Purpose.READINESS: self.readiness, Purpose.LIVENESS: self.liveness}
        return found[purpose]


NO_PROBES = Probes()


class ProbeOutcome(Enum):
    """Outcome of one execution."""

    PASSED = "passed"
    FAILED = "failed"
    ERRORED = "errored"
    """The probe could not be executed, which allows no conclusion about the container."""


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """Outcome of one execution with its failure message."""

    outcome: ProbeOutcome
    message: str = ""


@dataclass(slots=True)
class ProbeState:
    """State of a probe: changes after as many equal results as its threshold."""

    probe: Probe
    holds: bool | None = None
    """None until a threshold is reached."""
    _last: ProbeOutcome | None = None
    _run: int = 0

    def add(self, outcome: ProbeOutcome) -> bool | None:
        """Adds an outcome and returns the state."""
        if outcome is ProbeOutcome.ERRORED:
            return self.holds
        self._run = self._run + 1 if outcome is self._last else 1
        self._last = outcome
        passed = outcome is ProbeOutcome.PASSED
        if self._run >= (self.probe.success_threshold if passed else self.probe.failure_threshold):
            self.holds = passed
        return self.holds
