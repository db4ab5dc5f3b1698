"""Free ports on loopback that stay ours: the socket is held while the server, which shares it, starts."""

import socket
from contextlib import ExitStack

HOST = "127.0.0.1"


def reserve(held: ExitStack) -> int:
    """A port that nobody else gets until `held` is closed; servers need `--permit-port-sharing` to bind it."""
    reserved = held.enter_context(socket.socket())
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    reserved.bind((HOST, 0))
    port: int = reserved.getsockname()[1]
    return port
