"""Ports for servers that need their port number before they start.

A socket that never listens keeps the port bound. A server can bind it as well (`SO_REUSEADDR` or `SO_REUSEPORT`), while
the kernel assigns it to no other process.
"""

import atexit
import socket
import sys
from contextlib import ExitStack
from typing import Final

LOOPBACK: Final = "127.0.0.1"

_HELD: Final = list[socket.socket]()


def free_port(host: str = LOOPBACK) -> int:
    """A port for this process and its children, reserved until the process ends; connections are refused until then."""
    held = socket.socket()
    held.bind((host, 0))
    port: int = held.getsockname()[1]
    if sys.platform == "linux":
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        _HELD.append(held)
    else:  # other systems reject a second socket on a bound port
        held.close()
    return port


def free_shared_port(held: ExitStack) -> int:
    """A port reserved until `held` closes; for servers started with `--permit-port-sharing` (`SO_REUSEPORT`)."""
    reserved = held.enter_context(socket.socket())
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    reserved.bind((LOOPBACK, 0))
    port: int = reserved.getsockname()[1]
    return port


@atexit.register
def _release() -> None:
    """Close the sockets before the interpreter warns about each of them."""
    for held in _HELD:
        held.close()
