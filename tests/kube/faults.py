"""A transport that breaks what passes through it, on demand: for any transport, in memory or not.

Requests fail in the order that the script says; open streams are cut, held or garbled when the test says so.
"""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from kohort.kube.clock import Clock
from kohort.kube.errors import LostResponseError, StatusError, UnreachableError
from kohort.kube.transport import Request, Response, Transport


class Fault(Enum):
    """What happens to one request."""

    NONE = "none"
    UNREACHABLE = "never sent"
    LOST_ANSWER = "done, but nobody hears of it"
    SILENCE = "sent, and never answered"


@dataclass(frozen=True)
class Refusal:
    """The server, or something on the way, answers for it."""

    code: int
    retry_after: int | None = None
    body: bytes | None = None

    def answer(self) -> "Canned":
        details = {} if self.retry_after is None else {"retryAfterSeconds": self.retry_after}
        headers = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
        status = json.dumps(StatusError(self.code, "", f"refused with {self.code}", details).to_status()).encode()
        return Canned(self.code, status if self.body is None else self.body, headers)


@dataclass(frozen=True)
class Canned:
    status: int
    body: bytes
    headers: Mapping[str, str]

    async def read(self) -> bytes:
        return self.body

    async def chunks(self) -> AsyncIterator[bytes]:
        yield self.body

    async def close(self) -> None:
        pass


class Cut(Enum):
    """How a stream ends."""

    CLEAN = "as if the server had ended it"
    RESET = "the connection is lost between two events"
    MID_FRAME = "the connection is lost in the middle of an event"
    CLEAN_MID_FRAME = "a polite end in the middle of an event"
    GARBAGE = "a line that is no JSON"
    WRONG = "JSON that is no event"
    EXPIRED = "the server says that it no longer has what came after the revision"


GONE = json.dumps({"type": "ERROR", "object": StatusError(410, "Expired", "too old").to_status()}).encode() + b"\n"
PARTIAL = b'{"type":"MODIFIED","object":{"metadata":{"name":"cu'


class FaultyTransport:
    """Another transport, seen through a bad network."""

    def __init__(self, inner: Transport, clock: Clock) -> None:
        self.inner = inner
        self.clock = clock
        self.script: deque[Fault | Refusal] = deque()
        self.is_down = False
        self.piece = 0
        """Size of the pieces in which streams arrive; 0 leaves them as they are."""
        self.attempts = 0
        self.sent: list[Request] = []
        self.streams: list[FaultyResponse] = []

    def next(self, *faults: Fault | Refusal) -> None:
        """Let the next requests fail in this order."""
        self.script.extend(faults)

    def cut(self, how: Cut) -> None:
        """End every open stream."""
        for stream in self._take():
            stream.fate(how)

    def stall(self) -> None:
        """Let every open stream be silent for ever, as behind a half-open connection."""
        for stream in self._take():
            stream.fate(None)

    def go_down(self) -> None:
        """Be unreachable until `come_up`."""
        self.is_down = True
        self.cut(Cut.RESET)

    def come_up(self) -> None:
        self.is_down = False

    async def send(self, request: Request, timeout: float) -> Response:
        self.attempts += 1
        fault = self.script.popleft() if self.script else Fault.NONE
        if self.is_down or fault is Fault.UNREACHABLE:
            raise UnreachableError("connection refused")
        self.sent.append(request)
        if isinstance(fault, Refusal):
            return fault.answer()
        if fault is Fault.SILENCE:
            await self.clock.sleep(timeout)
            raise LostResponseError(f"no answer in {timeout:g} s")
        response = await self.inner.send(request, timeout)
        if fault is Fault.LOST_ANSWER:
            await response.close()
            raise LostResponseError("connection reset by peer")
        stream = FaultyResponse(response, self)
        self.streams.append(stream)
        return stream

    async def close(self) -> None:
        await self.inner.close()

    def _take(self) -> "list[FaultyResponse]":
        streams, self.streams = self.streams, []
        return streams


class FaultyResponse:
    """An answer on its way through the bad network."""

    def __init__(self, inner: Response, network: FaultyTransport) -> None:
        self._inner = inner
        self._network = network
        self._fate: asyncio.Future[Cut | None] = asyncio.get_running_loop().create_future()

    @property
    def status(self) -> int:
        return self._inner.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self._inner.headers

    def fate(self, how: Cut | None) -> None:
        if not self._fate.done():
            self._fate.set_result(how)

    async def read(self) -> bytes:
        return await self._inner.read()

    async def close(self) -> None:
        if self in self._network.streams:
            self._network.streams.remove(self)
        await self._inner.close()

    async def chunks(self) -> AsyncIterator[bytes]:
        source = self._inner.chunks()
        while (chunk := await self._unless_fated(anext(source, None))) is not None:
            for piece in _pieces(chunk, self._network.piece):
                yield piece
        if not self._fate.done():
            return
        async for last in self._end(self._fate.result()):
            yield last

    async def _unless_fated(self, step: Any) -> bytes | None:
        """The next chunk; None at the end, be it the stream's own or its fate."""
        doing: asyncio.Future[Any] = asyncio.ensure_future(step)
        try:
            await asyncio.wait([doing, self._fate], return_when=asyncio.FIRST_COMPLETED)
            return None if self._fate.done() else doing.result()
        finally:
            doing.cancel()
            await asyncio.gather(doing, return_exceptions=True)

    async def _end(self, how: Cut | None) -> AsyncIterator[bytes]:
        match how:
            case None:
                await asyncio.Event().wait()
            case Cut.GARBAGE:
                yield b'{"type": nonsense}\n'
            case Cut.WRONG:
                yield b'{"type":"SURPRISE","object":{}}\n'
            case Cut.EXPIRED:
                yield GONE
            case Cut.MID_FRAME | Cut.CLEAN_MID_FRAME:
                yield PARTIAL
        if how in (Cut.RESET, Cut.MID_FRAME):
            raise LostResponseError("connection reset by peer")


def _pieces(chunk: bytes, size: int) -> list[bytes]:
    return [chunk[at : at + size] for at in range(0, len(chunk), size)] if size else [chunk]
