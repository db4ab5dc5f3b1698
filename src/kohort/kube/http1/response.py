"""One answer between the connection that it comes by and whoever waits for it.

Whoever waits is woken as seldom as may be: for a small body once, with head and body together; for a stream whenever
some of it came; for a whole body at its end.
"""

import asyncio
from typing import Protocol

from kohort.kube.http1.parser import Parser

BUFFER = 2**18
"""Bytes of a body that wait for their reader before the peer has to."""


class ResponseSource(Protocol):
    """Where an answer comes from."""

    def go_on(self) -> None:
        """Send more, if it was held back."""
        ...

    def abort(self) -> None:
        """End."""
        ...


class StreamingResponse:
    """One answer, as much of it as has come."""

    __slots__ = ("_error", "_gathers", "_source", "_waiter", "held", "parser")

    def __init__(self, method: str, source: ResponseSource) -> None:
        self.parser = Parser(method)
        self.held = 0
        """Bytes that came since somebody took some."""
        self._source = source
        self._error: Exception | None = None
        self._gathers = False
        self._waiter: asyncio.Future[None] | None = None

    # For whoever asked

    async def head(self) -> None:
        """Return when the head is there; raises what kept it from coming."""
        await self._news()
        if self._error is not None and not self.parser.status:
            raise self._error

    async def read(self) -> bytes:
        """The whole body; raises BrokenOffError or TimeoutError where it does not come whole."""
        parser = self.parser
        if not parser.is_done:
            self._gathers = True
            self._source.go_on()
            while not parser.is_done and self._error is None:
                await self._news()
        if self._error is not None:
            raise self._error
        return self._taken()

    async def chunk(self) -> bytes:
        """What came of the body since the last time; nothing at its end. Raises as `read` does."""
        while not self.parser.parts and not self.parser.is_done:
            if self._error is not None:
                raise self._error
            await self._news()
        chunk = self._taken()
        if not self.parser.is_done:
            self._source.go_on()
        return chunk

    def close(self) -> None:
        """Give up the rest, and the connection with it unless the answer is whole."""
        if not self.parser.is_done:
            self._source.abort()

    def _taken(self) -> bytes:
        parts = self.parser.parts
        self.parser.parts = []
        self.held = 0
        return parts[0] if len(parts) == 1 else b"".join(parts)

    async def _news(self) -> None:
        self._waiter = asyncio.get_running_loop().create_future()
        await self._waiter

    # For the connection

    def feed(self, data: bytes) -> bytes:
        """Take what came, and tell of it where that is worth it; gives what lies behind the end of the answer."""
        self.held += len(data)
        rest = self.parser.feed(data)
        if self._is_worth_waking:
            self.wake()
        return rest

    def wake(self) -> None:
        """There is something new."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def fail(self, error: Exception) -> None:
        """Nothing will come any more."""
        self._error = error
        self.wake()

    @property
    def is_too_much(self) -> bool:
        """Whether the peer has to wait until somebody has taken what came."""
        return self.held > BUFFER and self._is_worth_waking

    @property
    def _is_worth_waking(self) -> bool:
        """Not where all that could be said is that a body is not whole yet which somebody wants whole."""
        parser = self.parser
        return bool(parser.status) and not self._gathers and (parser.length is None or parser.length > BUFFER)
