"""Connections to servers: kept, broken, cut, with TLS, through proxies; no unsafe request is sent twice."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from kit.pki import ThrowawayCa
from kit.ports import free_port
from kit.virtual_time import settle
from kohort.kube.config.client_config import ClientConfig, ServerTrust
from kohort.kube.config.credential_files import InlineContent
from kohort.kube.config.credentials import StaticCredentials
from kohort.kube.errors import ConfigError, LostResponseError, TransportError, UnreachableError
from kohort.kube.http import HttpSettings, HttpTransport
from kohort.kube.http1.errors import ConnectionClosedError
from kohort.kube.http1.response import BUFFER
from kohort.kube.transport import Request
from kube.sockets import ConnectionHarness, ServerConnection, ServerScript, ok_response, running_scripted_server
from loop_time import loop_time

GET = Request("GET", "/x")
STREAM = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
SETTINGS = HttpSettings(environment={})


@asynccontextmanager
async def server(script: ServerScript) -> AsyncIterator[HttpTransport]:
    """A transport to a server that follows a script."""
    async with asyncio.timeout(60), running_scripted_server(script) as port:
        transport = HttpTransport(
            ClientConfig(f"http://127.0.0.1:{port}", StaticCredentials(), origin="test"), SETTINGS
        )
        try:
            yield transport
        finally:
            await transport.close()


async def send(transport: HttpTransport, request: Request = GET, timeout: float = 10) -> bytes:
    return await (await transport.send(request, timeout)).read()


# Kept connections


async def test_one_connection_serves_one_request_after_another() -> None:
    async def script(caller: ServerConnection) -> None:
        while await caller.request():
            caller.send(ok_response(b"%d" % caller.number))

    async with server(script) as transport:
        assert [await send(transport) for _ in range(3)] == [b"1", b"1", b"1"]


@pytest.mark.parametrize("answer", [ok_response(b"a", b"Connection: close"), ok_response(b"a") + b"garbage"])
async def test_a_connection_that_ends_or_sends_too_much_is_not_used_again(answer: bytes) -> None:
    async def script(caller: ServerConnection) -> None:
        await caller.request()
        caller.send(ok_response(b"b") if caller.number > 1 else answer)
        await caller.end()

    async with server(script) as transport:
        assert [await send(transport) for _ in range(2)] == [b"a", b"b"]


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE"])
async def test_a_kept_connection_that_the_server_ends_unheard_is_replaced(method: str) -> None:
    async def script(caller: ServerConnection) -> None:
        await caller.request()
        caller.send(ok_response(b""))
        if caller.number == 1:
            await caller.request()

    async with server(script) as transport:
        for _ in range(2):
            assert await send(transport, Request(method, "/x")) == b""


@pytest.mark.parametrize("method", ["POST", "PATCH"])
async def test_what_could_happen_twice_is_not_sent_twice(method: str) -> None:
    seen = list[str]()

    async def script(caller: ServerConnection) -> None:
        seen.append(await caller.request())
        caller.send(ok_response(b""))
        seen.append(await caller.request())

    async with server(script) as transport:
        await send(transport)
        with pytest.raises(LostResponseError, match=r"connection closed \(Server disconnected\)"):
            await send(transport, Request(method, "/x", body=b"{}"))
    assert len(seen) == 2


async def test_a_new_connection_that_ends_unheard_is_not_replaced() -> None:
    callers = list[int]()

    async def script(caller: ServerConnection) -> None:
        callers.append(caller.number)
        await caller.request()

    async with server(script) as transport:
        with pytest.raises(LostResponseError, match="connection closed"):
            await send(transport)
    assert callers == [1]


async def test_a_kept_connection_that_breaks_within_the_response_is_not_replaced() -> None:
    async def script(caller: ServerConnection) -> None:
        await caller.request()
        caller.send(ok_response(b""))
        await caller.request()
        caller.send(b"HTTP/1.1 2")

    async with server(script) as transport:
        await send(transport)
        with pytest.raises(LostResponseError, match="connection closed"):
            await send(transport)


async def test_a_response_that_is_not_http_is_reported() -> None:
    async def script(caller: ServerConnection) -> None:
        await caller.request()
        caller.send(b"220 mail.example ESMTP\r\n")
        await caller.end()

    async with server(script) as transport:
        with pytest.raises(LostResponseError, match=r"connection closed \(not an HTTP/1.1 response\)"):
            await send(transport)


# Giving up


async def test_a_cancelled_request_ends_its_connection() -> None:
    asked, ended = asyncio.Event(), asyncio.Event()

    async def script(caller: ServerConnection) -> None:
        await caller.request()
        caller.send(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe")
        asked.set()
        await caller.end()
        ended.set()

    async with server(script) as transport:
        asking = asyncio.create_task(send(transport))
        await asked.wait()
        asking.cancel()
        await ended.wait()
        with pytest.raises(asyncio.CancelledError):
            await asking


async def test_a_stream_comes_as_it_is_sent_and_ends_with_its_reader() -> None:
    received, ended = asyncio.Event(), asyncio.Event()

    async def script(caller: ServerConnection) -> None:
        await caller.request()
        caller.send(STREAM, b"3\r\none\r\n")
        await received.wait()
        caller.send(b"3\r\ntwo\r\n")
        await caller.end()
        ended.set()

    async with server(script) as transport:
        response = await transport.send(GET, float("inf"))
        chunks = response.chunks()
        assert await anext(chunks) == b"one"
        received.set()
        assert await anext(chunks) == b"two"
        await response.close()
        await ended.wait()
        with pytest.raises(LostResponseError):
            await anext(chunks)


async def test_a_silent_stream_times_out() -> None:
    async def script(caller: ServerConnection) -> None:
        await caller.request()
        caller.send(STREAM, b"3\r\none\r\n")
        await caller.end()

    async with server(script) as transport:
        with loop_time() as time:
            response = await transport.send(GET, 30)
            chunks = response.chunks()
            assert await anext(chunks) == b"one"
            time.advance(30)
            with pytest.raises(LostResponseError, match="timed out"):
                await anext(chunks)


async def test_the_time_of_one_request_is_not_that_of_the_next() -> None:
    async def script(caller: ServerConnection) -> None:
        for _ in range(2):
            await caller.request()
            caller.send(ok_response(b"a"))
        await caller.end()

    async with server(script) as transport:
        assert await send(transport, timeout=1000) == b"a"
        assert await send(transport, timeout=60) == b"a"
        with pytest.raises(LostResponseError, match=r"timed out after 0\.05 s"):
            await send(transport, timeout=0.05)


async def test_the_end_of_an_earlier_requests_time_leaves_the_next_alone() -> None:
    line, loop = ConnectionHarness(), asyncio.get_running_loop()
    first = loop.time() + 1000
    with loop_time() as time:
        for deadline in (first, first + 1000):
            asking = asyncio.create_task(line.connection.send(b"", "GET", deadline))
            await settle()
            if deadline == first:
                line.send(ok_response(b"a"))
                await asking
        over = loop.create_future()
        loop.call_at(first, over.set_result, None)
        time.advance(1000)
        await over
        await settle()
        assert not asking.done()
        line.send(ok_response(b"b"))
        assert await (await asking).read() == b"b"
    line.connection.abort()
    await line.connection.lost


async def test_closing_aborts_open_responses_and_a_closed_transport_opens_again() -> None:
    async def script(caller: ServerConnection) -> None:
        await caller.request()
        caller.send(STREAM, b"3\r\none\r\n")
        await caller.end()

    async with server(script) as transport:
        for _ in range(2):
            chunks = (await transport.send(GET, 10)).chunks()
            assert await anext(chunks) == b"one"
            await transport.close()
            with pytest.raises(LostResponseError):
                await anext(chunks)


async def test_when_all_connections_are_busy_waiting_has_an_end() -> None:
    async def script(caller: ServerConnection) -> None:
        await caller.request()
        caller.send(STREAM)
        await caller.end()

    async with asyncio.timeout(60), running_scripted_server(script) as port:
        settings = HttpSettings(connections=1, environment={})
        transport = HttpTransport(ClientConfig(f"http://127.0.0.1:{port}", StaticCredentials()), settings)
        response = await transport.send(GET, 10)
        with pytest.raises(LostResponseError, match="timed out"):
            await send(transport, timeout=0.05)
        await response.close()
        await transport.send(GET, 10)
        await transport.close()


# A slow reader


async def test_the_server_waits_for_a_slow_reader_but_not_for_unlimited_output() -> None:
    line = ConnectionHarness()
    asking = asyncio.create_task(line.connection.send(b"", "GET", float("inf")))
    await settle()
    line.send(STREAM)
    answer = await asking
    part = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    while line.transport.is_reading():
        line.send(part)
        assert answer.held <= BUFFER + len(part)
    assert len(await answer.chunk()) > BUFFER - len(part)
    assert line.transport.is_reading()
    while line.transport.is_reading():
        line.send(part)
    reading = asyncio.create_task(answer.read())
    await settle()
    assert line.transport.is_reading()
    for _ in range(10):
        line.send(part)
    assert line.transport.is_reading()
    line.send(b"0\r\n\r\n")
    assert len(await reading) > 10 * 0x10000
    line.connection.abort()
    await line.connection.lost


async def test_a_connection_that_is_lost_fails_every_request_once() -> None:
    line = ConnectionHarness()
    asking = asyncio.create_task(line.connection.send(b"", "GET", float("inf")))
    await settle()
    line.connection.connection_lost(ConnectionResetError(104, "reset"))
    with pytest.raises(ConnectionClosedError) as caught:
        await asking
    assert isinstance(caught.value.__cause__, ConnectionResetError)


# TLS


@pytest.fixture(scope="module")
def authority() -> ThrowawayCa:
    return ThrowawayCa.create("test authority")


def server_side(authority: ThrowawayCa, folder: Path) -> ssl.SSLContext:
    file = folder / "pair.pem"
    file.write_bytes(authority.server("127.0.0.1").pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context


def sealed(authority: ThrowawayCa, port: int, proxy: str = "") -> HttpTransport:
    trust = ServerTrust(InlineContent(authority.certificate_pem))
    return HttpTransport(
        ClientConfig(f"https://127.0.0.1:{port}", StaticCredentials(), trust, proxy, origin="test"), SETTINGS
    )


async def failure(transport: HttpTransport) -> TransportError:
    with pytest.raises(TransportError) as caught:
        await send(transport)
    await transport.close()
    return caught.value


async def test_a_server_without_tls_is_reported(authority: ThrowawayCa) -> None:
    async def script(caller: ServerConnection) -> None:
        await caller.reader.read(100)
        caller.send(b"HTTP/1.0 400 Bad Request\r\n\r\n")

    async with asyncio.timeout(60), running_scripted_server(script) as port:
        error = await failure(sealed(authority, port))
    assert isinstance(error, UnreachableError)
    assert "cannot connect" in str(error)
    assert "WRONG_VERSION_NUMBER" in str(error)


async def test_a_server_that_hangs_up_on_the_handshake_is_reported(authority: ThrowawayCa) -> None:
    async def script(caller: ServerConnection) -> None:
        await caller.reader.read(100)

    async with asyncio.timeout(60), running_scripted_server(script) as port:
        error = await failure(sealed(authority, port))
    assert isinstance(error, UnreachableError)
    assert "(Server disconnected): check that it is running" in str(error)


async def test_a_handshake_that_never_ends_has_an_end(authority: ThrowawayCa) -> None:
    async def script(caller: ServerConnection) -> None:
        await caller.end()

    async with asyncio.timeout(60), running_scripted_server(script) as port:
        access = ClientConfig(
            f"https://127.0.0.1:{port}", StaticCredentials(), ServerTrust(InlineContent(authority.certificate_pem))
        )
        error = await failure(HttpTransport(access, HttpSettings(connect_seconds=0.05, environment={})))
    assert isinstance(error, UnreachableError)
    assert "(connecting timed out after 0.05 s)" in str(error)


class TlsServerEnd:
    """A server's end of TLS, without a socket."""

    def __init__(self, line: ConnectionHarness, context: ssl.SSLContext) -> None:
        self.line = line
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.incoming, self.outgoing, server_side=True)

    def receive(self) -> None:
        """Take what the client wrote."""
        self.incoming.write(b"".join(self.line.transport.written))
        self.line.transport.written.clear()

    def send(self) -> None:
        """Let the client receive the rest of the TLS messages."""
        self.line.send(self.outgoing.read())


