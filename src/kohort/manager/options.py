"""What the command line says beyond the Configuration: how this process is reached, and how it starts."""

import socket
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from uuid import uuid4

from kohort.manager.crds import WhenMissing


class Exposure(Enum):
    """How metrics are served."""

    GUARDED = "guarded"
    """Over TLS, to those whom the API server allows to read them (API-143)."""
    PLAIN = "plain"
    """Over HTTP, to everybody who can reach them."""


def own_identity() -> str:
    """A name that no other replica has."""
    return f"{socket.gethostname()}_{uuid4()}"


@dataclass(frozen=True, slots=True)
class ManagerOptions:
    """How a manager starts."""

    webhook_url: str = ""
    """Where the API server reaches webhooks of a manager outside the cluster; empty inside, where a Service leads."""
    metrics: Exposure = Exposure.GUARDED
    when_missing: WhenMissing = WhenMissing.FAIL
    identity: str = field(default_factory=own_identity)
    webhook_client_ca: Path | None = None
    """Authorities that sign the client certificates of API servers; None where these show none."""
    webhook_socket: socket.socket | None = None
    """A listening socket for webhooks, in place of the address that the Configuration has."""
