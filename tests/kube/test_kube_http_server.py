"""A server that stops leaves no connection behind, also none whose other side has become silent."""

import asyncio
import socket
import ssl
from datetime import UTC, datetime

from aiohttp import web

from kohort.api.config.common import Tls
from kohort.kube.certificates import CertificateAuthority
from kohort.kube.config.secrets import KeyPair
from kohort.kube.http_server import stop_server
from kohort.kube.server_tls import server_context, use_key_pair

HOST = "127.0.0.1"
ASKED = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


def contexts() -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """The server's and the client's."""
    authority = CertificateAuthority.create(datetime.now(UTC))
    pair = authority.issue_server("test", [HOST], datetime.now(UTC))
    context = server_context(Tls())
    use_key_pair(context, KeyPair(pair.certificate_pem, pair.key_pem), "test")
    return context, ssl.create_default_context(cadata=authority.pem.decode())


async def hello(_request: web.BaseRequest) -> web.Response:
    return web.Response(text="hello")


def silent(port: int, trust: ssl.SSLContext) -> ssl.SSLSocket:
    """A client that sends one request, keeps the connection, and never closes it."""
    line = trust.wrap_socket(socket.create_connection((HOST, port), timeout=60), server_hostname=HOST)
    line.sendall(ASKED)
    assert line.recv(4096).startswith(b"HTTP/1.1 200")
    return line


def is_over(line: ssl.SSLSocket) -> bool:
    """Whether the other side has closed the socket, and not only announced it."""
    raw = socket.socket(fileno=line.detach())
    raw.settimeout(60)
    try:
        while raw.recv(4096):
            pass
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False
    finally:
        raw.close()
    return True


async def test_a_client_that_does_not_close_is_hung_up_on() -> None:
    context, trust = contexts()
    http = web.Server(hello, access_log=None)
    server = await asyncio.get_running_loop().create_server(http, HOST, 0, ssl=context)
    port = server.sockets[0].getsockname()[1]
    line = await asyncio.to_thread(silent, port, trust)
    await stop_server(server, http, 1.0)
    assert await asyncio.to_thread(is_over, line)
