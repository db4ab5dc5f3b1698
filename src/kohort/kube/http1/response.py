"""One response, between its connection and the task that reads it.

The reader is woken as rarely as possible: for a small body once, with head and body together; for a stream whenever
data arrives; for a whole body at its end.
"""

import asyncio
from typing import Protocol

from kohort.kube.http1.parser import Parser

BUFFER = 2**18
"""Unread bytes of a body at which reading from the socket is paused."""


class ResponseSource(Protocol):
    """The connection of a response."""

    def resume_reading(self) -> None:
        """Resume reading, if it was paused."""
        ...

    def abort(self) -> None:
        """End."""
        ...


class StreamingResponse:
    """A response that is being received."""

    __slots__ = ("_error", "_gathers", "_source", "_waiter", "held", "parser")

    def __init__(self, method: str, source: ResponseSource) -> None:
        self.parser = Parser(method)
        self.held = 0
        """Bytes received since the last read."""
        self._source = source
        self._error: Exception | None = None
        self._gathers = False
        self._waiter: asyncio.Future[None] | None = None

    # For the reader

    async def head(self) -> None:
        """Wait for the head; raises the error that prevented it."""
        await self._wait()
        if self._error is not None and not self.parser.status:
            raise self._error

    async def read(self) -> bytes:
        """The whole body; raises ConnectionClosedError or TimeoutError if it is incomplete."""
        parser = self.parser
        if not parser.is_done:
            self._gathers = True
            self._source.resume_reading()
            while not parser.is_done and self._error is None:
                await self._wait()
        if self._error is not None:
            raise self._error
        return self._taken()

    async def chunk(self) -> bytes:
        """The part of the body received since the last call; empty at its end. Raises as `read` does."""
        while not self.parser.parts and not self.parser.is_done:
            if self._error is not None:
                raise self._error
            await self._wait()
        chunk = self._taken()
        if not self.parser.is_done:
            self._source.resume_reading()
        return chunk

    def close(self) -> None:
        """Discard the rest, and the connection with it unless the response is complete."""
        if not self.parser.is_done:
            self._source.abort()

    def _taken(self) -> bytes:
        parts = self.parser.parts
        self.parser.parts = []
        self.held = 0
        return parts[0] if len(parts) == 1 else b"".join(parts)

    async def _wait(self) -> None:
        self._waiter = asyncio.get_running_loop().create_future()
        await self._waiter

    # For the connection

    def feed(self, data: bytes) -> bytes:
        """Parse received data, and wake the reader if it can proceed; returns what follows the response."""
        self.held += len(data)
        rest = self.parser.feed(data)
        if self._is_worth_waking:
            self.wake()
        return rest

    def wake(self) -> None:
        """Wake the reader."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def fail(self, error: Exception) -> None:
        """No more data will arrive."""
        self._error = error
        self.wake()

    @property
    def is_too_much(self) -> bool:
        """Whether reading must pause until the reader has consumed data."""
        return self.held > BUFFER and self._is_worth_waking

    @property
    def _is_worth_waking(self) -> bool:
        """False if the reader waits for a whole body that is still incomplete."""
        parser = self.parser
        return bool(parser.status) and not self._gathers and (parser.length is None or parser.length > BUFFER)
