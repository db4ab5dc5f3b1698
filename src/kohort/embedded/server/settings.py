"""How a server is to run."""

import socket
from dataclasses import dataclass, field
from pathlib import Path

from kohort.embedded.admission.attributes import AdmissionPlugin
from kohort.embedded.server.serving.listener import ListenerTimeouts
from kohort.embedded.server.subresources.logs import LogSource


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Where the server keeps its things, and where it listens."""

    data: Path | None = None
    """Folder of the store and the keys; None keeps objects in memory and keys in a folder that goes with the server."""
    host: str = "127.0.0.1"
    port: int = 0
    bound: socket.socket | None = None
    """A listening socket to use in place of host and port; the host is still what clients are told."""
    kubeconfig: Path | None = None
    """Where to write the kubeconfig; None puts it into the data folder."""
    names: tuple[str, ...] = ()
    """Further names and addresses for the serving certificate."""
    tokens: dict[str, str] = field(default_factory=dict, repr=False)
    """Bearer tokens of administrators, by token."""
    logs: LogSource | None = None
    plugins: tuple[AdmissionPlugin, ...] = ()
    """Admission plugins besides those that are always there."""
    patience: ListenerTimeouts = field(default_factory=ListenerTimeouts)
    """How long clients may take for what they do."""
