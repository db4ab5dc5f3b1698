"""One connection: a request is sent in one write, and its response wakes the task that waits for it.

A connection has one timer, which is rescheduled only when it fires too early or would fire too late: most requests need
no timer of their own.
"""

import asyncio
import socket
import ssl
from typing import Protocol, cast

from kohort.kube.http1.errors import ConnectionClosedError, MalformedError, StaleConnectionError
from kohort.kube.http1.memory_tls import MemoryTls
from kohort.kube.http1.response import StreamingResponse

INBOX = 2**18
"""Maximum bytes per read from the socket."""
KEEPALIVE = (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3))
"""TCP keepalive: the kernel detects a dead peer within a minute, also on an idle connection."""


class ConnectionOwner(Protocol):
    """The owner of connections, which reuses them."""

    def freed(self, connection: "Connection") -> None:
        """The response is complete; the connection can be reused."""
        ...

    def gone(self, connection: "Connection") -> None:
        """The connection is closed."""
        ...


class Connection(asyncio.BufferedProtocol):
    """A connection to the server; one request at a time."""

    def __init__(self, inbox: memoryview, context: ssl.SSLContext | None) -> None:
        self.context = context
        """The TLS context that the connection was opened with."""
        self.owner: ConnectionOwner | None = None
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the socket is closed."""
        self._loop = asyncio.get_running_loop()
        self._inbox = inbox
        self._transport = cast("asyncio.Transport", None)
        self._tls: MemoryTls | None = None
        self._handshake: asyncio.Future[None] | None = None
        self._response: StreamingResponse | None = None
        self._is_kept = False
        self._deadline = 0.0
        self._timer: asyncio.TimerHandle | None = None

    # Requests

    @property
    def is_usable(self) -> bool:
        """Whether a request can be sent."""
        return not self._transport.is_closing()

    async def send(self, request: bytes, method: str, deadline: float) -> StreamingResponse:
        """Send a request, and wait for the head of its response. Raises ConnectionClosedError or TimeoutError."""
        response = self._response = StreamingResponse(method, self)
        self._end_by(deadline)
        try:
            self._transport.write(request if self._tls is None else self._tls.encrypt(request))
            await response.head()
        except ssl.SSLError as error:
            broken = self._broken(error)
            self.abort()
            raise broken from error
        except BaseException:
            response.close()
            raise
        return response

    async def secure(self, context: ssl.SSLContext, server_name: str) -> None:
        """Start TLS; raises SSLError or ConnectionClosedError."""
        self._tls = MemoryTls(context, server_name)
        self._handshake = handshake = self._loop.create_future()
        self._continue_handshake(self._tls, handshake, b"")
        await handshake

    def resume_reading(self) -> None:
        """Resume reading, if it was paused."""
        if not self._transport.is_reading() and not self._transport.is_closing():
            self._transport.resume_reading()

    def abort(self) -> None:
        """Close immediately, without TLS shutdown: the peer may be dead."""
        self._fail(ConnectionClosedError("closed"))

    # Callbacks of the transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Enable TCP keepalive."""
        self._transport = cast("asyncio.Transport", transport)
        made = transport.get_extra_info("socket")
        made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in KEEPALIVE:
            if hasattr(socket, name):
                made.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)

    def get_buffer(self, sizehint: int) -> memoryview:
        """One buffer for all reads, because its content is consumed immediately."""
        return self._inbox

    def buffer_updated(self, nbytes: int) -> None:
        """Handle received bytes."""
        data, tls = self._inbox[:nbytes], self._tls
        if tls is None:
            self._feed(bytes(data))
        elif self._handshake is not None:
            self._continue_handshake(tls, self._handshake, data)
        else:
            try:
                self._decrypt(tls, data)
            except ssl.SSLError as error:
                self._fail(self._broken(error))

    def eof_received(self) -> None:
        """The peer closed its side; under TLS only close_notify shows that nothing was truncated."""
        if self._tls is None:
            self._end()
        else:
            self._fail(self._broken(None))

    def connection_lost(self, exc: Exception | None) -> None:
        """The socket is closed."""
        self._fail(self._broken(exc))
        if self._timer is not None:
            self._timer.cancel()
        if not self.lost.done():
            self.lost.set_result(None)
        if self.owner is not None:
            self.owner.gone(self)

    # Received data

    def _continue_handshake(self, tls: MemoryTls, handshake: "asyncio.Future[None]", data: bytes | memoryview) -> None:
        if handshake.done():
            return
        try:
            if tls.handshake(data):
                self._handshake = None  # immediately: what follows is no handshake data
                handshake.set_result(None)
        except ssl.SSLError as error:
            handshake.set_exception(error)
        self._transport.write(tls.pending_output())

    def _decrypt(self, tls: MemoryTls, data: memoryview) -> None:
        plain = tls.decrypt(data)
        if due := tls.pending_output():
            self._transport.write(due)
        if plain:
            self._feed(plain)
        if tls.is_over:
            self._end()

    def _feed(self, data: bytes) -> None:
        response = self._response
        if response is None:
            self.abort()  # data without a request
            return
        try:
            rest = response.feed(data)
        except MalformedError as error:
            self._fail(error)
            return
        if response.parser.is_done:
            self._finish(response, rest)
        elif response.is_too_much:
            self._transport.pause_reading()

    def _end(self) -> None:
        response = self._response
        if response is None:
            self.abort()
            return
        try:
            response.parser.feed_end()
        except ConnectionClosedError:
            self._fail(self._broken(None))
        else:
            self._finish(response, b"")

    def _finish(self, response: StreamingResponse, rest: bytes) -> None:
        self._response = None
        response.wake()
        if rest or response.parser.ends or self._transport.is_closing():
            self.abort()
        elif self.owner is not None:
            self._is_kept = True
            self.owner.freed(self)

    # Errors

    def _fail(self, error: Exception) -> None:
        response, self._response = self._response, None
        if response is not None:
            response.fail(error)
        if self._handshake is not None and not self._handshake.done():
            self._handshake.set_exception(error)
        self._transport.abort()

    def _broken(self, cause: Exception | None) -> ConnectionClosedError:
        is_stale = self._is_kept and self._response is not None and not self._response.held
        error = (StaleConnectionError if is_stale else ConnectionClosedError)("Server disconnected")
        error.__cause__ = cause
        return error

    def _end_by(self, deadline: float) -> None:
        self._deadline = deadline
        if deadline == float("inf"):
            return
        if self._timer is None or deadline < self._timer.when():
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._loop.call_at(deadline, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        if self._response is None:
            return
        if self._loop.time() < self._deadline:
            self._end_by(self._deadline)
        else:
            self._fail(TimeoutError())
