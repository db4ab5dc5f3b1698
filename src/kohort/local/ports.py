"""Ports that stay the same from one start to the next, so that kubeconfigs which people copied go on to work."""

import errno
import socket
from dataclasses import dataclass
from pathlib import Path

import msgspec

from kohort.api.errors import ApiError
from kohort.embedded.auth.files import write_private

LOCAL = "127.0.0.1"
_REMEDIES = {errno.EACCES: "choose a --port above 1023, or leave it out"}


class Ports(msgspec.Struct, frozen=True, rename="camel"):
    """The ports of a cluster's last start; 0 for one that was never chosen."""

    api: int = 0
    webhooks: int = 0


@dataclass(frozen=True, slots=True)
class Wanted:
    """Where the API is to be served; port 0 leaves the choice to us."""

    host: str = LOCAL
    port: int = 0


def choose_ports(wanted: Wanted, file: Path | None) -> Ports:
    """The port asked for, else the one of the last start, else a free one; raises an ApiError where it is taken."""
    before = _remembered(file) if file is not None else Ports()
    chosen = Ports(_api(wanted, before.api), _free(LOCAL, before.webhooks))
    if file is not None and chosen != before:
        write_private(file, msgspec.json.encode(chosen) + b"\n")
    return chosen


def _remembered(file: Path) -> Ports:
    try:
        return msgspec.json.decode(file.read_bytes(), type=Ports)
    except (OSError, msgspec.DecodeError):
        return Ports()


def _api(wanted: Wanted, before: int) -> int:
    if not wanted.port:
        return _free(wanted.host, before)
    problem = _problem(wanted.host, wanted.port)
    if problem is None:
        return wanted.port
    if problem.errno == errno.EADDRINUSE:
        raise ApiError(f"port {wanted.port} of {wanted.host} is taken: choose another --port, or leave it out")
    remedy = _REMEDIES.get(problem.errno or 0, "give --host an address of this machine")
    raise ApiError(f"can't listen on {wanted.host} port {wanted.port} ({problem.strerror}): {remedy}")


def _free(host: str, before: int) -> int:
    """The port of before if nobody has it now; else one that is free."""
    if before and _problem(host, before) is None:
        return before
    with _socket(host) as probe:
        try:
            probe.bind((host, 0))
        except OSError as error:
            raise ApiError(
                f"can't listen on {host} ({error.strerror}): give --host an address of this machine"
            ) from None
        return int(probe.getsockname()[1])


def _problem(host: str, port: int) -> OSError | None:
    with _socket(host) as probe:
        # As the server will: connections of before that are still closing are in nobody's way.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
            probe.listen(1)
        except OSError as error:
            return error
    return None


def _socket(host: str) -> socket.socket:
    return socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