async def shaken(authority: ThrowawayCa, context: ssl.SSLContext) -> TlsServerEnd:
    """A connection that the client takes for healthy."""
    peer = TlsServerEnd(ConnectionHarness(), context)
    client = ssl.create_default_context(cadata=authority.certificate_pem.decode())
    securing = asyncio.create_task(peer.line.connection.secure(client, "127.0.0.1"))
    await settle()
    peer.receive()
    with pytest.raises(ssl.SSLWantReadError):
        peer.tls.do_handshake()
    peer.send()
    await securing
    peer.receive()
    return peer


async def test_a_required_client_certificate_that_is_missing_is_reported(
    authority: ThrowawayCa, tmp_path: Path
) -> None:
    context = server_side(authority, tmp_path)
    context.verify_mode = ssl.CERT_REQUIRED
    peer = await shaken(authority, context)
    asking = asyncio.create_task(peer.line.connection.send(b"GET / HTTP/1.1\r\n\r\n", "GET", float("inf")))
    await settle()
    with pytest.raises(ssl.SSLError):
        peer.tls.do_handshake()
    peer.send()
    with pytest.raises(ConnectionClosedError) as caught:
        await asking
    assert "certificate required" in str(caught.value.__cause__)


async def test_records_are_opened_however_they_are_cut(authority: ThrowawayCa, tmp_path: Path) -> None:
    peer = await shaken(authority, server_side(authority, tmp_path))
    asking = asyncio.create_task(peer.line.connection.send(b"GET / HTTP/1.1\r\n\r\n", "GET", float("inf")))
    await settle()
    peer.receive()
    peer.tls.do_handshake()
    assert peer.tls.read() == b"GET / HTTP/1.1\r\n\r\n"
    body = bytes(range(256)) * 200
    for part in (ok_response(body)[:7], ok_response(body)[7:]):
        peer.tls.write(part)
    data = peer.outgoing.read()
    for at in range(0, len(data), 1001):
        peer.line.send(data[at : at + 1001])
    assert await (await asking).read() == body


