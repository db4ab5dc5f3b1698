"""Services without kube-proxy: the API server connects through a proxy to the port of a process on this machine.

kube-apiserver is configured so by its egress selector, which uses HTTP CONNECT on a socket. Webhooks, conversion and
aggregated APIs are then reached by their Services, as in the manifests, which need no changes for a test.
"""

import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import yaml

from cluster import components
from cluster.control_plane import ControlPlane
from kit.ports import LOOPBACK

Json = Any
_CHUNK: Final = 65536
_SECONDS: Final = 5.0
_CONNECTED: Final = b"HTTP/1.1 200 OK\r\n\r\n"
_NO_ROUTE: Final = b"HTTP/1.1 502 Bad Gateway\r\n\r\n"


class Routes(dict[str, int]):
    """Which port of this machine serves an address of a Service, `10.0.0.7:443`."""

    def port_of(self, address: str) -> int | None:
        """The target of a connection; an address of this machine stays as it is."""
        host, _, port = address.rpartition(":")
        return int(port) if host == LOOPBACK else self.get(address)


class _ServiceProxy(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True

    def __init__(self, place: Path, routes: Routes) -> None:
        super().__init__(str(place), _Connection)
        self.routes = routes


class _Connection(socketserver.StreamRequestHandler):
    server: _ServiceProxy

    def handle(self) -> None:
        address = self._asked()
        port = self.server.routes.port_of(address)
        try:
            there = socket.create_connection((LOOPBACK, port or 0), _SECONDS) if port else None
        except OSError:
            there = None
        if there is None:
            self.request.sendall(_NO_ROUTE)
            return
        with there:
            there.settimeout(None)
            self.request.sendall(_CONNECTED)
            back = threading.Thread(target=_pump, args=(there, self.request), daemon=True)
            back.start()
            _pump(self.request, there)
            back.join(_SECONDS)

    def _asked(self) -> str:
        """The address of `CONNECT address HTTP/1.1`; the headers are of no matter."""
        words = self.rfile.readline().decode().split()
        while self.rfile.readline().strip():
            pass
        return words[1] if len(words) > 1 else ""


def _pump(source: socket.socket, target: socket.socket) -> None:
    """Copy until one side closes, then close the other."""
    with suppress(OSError):
        while chunk := source.recv(_CHUNK):
            target.sendall(chunk)
    with suppress(OSError):
        target.shutdown(socket.SHUT_RDWR)


class ControlPlaneWithServices(ControlPlane):
    """A control plane whose API server reaches Services by `routes`."""

    def __init__(self, *controllers: str) -> None:
        super().__init__(*controllers)
        self.routes = Routes()

    def _api_server_flags(self) -> components.Flags:
        place, file = self._site.folder / "services.sock", self._site.folder / "egress.yaml"
        self._running.enter_context(_switching(place, self.routes))
        connection = {"proxyProtocol": "HTTPConnect", "transport": {"uds": {"udsName": str(place)}}}
        selection = {"name": "cluster", "connection": connection}
        head = {"apiVersion": "apiserver.k8s.io/v1beta1", "kind": "EgressSelectorConfiguration"}
        file.write_text(yaml.safe_dump({**head, "egressSelections": [selection]}))
        return {**super()._api_server_flags(), "egress-selector-config-file": file}


@contextmanager
def _switching(place: Path, routes: Routes) -> Iterator[None]:
    with _ServiceProxy(place, routes) as board:
        thread = threading.Thread(target=board.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            board.shutdown()
            thread.join(_SECONDS)
