"""API servers that a test kills, suspends and restarts: kube-apiserver on etcd, and the embedded server."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from cluster.control_plane import START_SECONDS, ControlPlane
from kit.ports import free_port
from kit.processes import ChildProcess


class RestartableServer(Protocol):
    """An API server without controllers whose process the test controls."""

    server: ChildProcess

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""

    def serve(self) -> None:
        """Start the server, after the first time with the same data and address."""


def kill(lone: RestartableServer) -> None:
    """Kill the process."""
    lone.server.process.kill()
    lone.server.process.wait()


@contextmanager
def suspended(lone: RestartableServer) -> Iterator[None]:
    """Suspends the process, which keeps its connections, until the context exits."""
    lone.server.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        lone.server.process.send_signal(signal.SIGCONT)


class KubernetesServer(ControlPlane):
    """kube-apiserver on etcd."""

    server: ChildProcess

    def _start(self) -> None:
        self._start_server()

    def _serve(self) -> ChildProcess:
        self.server = super()._serve()
        return self.server

    def serve(self) -> None:
        self._serve()


class EmbeddedServer:
    """The embedded server with its data in a directory."""

    server: ChildProcess

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = free_port()

    @property
    def kubeconfig(self) -> Path:
        return self._folder / "kubeconfig"

    def serve(self) -> None:
        log = self._folder / "server.log"
        places = [f"--data={self._folder / 'data'}", f"--kubeconfig={self.kubeconfig}", f"--port={self._port}"]
        self.server = ChildProcess.start("kohort.embedded", [sys.executable, "-m", "kohort.embedded", *places], log)
        self.server.wait_until(lambda: "KUBECONFIG=" in log.read_text(), START_SECONDS)


@contextmanager
def running_kubernetes_server() -> Iterator[RestartableServer]:
    with KubernetesServer() as running:
        yield running


@contextmanager
def running_embedded_server(folder: Path) -> Iterator[RestartableServer]:
    lone = EmbeddedServer(folder)
    lone.serve()
    try:
        yield lone
    finally:
        lone.server.stop()