async def test_under_tls_a_body_up_to_the_end_is_whole_only_with_a_goodbye(
    authority: ThrowawayCa, tmp_path: Path
) -> None:
    async def script(caller: ServerConnection) -> None:
        await caller.request()
        caller.send(b"HTTP/1.1 200 OK\r\n\r\nhello")
        await caller.writer.drain()
        if caller.number == 1:
            caller.writer.transport.get_extra_info("socket").shutdown(1)
            await caller.end()

    async with asyncio.timeout(60), running_scripted_server(script, server_side(authority, tmp_path)) as port:
        transport = sealed(authority, port)
        with pytest.raises(LostResponseError, match="connection closed"):
            await send(transport)
        assert await send(transport) == b"hello"
        await transport.close()


async def test_big_things_go_both_ways_through_tls(authority: ThrowawayCa, tmp_path: Path) -> None:
    body = bytes(range(256)) * 8192

    async def script(caller: ServerConnection) -> None:
        head = await caller.reader.readuntil(b"\r\n\r\n")
        assert b"Content-Length: %d\r\n" % len(body) in head
        caller.send(ok_response(await caller.reader.readexactly(len(body))))
        await caller.end()

    async with asyncio.timeout(60), running_scripted_server(script, server_side(authority, tmp_path)) as port:
        transport = sealed(authority, port)
        assert await send(transport, Request("PUT", "/x", body=body)) == body
        await transport.close()


