"""Ports that stay the same from one start to the next, so that copied kubeconfigs stay valid.

A port is bound once and its socket passed to the server: between a probe and a second bind, another process could
take it.
"""

import errno
import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from kohort.api.errors import ApiError
from kohort.embedded.auth.files import write_private

LOCAL = "127.0.0.1"
_BACKLOG = 100
_REMEDIES = {errno.EACCES: "choose a --port above 1023, or omit --port"}


class Ports(msgspec.Struct, frozen=True, rename="camel"):
    """The ports of a cluster's last start; 0 if never assigned."""

    api: int = 0
    webhooks: int = 0


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """Address of the API server; port 0 means any free port."""

    host: str = LOCAL
    port: int = 0


@dataclass(frozen=True, slots=True)
class Listening:
    """The listening sockets of a cluster."""

    api: socket.socket
    webhooks: socket.socket


@contextmanager
def listening(wanted: ListenAddress, file: Path | None) -> Iterator[Listening]:
    """Sockets on the requested port, else on those of the last start, else on free ones, until the context exits.

    Raises an ApiError if the requested port is in use.
    """
    before = _remembered(file) if file is not None else Ports()
    with ExitStack() as stack:
        api = stack.enter_context(_api(wanted, before.api))
        webhooks = stack.enter_context(_free(LOCAL, before.webhooks))
        chosen = Ports(_port(api), _port(webhooks))
        if file is not None and chosen != before:
            write_private(file, msgspec.json.encode(chosen) + b"\n")
        yield Listening(api, webhooks)


def _port(bound: socket.socket) -> int:
    return int(bound.getsockname()[1])


def _remembered(file: Path) -> Ports:
    try:
        return msgspec.json.decode(file.read_bytes(), type=Ports)
    except (OSError, msgspec.DecodeError):
        return Ports()


def _api(wanted: ListenAddress, before: int) -> socket.socket:
    if not wanted.port:
        return _free(wanted.host, before)
    try:
        return _bound(wanted.host, wanted.port)
    except OSError as problem:
        if problem.errno == errno.EADDRINUSE:
            raise ApiError(
                f"port {wanted.port} of {wanted.host} is in use: choose another --port, or omit --port"
            ) from None
        remedy = _REMEDIES.get(problem.errno or 0, "set --host to an address of this machine")
        raise ApiError(f"cannot listen on {wanted.host} port {wanted.port}: {_why(problem)}: {remedy}") from None


def _free(host: str, before: int) -> socket.socket:
    """A socket on the previous port if it is free, else on any free port."""
    if before:
        try:
            return _bound(host, before)
        except OSError:
            pass
    try:
        return _bound(host, 0)
    except OSError as error:
        raise ApiError(f"cannot listen on {host}: {_why(error)}: set --host to an address of this machine") from None


def _bound(host: str, port: int) -> socket.socket:
    """A listening socket: one that is only bound would not prevent others from listening on its port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=_BACKLOG)


def _why(error: OSError) -> str:
    known = error.errno is not None and error.errno > 0
    return os.strerror(error.errno or 0) if known else str(error.strerror or error)
