"""Tests of free ports: a server gets the port reserved for it, and no other process does."""

import asyncio
import socket
import sys

import pytest

from kit.ports import LOOPBACK, free_port


async def test_a_server_listens_on_a_reserved_port_again_and_again() -> None:
    port = free_port()
    for _ in range(2):
        server = await asyncio.start_server(lambda _reader, writer: writer.close(), LOOPBACK, port)
        reader, writer = await asyncio.open_connection(LOOPBACK, port)
        assert await reader.read() == b""
        writer.close()
        server.close()
        await server.wait_closed()


def test_connections_are_refused_until_a_server_listens() -> None:
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((LOOPBACK, free_port()))


@pytest.mark.skipif(sys.platform != "linux", reason="other systems let no server bind a reserved port")
def test_no_other_socket_can_bind_the_port() -> None:
    with socket.socket() as other, pytest.raises(OSError, match="Address already in use"):
        other.bind((LOOPBACK, free_port()))
