"""Fault injection between a client and any transport, in memory or on a network.

`FaultInjectingTransport` fails requests in a given order and ends, stalls or garbles open streams.
`InterceptingTransport` rejects, precedes or delays requests that match.
"""

import asyncio
import json
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from kit.responses import CannedResponse
from kohort.kube.clock import Clock
from kohort.kube.errors import LostResponseError, StatusError, UnreachableError
from kohort.kube.transport import Request, Response, Transport


class RequestFault(Enum):
    """What happens to one request."""

    NONE = "none"
    UNREACHABLE = "never sent"
    LOST_RESPONSE = "done, but the response is lost"
    NO_RESPONSE = "sent, and never answered"


@dataclass(frozen=True)
class Rejection:
    """An error response, from the server or a proxy, to a request that is not executed."""

    code: int
    retry_after: int | None = None
    body: bytes | None = None

    def response(self) -> CannedResponse:
        details = {} if self.retry_after is None else {"retryAfterSeconds": self.retry_after}
        headers = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
        status = json.dumps(StatusError(self.code, "", f"refused with {self.code}", details).to_status()).encode()
        return CannedResponse(self.code, status if self.body is None else self.body, headers)


class StreamFault(Enum):
    """How a stream ends early."""

    CLEAN = "as if the server had ended it"
    RESET = "the connection is lost between two events"
    MID_FRAME = "the connection is lost in the middle of an event"
    CLEAN_MID_FRAME = "the stream ends in the middle of an event"
    GARBAGE = "a line that is not JSON"
    WRONG = "JSON that is not an event"
    EXPIRED = "the server has compacted what came after the revision"


GONE = json.dumps({"type": "ERROR", "object": StatusError(410, "Expired", "too old").to_status()}).encode() + b"\n"
PARTIAL = b'{"type":"MODIFIED","object":{"metadata":{"name":"cu'


class FaultInjectingTransport:
    """Another transport behind an unreliable network."""

    def __init__(self, inner: Transport, clock: Clock) -> None:
        self.inner = inner
        self.clock = clock
        self.queued_faults: deque[RequestFault | Rejection] = deque()
        self.is_down = False
        self.piece = 0
        """Size of the pieces in which streams arrive; 0 keeps the chunks of the inner transport."""
        self.attempts = 0
        self.sent: list[Request] = []
        self.streams: list[FaultInjectingResponse] = []

    def fail_next(self, *faults: RequestFault | Rejection) -> None:
        """Fail the next requests in this order."""
        self.queued_faults.extend(faults)

    def end_streams(self, how: StreamFault) -> None:
        """End every open stream."""
        for stream in self._take():
            stream.end_with(how)

    def stall_streams(self) -> None:
        """Send nothing more on any open stream, as on a half-open connection."""
        for stream in self._take():
            stream.end_with(None)

    def disconnect(self) -> None:
        """Fail every request and reset every stream until `reconnect`."""
        self.is_down = True
        self.end_streams(StreamFault.RESET)

    def reconnect(self) -> None:
        self.is_down = False

    async def send(self, request: Request, timeout: float) -> Response:
        self.attempts += 1
        fault = self.queued_faults.popleft() if self.queued_faults else RequestFault.NONE
        if self.is_down or fault is RequestFault.UNREACHABLE:
            raise UnreachableError("connection refused")
        self.sent.append(request)
        if isinstance(fault, Rejection):
            return fault.response()
        if fault is RequestFault.NO_RESPONSE:
            await self.clock.sleep(timeout)
            raise LostResponseError(f"no response in {timeout:g} s")
        response = await self.inner.send(request, timeout)
        if fault is RequestFault.LOST_RESPONSE:
            await response.close()
            raise LostResponseError("connection reset by peer")
        stream = FaultInjectingResponse(response, self)
        self.streams.append(stream)
        return stream

    async def close(self) -> None:
        await self.inner.close()

    def _take(self) -> "list[FaultInjectingResponse]":
        streams, self.streams = self.streams, []
        return streams


class ForwardedResponse:
    """A response whose status, headers and whole body are those of another one."""

    def __init__(self, inner: Response) -> None:
        self._inner = inner

    @property
    def status(self) -> int:
        return self._inner.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self._inner.headers

    async def read(self) -> bytes:
        return await self._inner.read()


