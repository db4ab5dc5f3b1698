"""HTTPS listener: aiohttp's low-level server, HTTP/1.1 only.

Huge bodies, slow readers and aborted connections cost a bounded amount of memory and time.
"""

import asyncio
import contextlib
import logging
import socket
import ssl
import weakref
import zlib
from asyncio.sslproto import SSLProtocol
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from multidict import CIMultiDict

from kohort.embedded.auth.certificates import certificate_user
from kohort.embedded.auth.users import User
from kohort.embedded.server.encoding.responses import ServerResponse
from kohort.embedded.server.requests.request_info import ServerRequest
from kohort.kube.http_server import read_body, stop_server, transports

MAX_BODY = 3 * 1024 * 1024
_MAX_LINE = 64 * 1024
_CHUNK_SIZE = 32 * 1024
"""Write size: TLS keeps a buffer of the largest write per connection."""
_TLS_READ_SIZE = 16 * 1024
"""Read size: one TLS record. asyncio would allocate 256 KiB per connection, also for idle watches."""

MIN_COMPRESSED_SIZE = 128 * 1024
"""Bodies from this size on are compressed if the client accepts it, as in kube-apiserver."""
_COMPRESSION_LEVEL = 1
"""Compression level: higher ones take twice as long and save little more."""
_GZIP = 16 + zlib.MAX_WBITS
_IN_GZIP = (("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding"))

_MAX_CONNECTIONS = 8192
_LINGER_SECONDS = 2.0
"""Time to discard the unread rest of a body, so that the client receives the response."""
_MAX_REASON = 200
_log = logging.getLogger(__name__)

Handle = Callable[[ServerRequest], Awaitable[ServerResponse]]


@dataclass(frozen=True, slots=True)
class ListenerTimeouts:
    """Timeouts in seconds, and the connection limit."""

    idle: float = 120.0
    """Between two requests, and for the head of a request."""
    read: float = 60.0
    """For the body of a request."""
    write: float = 60.0
    """For the client to accept the next part of a response."""
    stop: float = 5.0
    """For requests in flight at shutdown."""
    handshake: float = 10.0
    """For the TLS handshake."""
    connections: int = _MAX_CONNECTIONS
    """Maximum of open connections. Beyond it, one that never sent an authenticated request is closed for the next."""


class _ParserLog(logging.LoggerAdapter[logging.Logger]):
    """Logs requests that cannot be parsed in one line, without aiohttp's traceback."""

    def exception(self, msg: object, *args: object, exc_info: object = True, **more: Any) -> None:
        if isinstance(exc_info, HttpProcessingError):
            why = " ".join(str(exc_info.message).split())[:_MAX_REASON]
            self.logger.warning("rejecting request that cannot be parsed: %s", why)
        else:
            self.logger.exception(msg, *args, exc_info=exc_info, **more)  # type: ignore[arg-type]


