"""API servers that are killed, stopped and started again while somebody watches: the real one on etcd, and ours."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from cluster.control_plane import START_SECONDS, ControlPlane
from kit.ports import free_port
from kit.processes import ChildProcess


class LoneServer(Protocol):
    """An API server without controllers, whose process is in the test's hands."""

    server: ChildProcess

    @property
    def kubeconfig(self) -> Path:
        """An administrator's."""

    def serve(self) -> None:
        """Start it, on the data and at the address that it had before."""


def kill(lone: LoneServer) -> None:
    """End it without a warning."""
    lone.server.process.kill()
    lone.server.process.wait()


@contextmanager
def halted(lone: LoneServer) -> Iterator[None]:
    """It holds its connections and does nothing."""
    lone.server.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        lone.server.process.send_signal(signal.SIGCONT)


class RealServer(ControlPlane):
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
    """The embedded server on a folder."""

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
def real_server() -> Iterator[LoneServer]:
    with RealServer() as running:
        yield running


@contextmanager
def embedded_server(folder: Path) -> Iterator[LoneServer]:
    lone = EmbeddedServer(folder)
    lone.serve()
    try:
        yield lone
    finally:
        lone.server.stop()
