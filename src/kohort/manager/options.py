"""Options of the command line beyond the Configuration: addresses and start-up behavior."""

import socket
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from uuid import uuid4

from kohort.jobs.builtin import all_frameworks
from kohort.jobs.contract import Framework
from kohort.manager.crds import WhenMissing


class MetricsExposure(Enum):
    """How metrics are served."""

    GUARDED = "guarded"
    """TLS, with authentication and authorization by the API server (API-143)."""
    PLAIN = "plain"
    """Plain HTTP without authorization."""


def generate_identity() -> str:
    """A unique name for this replica."""
    return f"{socket.gethostname()}_{uuid4()}"


@dataclass(frozen=True, slots=True)
class ManagerOptions:
    """Start-up options of a manager."""

    webhook_url: str = ""
    """The URL of the webhooks of a manager outside the cluster; empty inside, where a Service is used."""
    metrics: MetricsExposure = MetricsExposure.GUARDED
    when_missing: WhenMissing = WhenMissing.FAIL
    identity: str = field(default_factory=generate_identity)
    webhook_client_ca: Path | None = None
    """CA of the API servers' client certificates; None if these present none."""
    webhook_socket: socket.socket | None = None
    """A listening socket for webhooks, instead of the address in the Configuration."""
    frameworks: Sequence[Framework] = field(default_factory=all_frameworks)
    """The job frameworks that the Configuration may enable."""