class _RejectingProtocol(asyncio.Protocol):
    """Closes a connection beyond the limit."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()


class Listener:
    """Listens on one address."""

    def __init__(self, handle: Handle, context: ssl.SSLContext, timeouts: ListenerTimeouts) -> None:
        self._handle = handle
        self._context = context
        self._timeouts = timeouts
        self._streams: set[asyncio.Task[object]] = set()
        self._http: web.Server | None = None
        self._server: asyncio.Server | None = None
        self._stopping = False
        self._authenticated: weakref.WeakSet[asyncio.Transport] = weakref.WeakSet()

    async def start(self, host: str, port: int, bound: socket.socket | None = None) -> int:
        """Listens on a bound socket or on an address; returns the port, for port 0 the assigned one."""
        loop = asyncio.get_running_loop()
        SSLProtocol.max_size = _TLS_READ_SIZE
        self._http = web.Server(
            self._serve,
            handler_cancellation=True,
            keepalive_timeout=self._timeouts.idle,
            access_log=None,
            max_line_size=_MAX_LINE,
            max_field_size=_MAX_LINE,
            lingering_time=_LINGER_SECONDS,
            logger=_ParserLog(_log, {}),
        )
        address: dict[str, Any] = {"host": host, "port": port, "reuse_address": True}
        self._server = await loop.create_server(
            self._protocol,
            **({"sock": bound} if bound is not None else address),
            ssl=self._context,
            ssl_handshake_timeout=self._timeouts.handshake,
        )
        return int(self._server.sockets[0].getsockname()[1])

    @property
    def streams(self) -> int:
        """Number of open streams."""
        return len(self._streams)

    @property
    def connections(self) -> int:
        """Number of open connections."""
        return len(self._http.connections) if self._http else 0

    async def stop(self) -> None:
        """Stops accepting connections, ends streams, and lets requests in flight finish within the timeout."""
        self._stopping = True
        if self._server is None or self._http is None:
            return
        for task in list(self._streams):
            task.cancel()
        await stop_server(self._server, self._http, self._timeouts.stop)

    def _protocol(self) -> asyncio.BaseProtocol:
        """The protocol of the next connection; above the limit, closes one that has not authenticated."""
        assert self._http is not None  # noqa: S101 - connections come after the start
        if self.connections < self._timeouts.connections:
            return self._http()
        unauthenticated = next((each for each in transports(self._http) if each not in self._authenticated), None)
        if unauthenticated is None:
            return _RejectingProtocol()
        unauthenticated.abort()
        return self._http()

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        server_response = await self._handle(self._server_request(request))
        body = server_response.body
        if not isinstance(body, bytes):
            return await self._stream(request, server_response, body)
        if len(body) >= MIN_COMPRESSED_SIZE and _accepts_gzip(request):
            body = await _compressed(body)
            server_response = replace(server_response, body=body).with_headers(_IN_GZIP)
        if len(body) > _CHUNK_SIZE and request.method != "HEAD":
            return await self._send_chunks(request, server_response, body)
        return _response(server_response, close=self._stopping or not request.content.is_eof())

    def _server_request(self, request: web.BaseRequest) -> ServerRequest:
        """The request with its head only; the body is read after authorization."""

        async def receive() -> bytes:
            return await read_body(request, MAX_BODY, self._timeouts.read)

        def authenticated() -> None:
            if request.transport is not None:
                self._authenticated.add(request.transport)

        query, url = tuple(request.rel_url.query.items()), request.rel_url
        pending = receive if request.body_exists else None
        return ServerRequest(
            request.method, url.raw_path, query, request.headers, b"", _peer(request), pending, authenticated
        )

    async def _stream(
        self, request: web.BaseRequest, server_response: ServerResponse, body: AsyncIterator[bytes]
    ) -> web.StreamResponse:
        response = web.StreamResponse(status=server_response.status, headers=_headers(server_response))
        response.enable_chunked_encoding()
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - we are in one
        self._streams.add(task)
        try:
            await response.prepare(request)
            async for chunk in body:
                await self._write(response, chunk)
                del chunk  # otherwise it stays allocated for each idle watch
            await response.write_eof()
        except (TimeoutError, ConnectionError):
            _abort(request)
        finally:
            self._streams.discard(task)
            close = getattr(body, "aclose", None)
            if close is not None:
                with contextlib.suppress(RuntimeError):
                    await close()
        return response

    async def _send_chunks(
        self, request: web.BaseRequest, server_response: ServerResponse, body: bytes
    ) -> web.StreamResponse:
        response = web.StreamResponse(status=server_response.status, headers=_headers(server_response))
        response.content_length = len(body)
        try:
            await response.prepare(request)
            await self._write(response, body)
            await response.write_eof()
        except (TimeoutError, ConnectionError):
            _abort(request)
        return response

    async def _write(self, response: web.StreamResponse, data: bytes) -> None:
        for start in range(0, len(data), _CHUNK_SIZE):
            async with asyncio.timeout(self._timeouts.write):
                await response.write(data[start : start + _CHUNK_SIZE])


def _accepts_gzip(request: web.BaseRequest) -> bool:
    accepted = ",".join(request.headers.getall("Accept-Encoding", ()))
    return "gzip" in (each.strip() for each in accepted.split(","))


async def _compressed(body: bytes) -> bytes:
    """The compressed body; computed in a thread, so that the event loop is not blocked."""
    return await asyncio.to_thread(zlib.compress, body, _COMPRESSION_LEVEL, _GZIP)


def _abort(request: web.BaseRequest) -> None:
    """Closes the connection of a client that does not read."""
    if request.transport is not None:
        request.transport.abort()


def _peer(request: web.BaseRequest) -> User | None:
    peer_certificate = request.get_extra_info("peercert")
    if not peer_certificate:
        return None
    connection: ssl.SSLObject = request.get_extra_info("ssl_object")
    return certificate_user(peer_certificate, connection.getpeercert(binary_form=True) or b"")


def _headers(server_response: ServerResponse) -> CIMultiDict[str]:
    headers: CIMultiDict[str] = CIMultiDict(server_response.headers)
    headers["Content-Type"] = server_response.content_type
    headers["Cache-Control"] = "no-cache, private"
    return headers


def _response(server_response: ServerResponse, *, close: bool) -> web.Response:
    assert isinstance(server_response.body, bytes)  # noqa: S101 - streams go another way
    response = web.Response(status=server_response.status, headers=_headers(server_response), body=server_response.body)
    if close:
        response.force_close()
    return response


def server_context(certificate: str, key: str, authority: bytes) -> ssl.SSLContext:
    """TLS context with optional client certificates, HTTP/1.1 only."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(certificate, key)
    context.load_verify_locations(cadata=authority.decode())
    context.verify_mode = ssl.CERT_OPTIONAL
    context.set_alpn_protocols(["http/1.1"])
    return context
