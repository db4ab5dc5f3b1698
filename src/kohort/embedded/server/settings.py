"""Settings of the API server."""

import socket
from dataclasses import dataclass, field
from pathlib import Path

from kohort.embedded.admission.attributes import AdmissionPlugin
from kohort.embedded.server.serving.listener import ListenerTimeouts
from kohort.embedded.server.subresources.logs import LogSource


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Directories and addresses of the server."""

    data: Path | None = None
    """Directory of storage and keys; None keeps objects in memory and keys in a temporary directory."""
    host: str = "127.0.0.1"
    port: int = 0
    bound: socket.socket | None = None
    """Bound socket to use instead of host and port; clients still get the host."""
    kubeconfig: Path | None = None
    """Path of the kubeconfig; None puts it into the data directory."""
    names: tuple[str, ...] = ()
    """Further names and addresses for the serving certificate."""
    tokens: dict[str, str] = field(default_factory=dict, repr=False)
    """Bearer tokens of administrators, by token."""
    logs: LogSource | None = None
    plugins: tuple[AdmissionPlugin, ...] = ()
    """Additional admission plugins."""
    timeouts: ListenerTimeouts = field(default_factory=ListenerTimeouts)
    """Timeouts of client connections."""