class FaultInjectingResponse(ForwardedResponse):
    """A response that arrives over the unreliable network."""

    def __init__(self, inner: Response, network: FaultInjectingTransport) -> None:
        super().__init__(inner)
        self._network = network
        self._ending: asyncio.Future[StreamFault | None] = asyncio.get_running_loop().create_future()

    def end_with(self, how: StreamFault | None) -> None:
        if not self._ending.done():
            self._ending.set_result(how)

    async def close(self) -> None:
        if self in self._network.streams:
            self._network.streams.remove(self)
        await self._inner.close()

    async def chunks(self) -> AsyncIterator[bytes]:
        source = self._inner.chunks()
        while (chunk := await self._unless_ended(anext(source, None))) is not None:
            for piece in _pieces(chunk, self._network.piece):
                yield piece
        if not self._ending.done():
            return
        async for last in self._finish(self._ending.result()):
            yield last

    async def _unless_ended(self, step: Any) -> bytes | None:
        """The next chunk; None when the stream ends by itself or by `end_with`."""
        doing: asyncio.Future[Any] = asyncio.ensure_future(step)
        try:
            await asyncio.wait([doing, self._ending], return_when=asyncio.FIRST_COMPLETED)
            return None if self._ending.done() else doing.result()
        finally:
            doing.cancel()
            await asyncio.gather(doing, return_exceptions=True)

    async def _finish(self, how: StreamFault | None) -> AsyncIterator[bytes]:
        match how:
            case None:
                await asyncio.Event().wait()
            case StreamFault.GARBAGE:
                yield b'{"type": nonsense}\n'
            case StreamFault.WRONG:
                yield b'{"type":"SURPRISE","object":{}}\n'
            case StreamFault.EXPIRED:
                yield GONE
            case StreamFault.MID_FRAME | StreamFault.CLEAN_MID_FRAME:
                yield PARTIAL
        if how in (StreamFault.RESET, StreamFault.MID_FRAME):
            raise LostResponseError("connection reset by peer")


def _pieces(chunk: bytes, size: int) -> list[bytes]:
    return [chunk[at : at + size] for at in range(0, len(chunk), size)] if size else [chunk]


class InterceptingTransport:
    """A transport that rejects, precedes or delays matching requests."""

    def __init__(self, inner: Transport) -> None:
        self.inner = inner
        self.sent: list[Request] = []
        self._before: list[tuple[str, str, Callable[[], Awaitable[Any]]]] = []
        self._rejections: list[tuple[str, str, Rejection]] = []
        self._gates: dict[str, asyncio.Event] = {}

    def before(self, method: str, end: str, action: Callable[[], Awaitable[Any]]) -> None:
        """Run an action right before the next request with this method and end of path reaches the server."""
        self._before.append((method, end, action))

    def reject(self, method: str, end: str, *codes: int) -> None:
        """Fail the next such requests with these codes."""
        self._rejections.extend((method, end, Rejection(code)) for code in codes)

    def respond(self, method: str, end: str, body: bytes) -> None:
        """Respond to the next such request with this body; the server does not get it."""
        self._rejections.append((method, end, Rejection(200, body=body)))

    def hold_watches(self, plural: str) -> None:
        """Delay all watch events of a resource until `release_watches`."""
        self._gates[plural] = asyncio.Event()

    def release_watches(self, plural: str) -> None:
        self._gates.pop(plural).set()

    def count(self, method: str, end: str = "") -> int:
        """The number of such requests."""
        return sum(_matches(request, method, end) for request in self.sent)

    async def send(self, request: Request, timeout: float) -> Response:
        await self._run_action(request)
        for entry in self._rejections:
            method, end, rejection = entry
            if _matches(request, method, end):
                self._rejections.remove(entry)
                return rejection.response()
        self.sent.append(request)
        response = await self.inner.send(request, timeout)
        return GatedResponse(response, self._gates, request.path) if ("watch", "1") in request.query else response

    async def close(self) -> None:
        await self.inner.close()

    async def _run_action(self, request: Request) -> None:
        for entry in self._before:
            method, end, action = entry
            if _matches(request, method, end):
                self._before.remove(entry)
                await action()
                return


class GatedResponse:
    """A watch whose events can be delayed."""

    def __init__(self, inner: Response, gates: dict[str, asyncio.Event], path: str) -> None:
        self._inner = inner
        self._gates = gates
        self._path = path
        self.status = inner.status
        self.headers = inner.headers

    async def read(self) -> bytes:
        return await self._inner.read()

    async def chunks(self) -> AsyncIterator[bytes]:
        async for chunk in self._inner.chunks():
            gate = self._gates.get(self._path.rpartition("/")[2])
            if gate is not None:
                await gate.wait()
            yield chunk

    async def close(self) -> None:
        await self._inner.close()


class CrashingTransport:
    """The transport of a process that crashes after some writes; the last one arrives, and its response is lost."""

    def __init__(self, inner: Transport, writes: int) -> None:
        self._inner = inner
        self._left = writes

    async def send(self, request: Request, timeout: float) -> Response:
        if request.method == "GET" and self._left > 0:
            return await self._inner.send(request, timeout)
        self._left -= 1
        if self._left < 0:
            raise UnreachableError("crashed")
        response = await self._inner.send(request, timeout)
        if self._left == 0:
            await response.close()
            raise LostResponseError("crashed")
        return response

    async def close(self) -> None:
        await self._inner.close()


class CountingTransport:
    """Counts requests by method and last part of the path."""

    def __init__(self, inner: Transport) -> None:
        self.inner = inner
        self.sent: Counter[tuple[str, str]] = Counter()

    async def send(self, request: Request, timeout: float) -> Response:
        self.sent[request.method, request.path.split("/")[-1]] += 1
        return await self.inner.send(request, timeout)

    async def close(self) -> None:
        await self.inner.close()


def _matches(request: Request, method: str, end: str) -> bool:
    return method == request.method and request.path.endswith(end)
