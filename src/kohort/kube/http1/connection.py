"""One connection: a request goes out as one piece of bytes, and its answer wakes whoever waits for it.

Time is kept by one timer per connection, which is set anew only when it has rung too early or would ring too late: most
requests need none of their own.
"""

import asyncio
import socket
import ssl
from typing import Protocol, cast

from kohort.kube.http1.errors import ConnectionClosedError, MalformedError, StaleConnectionError
from kohort.kube.http1.memory_tls import MemoryTls
from kohort.kube.http1.response import StreamingResponse

INBOX = 2**18
"""Bytes that one reading from a socket takes at most."""
KEEPALIVE = (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3))
"""The kernel gives up a peer that is gone after a minute, also where nothing is being sent."""


class ConnectionOwner(Protocol):
    """Who keeps connections for further use."""

    def freed(self, connection: "Connection") -> None:
        """It has its answer, and can be asked again."""
        ...

    def gone(self, connection: "Connection") -> None:
        """It is no more."""
        ...


class Connection(asyncio.BufferedProtocol):
    """A way to the server that takes one request at a time."""

    def __init__(self, inbox: memoryview, context: ssl.SSLContext | None) -> None:
        self.context = context
        """What the server was verified by, and who we showed ourselves to be."""
        self.keeper: ConnectionOwner | None = None
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the socket is closed."""
        self._loop = asyncio.get_running_loop()
        self._inbox = inbox
        self._transport = cast("asyncio.Transport", None)
        self._seal: MemoryTls | None = None
        self._shaking: asyncio.Future[None] | None = None
        self._answer: StreamingResponse | None = None
        self._is_kept = False
        self._deadline = 0.0
        self._timer: asyncio.TimerHandle | None = None

    # Asking

    @property
    def is_usable(self) -> bool:
        """Whether a request can be sent."""
        return not self._transport.is_closing()

    async def ask(self, request: bytes, method: str, deadline: float) -> StreamingResponse:
        """Send a request; its answer as soon as the head is there. Raises BrokenOffError or TimeoutError."""
        answer = self._answer = StreamingResponse(method, self)
        self._end_by(deadline)
        try:
            self._transport.write(request if self._seal is None else self._seal.seal(request))
            await answer.head()
        except ssl.SSLError as error:
            broken = self._broken(error)
            self.abort()
            raise broken from error
        except BaseException:
            answer.close()
            raise
        return answer

    async def secure(self, context: ssl.SSLContext, server_name: str) -> None:
        """Speak TLS from now on; raises SSLError or BrokenOffError."""
        self._seal = MemoryTls(context, server_name)
        self._shaking = shaking = self._loop.create_future()
        self._shake(self._seal, shaking, b"")
        await shaking

    def go_on(self) -> None:
        """Read on, if the peer was made to wait."""
        if not self._transport.is_reading() and not self._transport.is_closing():
            self._transport.resume_reading()

    def abort(self) -> None:
        """End at once: a peer that may be dead gets no goodbye."""
        self._fail(ConnectionClosedError("closed"))

    # What the transport calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Have the kernel ask now and then whether the peer is still there."""
        self._transport = cast("asyncio.Transport", transport)
        made = transport.get_extra_info("socket")
        made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in KEEPALIVE:
            if hasattr(socket, name):
                made.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)

    def get_buffer(self, sizehint: int) -> memoryview:
        """The one place for all that comes, since it is taken away at once."""
        return self._inbox

    def buffer_updated(self, nbytes: int) -> None:
        """Bytes came."""
        data, seal = self._inbox[:nbytes], self._seal
        if seal is None:
            self._feed(bytes(data))
        elif self._shaking is not None:
            self._shake(seal, self._shaking, data)
        else:
            try:
                self._open(seal, data)
            except ssl.SSLError as error:
                self._fail(self._broken(error))

    def eof_received(self) -> None:
        """The peer sent its last; under TLS only its goodbye shows that nothing was cut off."""
        if self._seal is None:
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
        if self.keeper is not None:
            self.keeper.gone(self)

    # What came

    def _shake(self, seal: MemoryTls, shaking: "asyncio.Future[None]", data: bytes | memoryview) -> None:
        if shaking.done():
            return
        try:
            if seal.shake(data):
                self._shaking = None  # at once: what comes next is no handshake any more
                shaking.set_result(None)
        except ssl.SSLError as error:
            shaking.set_exception(error)
        self._transport.write(seal.due())

    def _open(self, seal: MemoryTls, data: memoryview) -> None:
        plain = seal.open(data)
        if due := seal.due():
            self._transport.write(due)
        if plain:
            self._feed(plain)
        if seal.is_over:
            self._end()

    def _feed(self, data: bytes) -> None:
        answer = self._answer
        if answer is None:
            self.abort()  # it speaks without having been asked
            return
        try:
            rest = answer.feed(data)
        except MalformedError as error:
            self._fail(error)
            return
        if answer.parser.is_done:
            self._finish(answer, rest)
        elif answer.is_too_much:
            self._transport.pause_reading()

    def _end(self) -> None:
        answer = self._answer
        if answer is None:
            self.abort()
            return
        try:
            answer.parser.feed_end()
        except ConnectionClosedError:
            self._fail(self._broken(None))
        else:
            self._finish(answer, b"")

    def _finish(self, answer: StreamingResponse, rest: bytes) -> None:
        self._answer = None
        answer.wake()
        if rest or answer.parser.ends or self._transport.is_closing():
            self.abort()
        elif self.keeper is not None:
            self._is_kept = True
            self.keeper.freed(self)

    # What went wrong

    def _fail(self, error: Exception) -> None:
        answer, self._answer = self._answer, None
        if answer is not None:
            answer.fail(error)
        if self._shaking is not None and not self._shaking.done():
            self._shaking.set_exception(error)
        self._transport.abort()

    def _broken(self, cause: Exception | None) -> ConnectionClosedError:
        is_stale = self._is_kept and self._answer is not None and not self._answer.held
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
            self._timer = self._loop.call_at(deadline, self._ring)

    def _ring(self) -> None:
        self._timer = None
        if self._answer is None:
            return
        if self._loop.time() < self._deadline:
            self._end_by(self._deadline)
        else:
            self._fail(TimeoutError())