# Proxies


class ConnectProxy:
    """Tunnels, and records the requests."""

    def __init__(self, refusal: bytes = b"") -> None:
        self.asked: list[str] = []
        self._refusal = refusal

    async def __call__(self, caller: ServerConnection) -> None:
        head = await caller.request()
        self.asked.append(head)
        if self._refusal:
            caller.send(self._refusal)
            return
        host, _, port = head.split()[1].rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        caller.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
        try:
            await asyncio.gather(_pipe(caller.reader, writer), _pipe(reader, caller.writer))
        finally:
            writer.close()


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
    writer.close()


async def hello(caller: ServerConnection) -> None:
    await caller.request()
    caller.send(ok_response(b"hello"))
    await caller.end()


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_tls_works_through_a_proxy_of_either_kind(scheme: str, authority: ThrowawayCa, tmp_path: Path) -> None:
    context = server_side(authority, tmp_path)
    proxy = ConnectProxy()
    async with (
        asyncio.timeout(60),
        running_scripted_server(hello, context) as port,
        running_scripted_server(proxy, context if scheme == "https" else None) as proxy_port,
    ):
        transport = sealed(authority, port, f"{scheme}://us%40er:pass@127.0.0.1:{proxy_port}")
        assert await send(transport) == b"hello"
        await transport.close()
    lines = proxy.asked[0].splitlines()
    assert lines[0] == f"CONNECT 127.0.0.1:{port} HTTP/1.1"
    assert "Proxy-Authorization: Basic dXNAZXI6cGFzcw==" in lines
    assert not any("uthorization: Bearer" in line for line in lines)


