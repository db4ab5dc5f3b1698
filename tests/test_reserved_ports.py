"""Reserved ports: a server gets what was reserved for it, and nobody else does."""

import asyncio
import socket
import sys

import pytest

from reserved_ports import reserved_port

HOST = "127.0.0.1"


async def test_a_server_listens_on_a_reserved_port_again_and_again() -> None:
    port = reserved_port()
    for _ in range(2):
        server = await asyncio.start_server(lambda _reader, writer: writer.close(), HOST, port)
        reader, writer = await asyncio.open_connection(HOST, port)
        assert await reader.read() == b""
        writer.close()
        server.close()
        await server.wait_closed()


def test_nobody_answers_there_before() -> None:
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((HOST, reserved_port()))


@pytest.mark.skipif(sys.platform != "linux", reason="a port that is held can't be bound by a server elsewhere")
def test_nobody_else_gets_it() -> None:
    with socket.socket() as other, pytest.raises(OSError, match="Address already in use"):
        other.bind((HOST, reserved_port()))
