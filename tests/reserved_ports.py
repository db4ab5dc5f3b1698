"""Ports for servers that must know theirs before they start.

The socket that got the port from the kernel stays bound as long as the process lives. It never listens, so that a
server can bind the same port (`SO_REUSEADDR`, which asyncio sets), while the kernel gives it to nobody else.
"""

import atexit
import socket
import sys
from typing import Final

_HELD: Final = list[socket.socket]()


def reserved_port(host: str = "127.0.0.1") -> int:
    """A port of this process and its children; until one of them listens there, connections are refused."""
    held = socket.socket()
    held.bind((host, 0))
    port: int = held.getsockname()[1]
    if sys.platform == "linux":
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        _HELD.append(held)
    else:  # elsewhere nobody may bind what somebody holds
        held.close()
    return port


@atexit.register
def _release() -> None:
    """Close them before the interpreter warns of each."""
    for held in _HELD:
        held.close()