async def test_a_proxy_that_refuses_is_reported(authority: ThrowawayCa) -> None:
    proxy = ConnectProxy(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
    async with asyncio.timeout(60), running_scripted_server(proxy) as port:
        error = await failure(sealed(authority, 1, f"http://127.0.0.1:{port}"))
    assert isinstance(error, UnreachableError)
    assert str(error).endswith(
        "connecting through the proxy failed (407 Proxy Authentication Required): check proxy-url"
    )


async def test_a_proxy_that_is_not_there_is_reported(authority: ThrowawayCa) -> None:
    error = await failure(sealed(authority, 1, f"http://127.0.0.1:{free_port()}"))
    assert "connecting through the proxy failed (Connection refused): check proxy-url" in str(error)


# Addresses


@pytest.mark.parametrize("server", ["ftp://host", "https://", "host:6443", "https://host:port", "https://host:99999"])
def test_an_address_that_is_none_is_reported(server: str) -> None:
    with pytest.raises(ConfigError, match="test: "):
        HttpTransport(ClientConfig(server, StaticCredentials(), origin="test"), SETTINGS)


@pytest.mark.parametrize("proxy", ["http://user:secret@", "http://user:se/cret@host", "http://user:secret@host:x"])
def test_a_proxy_that_is_none_is_reported_without_its_password(proxy: str) -> None:
    with pytest.raises(ConfigError, match=r"invalid address .* must be https://host:port") as caught:
        HttpTransport(ClientConfig("https://host", StaticCredentials(), proxy=proxy), SETTINGS)
    assert "se" not in str(caught.value)


async def test_a_token_with_a_line_break_in_it_is_reported_without_showing_it() -> None:
    credentials = StaticCredentials(token=InlineContent(b"sec\nret"))
    transport = HttpTransport(ClientConfig("http://127.0.0.1:1", credentials, origin="test"), SETTINGS)
    with pytest.raises(ConfigError, match="test: invalid header 'Authorization'") as caught:
        await send(transport)
    assert "ret" not in str(caught.value).replace("Authorization", "")
